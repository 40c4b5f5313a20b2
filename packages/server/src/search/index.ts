/**
 * Search and history: the operations that read the projection of the domain `paths`. Owns no table.
 *
 * Invariant: a client that is held to vaults finds what is in these, and the answer is made from rows of these alone.
 */

export {};
