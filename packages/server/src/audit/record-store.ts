/** All SQL that reads audit records. They are written with the commit of the act (`kernel/audit.ts`). */

import { type Selectable, type SelectQueryBuilder, sql } from "kysely";
import { type PageStart, pageRows } from "../kernel/cursors.ts";
import type { AuditRecordsRow, Database } from "../kernel/database/rows.generated.ts";
import type { ReadTx } from "../kernel/tx.ts";

export type RecordRow = Selectable<AuditRecordsRow>;

/** Which records of a chain. All that are given must hold. */
export interface RecordFilter {
  /** ISO 8601; inclusive. */
  readonly from?: string;
  /** Exclusive. */
  readonly to?: string;
  /** An action, or a kind of actions: `member.*`. */
  readonly action?: string;
  readonly actor_id?: string;
  readonly actor_kind?: string;
  readonly target_id?: string;
  readonly target_type?: string;
  readonly outcome?: "success" | "failure";
}

type Select<Row> = SelectQueryBuilder<Database, "audit_records", Row>;

/** A page of the records of one chain, or with null of all chains that the row access shows. */
export async function listRecords(
  tx: ReadTx,
  chain: string | null,
  filters: readonly RecordFilter[],
  page: PageStart,
): Promise<RecordRow[]> {
  const all = tx.db.selectFrom("audit_records").selectAll();
  const select = chain === null ? all : all.where("chain", "=", chain);
  return pageRows(filters.reduce(matching, select), page);
}

function matching<Row>(select: Select<Row>, filter: RecordFilter): Select<Row> {
  let found = select;
  if (filter.from !== undefined) found = found.where("occurred_at", ">=", new Date(filter.from));
  if (filter.to !== undefined) found = found.where("occurred_at", "<", new Date(filter.to));
  const { action } = filter;
  if (action?.endsWith(".*")) found = found.where(sql<boolean>`starts_with(action, ${action.slice(0, -1)})`);
  else if (action !== undefined) found = found.where("action", "=", action);
  if (filter.actor_id !== undefined) found = found.where("actor_id", "=", filter.actor_id);
  if (filter.actor_kind !== undefined) found = found.where(sql<boolean>`actor ->> 'kind' = ${filter.actor_kind}`);
  // Written into the statement: the index of failures is only used where the statement says that it is about them.
  if (filter.outcome === "failure") found = found.where(sql<boolean>`outcome = 'failure'`);
  if (filter.outcome === "success") found = found.where(sql<boolean>`outcome = 'success'`);
  const target = {
    ...(filter.target_type !== undefined && { type: filter.target_type }),
    ...(filter.target_id !== undefined && { id: filter.target_id }),
  };
  if (Object.keys(target).length > 0) found = found.where(sql<boolean>`targets @> ${JSON.stringify([target])}::jsonb`);
  return found;
}

/** The numbers of a part of a chain. Nothing is in it when `lastSeq` is `firstSeq - 1`. */
export interface ChainPart {
  readonly firstSeq: number;
  readonly lastSeq: number;
}

export interface ChainHead {
  readonly seq: number;
  readonly hash: Buffer;
}

/** The hash before the first record. */
export const genesisHash: Buffer = Buffer.alloc(32);

/** The end of a chain; number 0 when it has no record. */
export async function findHead(tx: ReadTx, chain: string): Promise<ChainHead> {
  const row = await tx.db
    .selectFrom("audit_heads")
    .select(["seq", "hash"])
    .where("chain", "=", chain)
    .executeTakeFirst();
  return row ?? { seq: 0, hash: genesisHash };
}

/**
 * The part of a chain that has all records of a time. Numbers follow the order of commits, times the beginning of transactions, so a
 * few records of another time can be between them: a part has no gap.
 */
export async function findPart(tx: ReadTx, chain: string, time: Pick<RecordFilter, "from" | "to">): Promise<ChainPart> {
  const head = await findHead(tx, chain);
  const records = tx.db.selectFrom("audit_records").where("chain", "=", chain).where("seq", "<=", head.seq);
  let firstSeq = 1;
  if (time.from !== undefined) {
    const found = await records
      .select((is) => is.fn.min("seq").as("seq"))
      .where("occurred_at", ">=", new Date(time.from))
      .executeTakeFirst();
    firstSeq = found?.seq ?? head.seq + 1;
  }
  let lastSeq = head.seq;
  if (time.to !== undefined) {
    const found = await records
      .select((is) => is.fn.max("seq").as("seq"))
      .where("occurred_at", "<", new Date(time.to))
      .executeTakeFirst();
    lastSeq = found?.seq ?? 0;
  }
  return { firstSeq, lastSeq: Math.max(lastSeq, firstSeq - 1) };
}

