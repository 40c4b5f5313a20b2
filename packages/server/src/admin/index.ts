/**
 * What staff of the platform do: they review applications, look after accounts and help people who locked themselves
 * out. Owns no table. Everything is under `/v1/admin`, behind a guard that stands before the router
 * (`kernel/http/refusals.ts`): whoever is not staff learns nothing there, not even which addresses exist.
 *
 * Invariants: reading runs in scope `staff` (every account, read-only); a change runs in the scope of the account that
 * it concerns, has a reason, and is in that account's audit chain, where the customer can see it. Nothing here shows
 * file names or content.
 */

export { addStaff } from "./staff.ts";
