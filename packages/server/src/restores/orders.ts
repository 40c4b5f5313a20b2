/** What a run of an agent does with an order: it takes it, reports, ends it. Each in one transaction, with its event and audit record. */

import { Problem } from "../kernel/problems.ts";
import type { Tx } from "../kernel/tx.ts";
import { endOpenRestore, noteCompleted } from "./lifecycle.ts";
import { completeOrderRow, isOrder, noteReport, type OrderRecord, setRun } from "./order-store.ts";
import {
  agentAbsentMs,
  type agentFailureCodes,
  damageCodes,
  type FailureCode,
  isSnapshotGone,
  maxOrderWarnings,
  silentRunMs,
  type WarningCode,
} from "./rules.ts";
import { insertWarnings, lockRestore, type Progress, startRestore } from "./store.ts";

/** The order, locked. Throws `not_found` where it is not an order to this agent. */
export async function lockOrder(tx: Tx, accountId: string, agentId: string, id: string): Promise<OrderRecord> {
  const restore = await lockRestore(tx, accountId, id);
  if (restore === undefined || !isOrder(restore) || restore.agent_id !== agentId) throw new Problem("not_found");
  return restore;
}

/** When an order ends unless its agent reports before. */
export function absentAt(order: Pick<OrderRecord, "reported_at" | "created_at">): Date {
  return new Date((order.reported_at ?? order.created_at).getTime() + agentAbsentMs);
}

/** Whether a run of the agent may work on it and read its content. */
export function isAtWork(order: OrderRecord, now: Date): boolean {
  return order.state === "running" && !isSnapshotGone(order) && absentAt(order) > now;
}

/** Gives the order to a run. A repetition changes nothing. Throws `state_conflict` when it is over, or another run works on it. */
export async function takeOrder(tx: Tx, order: OrderRecord, runId: string): Promise<void> {
  if (isAtWork(order, tx.now) && order.run_id === runId) return;
  const isWaiting = order.state === "pending" && order.planned_at !== null && absentAt(order) > tx.now;
  if (isSnapshotGone(order) || !(isWaiting || isLeft(order, tx.now))) throw new Problem("state_conflict");
  await startRestore(tx, order.account_id, order.id);
  await setRun(tx, order.account_id, order.id, runId);
  tx.audit({ action: "restore.taken", targets: targetsOf(order), metadata: { run_id: runId } });
}

/** Whether the run that works on it has been silent for so long that another may go on. */
function isLeft(order: OrderRecord, now: Date): boolean {
  const silentMs = now.getTime() - (order.reported_at?.getTime() ?? 0);
  return isAtWork(order, now) && silentMs >= silentRunMs;
}

export interface OrderWarning {
  readonly path: Buffer;
  readonly code: WarningCode;
}

export interface Report extends Progress {
  /** `first`: how many were sent before. */
  readonly warnings: { readonly first: number; readonly data: readonly OrderWarning[] } | null;
}

/** Throws `state_conflict` when the order is not this run's any more, or a report before this one is missing. */
export async function reportOrder(tx: Tx, order: OrderRecord, runId: string, report: Report): Promise<void> {
  if (!isAtWork(order, tx.now) || order.run_id !== runId) throw new Problem("state_conflict");
  const counts = await addWarnings(tx, order, report.warnings);
  await noteReport(tx, order, {
    bytesRestored: Math.min(report.bytesRestored, order.bytes_total),
    filesRestored: Math.min(report.filesRestored, order.files_total),
    ...counts,
  });
}

async function addWarnings(tx: Tx, order: OrderRecord, sent: Report["warnings"]) {
  const { warning_count: known, damaged_count: damaged } = order;
  const before = { warningCount: known, damagedCount: damaged ?? 0 };
  if (sent === null || sent.data.length === 0) return before;
  if (sent.first > known) throw new Problem("state_conflict");
  // What a lost answer had is sent again.
  const added = sent.data.slice(known - sent.first, known - sent.first + Math.max(0, maxOrderWarnings - known));
  const rows = added.map((warning, at) => ({ number: known + at, ...warning }));
  await insertWarnings(tx, order.account_id, order.id, rows);
  const ofDamage: readonly WarningCode[] = damageCodes;
  return {
    warningCount: known + rows.length,
    damagedCount: before.damagedCount + rows.filter(({ code }) => ofDamage.includes(code)).length,
  };
}

export type OrderEnd =
  | { readonly result: "completed" }
  | { readonly result: "failed"; readonly failure: (typeof agentFailureCodes)[number] };

/** Ends the order. The same end again changes nothing; another one is `state_conflict`. */
export async function finishOrder(
  tx: Tx,
  order: OrderRecord,
  runId: string,
  end: OrderEnd,
  report: Report,
): Promise<void> {
  const failure: FailureCode | null = end.result === "failed" ? end.failure : null;
  if (order.state === end.result && order.failure_code === failure && order.run_id === runId) return;
  await reportOrder(tx, order, runId, report);
  const now = await lockOrder(tx, order.account_id, order.agent_id, order.id);
  if (end.result === "failed") await endOpenRestore(tx, now, { state: "failed", code: end.failure });
  else {
    if (now.on_damage === "fail" && (now.damaged_count ?? 0) > 0) throw new Problem("state_conflict");
    await completeOrderRow(tx, now.account_id, now.id);
    const { bytes_restored: bytesRestored, files_restored: filesRestored, warning_count: warningCount } = now;
    noteCompleted(tx, now, { bytesRestored, filesRestored, warningCount });
  }
}

function targetsOf({ id, snapshot_id: snapshotId, agent_id: agentId }: OrderRecord) {
  return [
    { type: "restore", id },
    { type: "snapshot", id: snapshotId },
    { type: "agent", id: agentId },
  ];
}
