/** All SQL of sources, their aliases and their writers. */

import { type Selectable, sql } from "kysely";
import { type PageStart, pageRows } from "../kernel/cursors.ts";
import type { SourcesRow, SourceWritersRow } from "../kernel/database/rows.generated.ts";
import type { ReadTx, Tx } from "../kernel/tx.ts";
import { type Freshness, freshnessOf, freshnessRank } from "./freshness-store.ts";
import { nameOrder } from "./name-order.ts";
import type { Writer } from "./writers.ts";

export type SourceRow = Selectable<SourcesRow> & {
  readonly aliases: readonly string[];
  readonly freshness: Freshness;
  /** Worst first, then by name. */
  readonly freshness_order: string;
};

export interface NewSource {
  readonly id: string;
  readonly accountId: string;
  readonly vaultId: string;
  readonly name: string;
  readonly kind: SourcesRow["kind"];
  readonly expectedEverySeconds: number | null;
}

/** The caller holds the lock of the vault and has found the name free. */
export async function insertSource(tx: Tx, source: NewSource): Promise<void> {
  await tx.db
    .insertInto("sources")
    .values({
      id: source.id,
      account_id: source.accountId,
      vault_id: source.vaultId,
      name: source.name,
      name_order: nameOrder(source.name),
      kind: source.kind,
      expected_every_s: source.expectedEverySeconds,
      created_at: tx.now,
      updated_at: tx.now,
    })
    .execute();
}

export async function findSourceById(tx: ReadTx, accountId: string, id: string): Promise<SourceRow | undefined> {
  return sources(tx, accountId).where("sources.id", "=", id).executeTakeFirst();
}

/** By its name or a former one. */
export async function findSourceByName(
  tx: ReadTx,
  { accountId, vaultId, name }: { readonly accountId: string; readonly vaultId: string; readonly name: string },
): Promise<SourceRow | undefined> {
  return sources(tx, accountId)
    .where("sources.vault_id", "=", vaultId)
    .where(
      sql<boolean>`(sources.name = ${name} or sources.id in (
        select source_id from source_aliases a where a.vault_id = ${vaultId} and a.name = ${name}))`,
    )
    .executeTakeFirst();
}

/** Held until the end of the transaction. */
export async function lockSource(tx: Tx, id: string): Promise<void> {
  await tx.db.selectFrom("sources").select("id").where("id", "=", id).forNoKeyUpdate().execute();
}

export async function countSources(tx: ReadTx, vaultId: string): Promise<number> {
  const { count } = await tx.db
    .selectFrom("sources")
    .select((call) => call.fn.countAll<number>().as("count"))
    .where("vault_id", "=", vaultId)
    .where("deleted_at", "is", null)
    .executeTakeFirstOrThrow();
  return count;
}

export interface SourceFilter {
  readonly vaultId?: string;
  readonly name?: string;
  readonly freshness?: Freshness;
  /** Null: those of every vault of the account. */
  readonly within: readonly string[] | null;
}

export async function listSources(
  tx: ReadTx,
  accountId: string,
  filter: SourceFilter,
  page: PageStart,
): Promise<SourceRow[]> {
  let inner = sources(tx, accountId);
  if (filter.vaultId !== undefined) inner = inner.where("sources.vault_id", "=", filter.vaultId);
  if (filter.name !== undefined) inner = inner.where("sources.name", "=", filter.name);
  if (filter.within !== null) inner = inner.where(sql<boolean>`sources.vault_id = any(${[...filter.within]}::uuid[])`);
  // One level further out, so that computed columns can be compared and sorted by.
  const select = tx.db.selectFrom(inner.as("found")).selectAll();
  const fresh = filter.freshness === undefined ? select : select.where("freshness", "=", filter.freshness);
  return pageRows(fresh, page);
}

export interface SourceChange {
  readonly name?: string;
  readonly kind?: SourcesRow["kind"];
  readonly expected_every_s?: number | null;
}

export async function updateSource(tx: Tx, accountId: string, id: string, change: SourceChange): Promise<void> {
  await tx.db
    .updateTable("sources")
    .set({
      ...change,
      ...(change.name !== undefined && { name_order: nameOrder(change.name) }),
      updated_at: tx.now,
      version: sql`version + 1`,
    })
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .execute();
}

/** Keeps a name that the source had. */
export async function insertAlias(tx: Tx, source: SourceRow): Promise<void> {
  await tx.db
    .insertInto("source_aliases")
    .values({
      vault_id: source.vault_id,
      name: source.name,
      account_id: source.account_id,
      source_id: source.id,
      created_at: tx.now,
    })
    .execute();
}

