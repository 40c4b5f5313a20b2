/**
 * The audit trail as customers, auditors and staff read it. The kernel writes the records (`kernel/audit.ts`, tables `audit_records` and
 * `audit_heads`). This domain owns the tables `audit_checkpoints`, `audit_exports`, `audit_checks`, `audit_identities` and
 * `audit_shares`. Its nouns:
 *
 * - a *chain* is the records of one account, or of the platform. Its *head* is its last number and hash.
 * - a *checkpoint* is a signed statement that a chain had a hash at a number. It is in the database and in the object store.
 * - a *part* is the records of a chain between two numbers. An *export* is a part as a file, with a checkpoint at each end.
 * - the *statement* of an export is signed and has the hash of all its bytes.
 * - a *share* lets somebody outside the account read a selection of its records, with people and paths *masked* unless its maker
 *   said otherwise.
 *
 * Invariants: a record, a checkpoint and an object of a checkpoint never change; an export gives the same bytes while no name in it
 * changes; names of people are in no chain.
 */

export { auditEvents } from "./events.ts";
export { openAudit } from "./open-audit.ts";
export {
  backgroundActions,
  reasonsForNothing,
  refusedAction,
  type WrittenActions,
  writtenActions,
} from "./recorded-actions.ts";
export { auditRecurrences, auditTasks } from "./tasks.ts";
