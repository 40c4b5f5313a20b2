/** All SQL of acts that wait: the table `pending_acts`. */

import { type Selectable, sql } from "kysely";
import { type PageStart, pageRows } from "../kernel/cursors.ts";
import type { PendingActsRow } from "../kernel/database/rows.generated.ts";
import type { ReadTx, Tx } from "../kernel/tx.ts";
import type { ActKind } from "./chain.ts";
import type { Policy } from "./rules.ts";

export type ActRow = Selectable<PendingActsRow>;
export const actStates = ["waiting", "done", "canceled", "refused"] as const;

export interface NewAct {
  readonly id: string;
  readonly accountId: string;
  readonly vaultId: string;
  readonly kind: ActKind;
  readonly sourceId: string | null;
  readonly snapshotId: string | null;
  readonly taxpayerId: string | null;
  readonly policy: Policy | null;
  readonly createdBy: string;
  readonly dueAt: Date;
}

export async function insertAct(tx: Tx, act: NewAct): Promise<void> {
  await tx.db
    .insertInto("pending_acts")
    .values({
      ...{ id: act.id, account_id: act.accountId, vault_id: act.vaultId, kind: act.kind, state: "waiting" },
      ...{ source_id: act.sourceId, snapshot_id: act.snapshotId, taxpayer_id: act.taxpayerId },
      ...{ policy: act.policy && JSON.stringify(act.policy), created_by: act.createdBy },
      ...{ created_at: tx.now, due_at: act.dueAt },
    })
    .execute();
}

/** Adds an act that the chain has and the database lost. Returns false where a row has it, or what it is about is not there. */
export async function insertLostAct(tx: Tx, act: NewAct): Promise<boolean> {
  const { rows } = await sql`
    insert into pending_acts (id, account_id, vault_id, kind, state, source_id, snapshot_id, taxpayer_id, policy, created_by,
      created_at, due_at)
    select ${act.id}::uuid, ${act.accountId}::uuid, ${act.vaultId}::uuid, ${act.kind}::text, 'waiting', ${act.sourceId}::uuid, ${act.snapshotId}::uuid,
      (select id from taxpayers where vault_id = ${act.vaultId}::uuid and ${act.kind}::text = 'taxpayer_deletion'),
      ${act.policy && JSON.stringify(act.policy)}::jsonb, ${act.createdBy}::uuid, ${tx.now}::timestamptz, ${act.dueAt}::timestamptz
    where (${act.sourceId}::uuid is null or exists (select from sources where id = ${act.sourceId}))
      and (${act.snapshotId}::uuid is null or exists (select from snapshots where id = ${act.snapshotId}))
    on conflict do nothing returning id`.execute(tx.db);
  return rows.length > 0;
}

export async function findAct(tx: ReadTx, accountId: string, id: string): Promise<ActRow | undefined> {
  return acts(tx, accountId).where("id", "=", id).executeTakeFirst();
}

/** The same, and nobody else changes it until the transaction ends. */
export async function lockAct(tx: Tx, accountId: string, id: string): Promise<ActRow | undefined> {
  return acts(tx, accountId).where("id", "=", id).forNoKeyUpdate().executeTakeFirst();
}

export interface ActFilters {
  readonly state?: ActRow["state"] | undefined;
  /** Only of these vaults; null: of all. */
  readonly vaultIds: readonly string[] | null;
}

export async function listActs(
  tx: ReadTx,
  accountId: string,
  { state, vaultIds }: ActFilters,
  page: PageStart,
): Promise<readonly ActRow[]> {
  let select = acts(tx, accountId);
  if (state !== undefined) select = select.where("state", "=", state);
  if (vaultIds !== null) select = select.where("vault_id", "=", sql<string>`any (${vaultIds}::uuid[])`);
  return pageRows(select, page);
}

/** The waiting act of a kind about the same thing. */
export async function waitingAct(
  tx: ReadTx,
  act: Pick<NewAct, "accountId" | "vaultId" | "kind" | "sourceId" | "snapshotId">,
): Promise<ActRow | undefined> {
  return acts(tx, act.accountId)
    .where("vault_id", "=", act.vaultId)
    .where("kind", "=", act.kind)
    .where("state", "=", "waiting")
    .where(sql<boolean>`source_id is not distinct from ${act.sourceId}::uuid`)
    .where(sql<boolean>`snapshot_id is not distinct from ${act.snapshotId}::uuid`)
    .executeTakeFirst();
}

/** Waiting acts about a source, or about anything of a vault. */
export async function waitingActsOf(
  tx: ReadTx,
  { accountId, vaultId, sourceId }: Pick<NewAct, "accountId" | "vaultId" | "sourceId">,
): Promise<readonly ActRow[]> {
  return acts(tx, accountId)
    .where("vault_id", "=", vaultId)
    .where("state", "=", "waiting")
    .where(sql<boolean>`(${sourceId}::uuid is null or source_id = ${sourceId}::uuid)`)
    .execute();
}

/** Waiting acts of a vault whose time has come, the oldest first. */
export async function dueActs(tx: ReadTx, accountId: string, vaultId: string, now: Date): Promise<readonly ActRow[]> {
  return acts(tx, accountId)
    .where("vault_id", "=", vaultId)
    .where("state", "=", "waiting")
    .where("due_at", "<=", now)
    .orderBy("due_at")
    .orderBy("id")
    .execute();
}

export async function endAct(
  tx: Tx,
  accountId: string,
  id: string,
  end: { readonly state: "done" | "canceled" | "refused"; readonly by: string | null },
): Promise<void> {
  await tx.db
    .updateTable("pending_acts")
    .set({ state: end.state, canceled_by: end.state === "canceled" ? end.by : null, ended_at: tx.now })
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .where("state", "=", "waiting")
    .execute();
}

function acts(tx: ReadTx, accountId: string) {
  return tx.db.selectFrom("pending_acts").selectAll().where("account_id", "=", accountId);
}
