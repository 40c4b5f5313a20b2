/**
 * Uploads of agents: the engine's upload port over HTTP (docs/PROTOCOL.md). Owns the table `uploads`. The snapshot, its states and
 * its completion are those of the domain `snapshots`; the session, pins and leases are the catalog's.
 *
 * Invariants
 * - An upload obeys only its creator, and only with the key of its creator's live agent.
 * - Every call may be repeated, and any process may answer it.
 * - The bytes of a pack are counted in the vault before they are stored, and no byte is counted twice.
 * - An upload is told only what it may know: a base of its own source, and no content of others before it is verified.
 * - A manifest names the snapshot and the source of its URL.
 */

export { openUploads } from "./quota-listeners.ts";