/** The hash of a chain at a number; undefined where it has no such record. */
export async function findHash(tx: ReadTx, chain: string, seq: number): Promise<Buffer | undefined> {
  if (seq === 0) return genesisHash;
  const row = await tx.db
    .selectFrom("audit_records")
    .select("hash")
    .where("chain", "=", chain)
    .where("seq", "=", seq)
    .executeTakeFirst();
  return row?.hash;
}

/** A record whose JSON is not parsed: an export passes it on as text. */
export interface RecordTexts {
  readonly seq: number;
  readonly id: string;
  readonly occurred_at: Date;
  readonly action: string;
  readonly actor_id: string | null;
  readonly actor: string;
  readonly targets: string;
  readonly context: string;
  readonly outcome: string;
  readonly metadata: string;
  readonly prev_hash: string;
  readonly hash: string;
}

/** The next records of a part, in order. */
export async function readTexts(
  tx: ReadTx,
  chain: string,
  { after, last, limit }: { readonly after: number; readonly last: number; readonly limit: number },
  filters: readonly RecordFilter[] = [],
): Promise<RecordTexts[]> {
  const select = tx.db
    .selectFrom("audit_records")
    .select(["seq", "id", "occurred_at", "action", "actor_id", "outcome"])
    .select(textColumns)
    .where("chain", "=", chain)
    .where("seq", ">", after)
    .where("seq", "<=", last);
  return filters.reduce(matching, select).orderBy("seq").limit(limit).execute();
}

/** How many records of a part the filters choose. */
export async function countRecords(
  tx: ReadTx,
  chain: string,
  { firstSeq, lastSeq }: ChainPart,
  filters: readonly RecordFilter[],
): Promise<number> {
  const select = tx.db
    .selectFrom("audit_records")
    .select((is) => is.fn.countAll<number>().as("count"))
    .where("chain", "=", chain)
    .where("seq", ">=", firstSeq)
    .where("seq", "<=", lastSeq);
  const row = await filters.reduce(matching, select).executeTakeFirst();
  return Number(row?.count ?? 0);
}

const textColumns = [
  sql<string>`actor::text`.as("actor"),
  sql<string>`targets::text`.as("targets"),
  sql<string>`context::text`.as("context"),
  sql<string>`metadata::text`.as("metadata"),
  sql<string>`encode(prev_hash, 'hex')`.as("prev_hash"),
  sql<string>`encode(hash, 'hex')`.as("hash"),
] as const;

/** The next records of a chain, in order, for checking them. */
export async function readRecords(tx: ReadTx, chain: string, after: number, limit: number): Promise<RecordRow[]> {
  return tx.db
    .selectFrom("audit_records")
    .selectAll()
    .where("chain", "=", chain)
    .where("seq", ">", after)
    .orderBy("seq")
    .limit(limit)
    .execute();
}

/** The greatest number of a chain, whatever its head says. */
export async function greatestSeq(tx: ReadTx, chain: string): Promise<number> {
  const row = await tx.db
    .selectFrom("audit_records")
    .select((is) => is.fn.max("seq").as("seq"))
    .where("chain", "=", chain)
    .executeTakeFirst();
  return row?.seq ?? 0;
}

/** The names of chains after one, in order: those with a head, and those that only have records. */
export async function listChains(tx: ReadTx, after: string, limit: number): Promise<string[]> {
  const { rows } = await sql<{ chain: string }>`
    with recursive recorded (chain) as (
      select min(chain) from audit_records where chain > ${after}
      union all
      select (select min(chain) from audit_records r where r.chain > recorded.chain) from recorded
        where recorded.chain is not null
    )
    select chain from (
      (select chain from audit_heads where chain > ${after} order by chain limit ${limit})
      union (select chain from recorded where chain is not null limit ${limit})
    ) both_lists order by chain limit ${limit}`.execute(tx.db);
  return rows.map(({ chain }) => chain);
}