/** A source that gets an old name back has it as its name, and no longer as an alias. */
export async function deleteAlias(tx: Tx, source: SourceRow, name: string): Promise<void> {
  await tx.db
    .deleteFrom("source_aliases")
    .where("vault_id", "=", source.vault_id)
    .where("name", "=", name)
    .where("source_id", "=", source.id)
    .execute();
}

/** What the API shows of a source's newest snapshot. */
export interface SourceSnapshot {
  readonly id: string;
  readonly status: string;
  /** Set when it is completed, with the bytes of its files. */
  readonly completedAt: Date | null;
  readonly sizeBytes: number | null;
}

/**
 * Notes a snapshot's state at its source; called in the transaction that changes the state. Ids sort by time, so an older
 * snapshot that changes later does not replace a newer one.
 */
export async function noteSnapshot(tx: Tx, sourceId: string, snapshot: SourceSnapshot): Promise<void> {
  const { id, status, completedAt, sizeBytes } = snapshot;
  await sql`
    update sources set
      last_snapshot_status = case when ${id}::uuid >= coalesce(last_snapshot_id, ${id}::uuid)
        then ${status} else last_snapshot_status end,
      last_snapshot_completed_at = case when ${id}::uuid >= coalesce(last_snapshot_id, ${id}::uuid)
        then ${completedAt}::timestamptz else last_snapshot_completed_at end,
      last_snapshot_id = greatest(last_snapshot_id, ${id}::uuid),
      size_bytes = case when ${completedAt}::timestamptz >= coalesce(last_good_at, ${completedAt}::timestamptz)
        then ${sizeBytes}::bigint else size_bytes end,
      last_good_at = greatest(last_good_at, ${completedAt}::timestamptz)
    where id = ${sourceId}`.execute(tx.db);
}

export async function listWriters(tx: ReadTx, sourceId: string): Promise<SourceWritersRow[]> {
  return tx.db
    .selectFrom("source_writers")
    .selectAll()
    .where("source_id", "=", sourceId)
    .orderBy("bound_at")
    .orderBy("kind")
    .orderBy("writer_id")
    .execute();
}

/** Whether the account has a live agent that is this writer. Agents are a later domain, which this one cannot ask. */
export async function isAgentOf(tx: ReadTx, accountId: string, writerId: string): Promise<boolean> {
  const rows = await tx.db
    .selectFrom("agents")
    .select("id")
    .where("account_id", "=", accountId)
    .where("writer_kind", "=", "agent")
    .where("writer_id", "=", writerId)
    .where("revoked_at", "is", null)
    .execute();
  return rows.length > 0;
}

/** Returns false when the writer was bound before. */
export async function bindWriter(tx: Tx, source: SourceRow, writer: Writer, by: string | null): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await tx.db
    .insertInto("source_writers")
    .values({
      source_id: source.id,
      kind: writer.kind,
      writer_id: writer.id,
      account_id: source.account_id,
      bound_by: by,
      bound_at: tx.now,
    })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return (numInsertedOrUpdatedRows ?? 0n) > 0n;
}

/** Binds a writer to all sources of another, which is unbound. Sources that both had stay bound. */
export async function moveWriter(
  tx: Tx,
  accountId: string,
  { from, to }: { readonly from: Writer; readonly to: Writer },
  by: string,
): Promise<void> {
  await sql`
    insert into source_writers (source_id, kind, writer_id, account_id, bound_by, bound_at)
    select source_id, ${to.kind}, ${to.id}, account_id, ${by}, ${tx.now} from source_writers
    where account_id = ${accountId} and kind = ${from.kind} and writer_id = ${from.id}
    on conflict do nothing`.execute(tx.db);
  await tx.db
    .deleteFrom("source_writers")
    .where("account_id", "=", accountId)
    .where("kind", "=", from.kind)
    .where("writer_id", "=", from.id)
    .execute();
}

/** Returns false when the writer was not bound. */
export async function unbindWriter(tx: Tx, sourceId: string, writer: Writer): Promise<boolean> {
  const { numDeletedRows } = await tx.db
    .deleteFrom("source_writers")
    .where("source_id", "=", sourceId)
    .where("kind", "=", writer.kind)
    .where("writer_id", "=", writer.id)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

function sources(tx: ReadTx, accountId: string) {
  const rank = freshnessRank("sources", tx.now);
  return tx.db
    .selectFrom("sources")
    .selectAll("sources")
    .select([
      sql<string[]>`array(
        select a.name from source_aliases a where a.source_id = sources.id order by a.created_at, a.name)`.as(
        "aliases",
      ),
      freshnessOf(rank).as("freshness"),
      sql<string>`(${rank})::text || sources.name_order`.as("freshness_order"),
    ])
    .where("sources.account_id", "=", accountId)
    .where("sources.deleted_at", "is", null);
}
