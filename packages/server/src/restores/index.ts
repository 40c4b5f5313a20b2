/**
 * Restores: files of a snapshot brought back. Owns the tables `restores`, `restore_orders`, `restore_parts` and `restore_warnings`.
 * The states are in `rules.ts`.
 *
 * A restore to a *download* is prepared by a job: it reads everything, compares it with its hashes and *freezes* the archive. Frozen is what
 * the tree does not say: checksums, what is left out, which names are links. It is kept in *parts*, so that any range is made at
 * any time, in any process, without a copy of the archive (`archive-range.ts`).
 *
 * A restore to an *agent* is an order: the agent takes it, reads what it names and nothing else, writes it onto its machine and reports. The
 * operations of agents are in the domain `orders`.
 *
 * Invariants: the bytes of a completed restore never change until it expires; what is in its archive was read and compared; what could not be
 * read is named; an event and an audit record are in the commit of each change of state; a restore needs its snapshot: it pins the
 * content, and ends when the snapshot is deleted.
 */

export { restoreEvents } from "./events.ts";
export { agentsWithOrders, isOrder, type OrderRecord, ordersToTake, readReach } from "./order-store.ts";
export {
  absentAt,
  finishOrder,
  isAtWork,
  lockOrder,
  type OrderEnd,
  type Report,
  reportOrder,
  takeOrder,
} from "./orders.ts";
export { openArchive, restoreAccess, visibleRestore } from "./read-restore.ts";
export { agentFailureCodes, failureCodes, statuses, targetKinds, warningCodes } from "./rules.ts";
export { onConflict, onDamage, paths, restoreId, showPath } from "./shapes.ts";
export { findRestore, type RestoreRecord } from "./store.ts";
export { restoreRecurrences, restoreTasks } from "./tasks.ts";
