/**
 * The keys that sign receipts. Owns the table `receipt_keys`. Its nouns:
 *
 * - a *receipt* is a compact JWS (RFC 7515, Ed25519) that says what a snapshot contains. People check it years later, without
 *   the service. `docs/RECEIPTS.md` describes it.
 * - a *receipt key* signs receipts for a year. Then the next one is made, and the private part is deleted. The public parts are
 *   published for ever, at an address that does not change.
 * - an *introduction* is a JWS of the key before, which contains the public part of the next one. Who has checked one key
 *   can follow them to the newest.
 *
 * Invariants: one key signs at a time; a published key never changes and never goes.
 */

export { type JwsHeader, openReceipts, type Receipts } from "./receipt-keys.ts";
