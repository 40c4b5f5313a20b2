/**
 * Applications to become a customer. Owns the table `applications`, which belongs to no account (row access `platform`).
 *
 * States: `submitted` → `under_review` → `approved` | `rejected`; `submitted` and `under_review` → `withdrawn`.
 *
 * Invariants: a duplicate e-mail is stored, answered and mailed like a first one, so that a caller cannot find out who has
 * applied; personal data is only in the row, never in the audit trail or in mail to staff.
 */

export { applicationKinds, applicationStates } from "./shapes.ts";
export {
  type ApplicationRow,
  countApplicationsByStatus,
  findApplication,
  listApplications,
  moveApplication,
} from "./store.ts";
