/** The SQL of orders: restores that an agent writes onto its machine. */

import { type Insertable, sql } from "kysely";
import type { RestoreOrdersRow } from "../kernel/database/rows.generated.ts";
import type { ReadTx, Tx } from "../kernel/tx.ts";
import { agentAbsentMs, openStates, silentRunMs } from "./rules.ts";
import { type Progress, type RestoreRecord, records } from "./store.ts";

/** A restore to an agent. */
export interface OrderRecord extends RestoreRecord {
  readonly agent_id: string;
  readonly on_conflict: NonNullable<RestoreRecord["on_conflict"]>;
}

export function isOrder(restore: RestoreRecord): restore is OrderRecord {
  return restore.agent_id !== null && restore.on_conflict !== null;
}

export type NewOrder = Pick<
  Insertable<RestoreOrdersRow>,
  "restore_id" | "account_id" | "agent_id" | "path" | "on_conflict"
>;

/** An order of a whole snapshot can be taken at once; one of paths waits until these are found in the tree. */
export async function insertOrder(tx: Tx, order: NewOrder, { isPlanned }: { isPlanned: boolean }): Promise<void> {
  await tx.db
    .insertInto("restore_orders")
    .values({ ...order, planned_at: isPlanned ? tx.now : null })
    .execute();
}

/** Open orders of an agent. */
export async function countOpenOrders(tx: ReadTx, accountId: string, agentId: string): Promise<number> {
  const { count } = await tx.db
    .selectFrom("restore_orders")
    .innerJoin("restores", "restores.id", "restore_orders.restore_id")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("restore_orders.account_id", "=", accountId)
    .where("restore_orders.agent_id", "=", agentId)
    .where("restores.state", "in", openStates)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** An order can be taken: it is planned and waits, or its run has been silent. */
const canBeTaken = (now: Date) => sql<boolean>`(restore_orders.planned_at is not null
  and coalesce(restore_orders.reported_at, restores.created_at) > ${new Date(now.getTime() - agentAbsentMs)}
  and (restores.state = 'pending'
    or (restores.state = 'running' and restore_orders.reported_at <= ${new Date(now.getTime() - silentRunMs)})))`;

/** Orders that a run of an agent can take, the oldest first. */
export async function ordersToTake(
  tx: ReadTx,
  accountId: string,
  agentId: string,
  { runId, limit }: { readonly runId: string | undefined; readonly limit: number },
): Promise<readonly OrderRecord[]> {
  let select = records(tx)
    .where("restores.account_id", "=", accountId)
    .where("restore_orders.agent_id", "=", agentId)
    .where("snapshots.state", "not in", ["deleted", "expired"])
    .where(canBeTaken(tx.now));
  if (runId !== undefined) select = select.where(sql<boolean>`restore_orders.run_id is distinct from ${runId}`);
  const rows: readonly RestoreRecord[] = await select
    .orderBy("restores.created_at")
    .orderBy("restores.id")
    .limit(limit)
    .execute();
  return rows.filter(isOrder);
}

/** Which of these agents have an order that can be taken. Row access `system`. */
export async function agentsWithOrders(tx: ReadTx, agentIds: readonly string[]): Promise<readonly string[]> {
  const rows = await tx.db
    .selectFrom("restore_orders")
    .innerJoin("restores", "restores.id", "restore_orders.restore_id")
    .select("restore_orders.agent_id")
    .distinct()
    .where("restore_orders.agent_id", "=", sql<string>`any (${agentIds}::uuid[])`)
    .where(canBeTaken(tx.now))
    .execute();
  return rows.map(({ agent_id }) => agent_id);
}

export async function setPlan(tx: Tx, accountId: string, id: string, reach: Uint8Array): Promise<void> {
  await order(tx, accountId, id)
    .set({ planned_at: tx.now, reach: Buffer.from(reach) })
    .execute();
}

/** The items that an order reaches; null: all of its snapshot. */
export async function readReach(tx: ReadTx, accountId: string, id: string): Promise<Buffer | null> {
  const row = await tx.db
    .selectFrom("restore_orders")
    .select("reach")
    .where("account_id", "=", accountId)
    .where("restore_id", "=", id)
    .executeTakeFirst();
  return row?.reach ?? null;
}

/** Gives the order to a run. */
export async function setRun(tx: Tx, accountId: string, id: string, runId: string): Promise<void> {
  await order(tx, accountId, id).set({ run_id: runId, reported_at: tx.now }).execute();
}

/** What a run says about an order whose row the transaction has locked. */
export async function noteReport(
  tx: Tx,
  { account_id: accountId, id }: Pick<OrderRecord, "account_id" | "id">,
  { bytesRestored, filesRestored, warningCount, damagedCount }: Progress & WarningCounts,
): Promise<void> {
  await order(tx, accountId, id).set({ reported_at: tx.now, damaged_count: damagedCount }).execute();
  await tx.db
    .updateTable("restores")
    .set({ bytes_restored: bytesRestored, files_restored: filesRestored, warning_count: warningCount })
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .execute();
}

export interface WarningCounts {
  readonly warningCount: number;
  readonly damagedCount: number;
}

/** Only a running one, whose row the transaction has locked. */
export async function completeOrderRow(tx: Tx, accountId: string, id: string): Promise<void> {
  await tx.db
    .updateTable("restores")
    .set({ state: "completed", ended_at: tx.now, version: sql`version + 1` })
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .where("state", "=", "running")
    .execute();
}

function order(tx: Tx, accountId: string, id: string) {
  return tx.db.updateTable("restore_orders").where("account_id", "=", accountId).where("restore_id", "=", id);
}
