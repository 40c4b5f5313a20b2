/**
 * Enrolment: from a link in a mail to a person who can sign in. Owns the tables `links` and `invitations`. The links of
 * password resets and of withdrawals are in the same table and made here.
 *
 * Invariants: a link is good once, over all processes, and a GET never spends it; only a hash of its secret is stored.
 */

export { addStaff } from "./add-staff.ts";
export { sendEnrolment } from "./enrolment.ts";
export { countInvitation, countLiveLinks, endLinks, findLink, type LinkRow, makeLink, spendLink } from "./store.ts";
