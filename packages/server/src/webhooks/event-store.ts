/** All SQL that reads and removes events. They are written by `kernel/events.ts`. */

import { sql } from "kysely";
import type { ReadTx, Tx } from "../kernel/tx.ts";

export interface StoredEvents {
  /** Payloads as they were written. */
  readonly payloads: readonly string[];
  /** Up to this number nothing more will be found. */
  readonly lastSequence: number;
  /** Events up to this number are not kept any more. */
  readonly expiredThrough: number;
}

interface EventFilter {
  /** Null: from the oldest that is kept. */
  readonly after: number | null;
  /** Only of these vaults; null: all. */
  readonly vaultIds: readonly string[] | null;
  readonly limit: number;
}

/** The next events of an account. One statement, so that the events and the head of the stream are of the same moment. */
export async function readEvents(tx: ReadTx, accountId: string, filter: EventFilter): Promise<StoredEvents> {
  const { after, vaultIds, limit } = filter;
  const ofVaults = vaultIds === null ? sql`true` : sql`vault_id = any (${[...vaultIds]}::uuid[])`;
  const { rows } = await sql<{
    head: number;
    expired_through: number;
    payload: string | null;
    sequence: number;
  }>`
    select h.sequence as head, h.expired_through, e.payload, e.sequence
    from event_heads h left join lateral (
      select payload, sequence from events
      where account_id = h.account_id and sequence > ${after ?? 0} and ${ofVaults}
      order by sequence limit ${limit}
    ) e on true
    where h.account_id = ${accountId} order by e.sequence`.execute(tx.db);
  const { head = 0, expired_through: expiredThrough = 0 } = rows[0] ?? {};
  const payloads = rows.flatMap(({ payload }) => (payload === null ? [] : [payload]));
  const last = rows.at(-1)?.sequence ?? 0;
  const lastSequence = payloads.length === limit ? last : head;
  return { payloads, lastSequence, expiredThrough };
}

/** The newest number of each of these accounts; row access `system`. */
export async function readHeads(tx: ReadTx, accountIds: readonly string[]) {
  return tx.db
    .selectFrom("event_heads")
    .select(["account_id", "sequence"])
    .where("account_id", "=", sql<string>`any (${[...accountIds]}::uuid[])`)
    .execute();
}

/** Removes events made before this time, and notes at the streams what is gone. Row access `system`. Returns their number. */
export async function removeEvents(tx: Tx, before: Date, limit: number): Promise<number> {
  const { rows } = await sql<{ removed: number }>`
    with old as (
      select account_id, sequence from events where created_at < ${before} order by created_at limit ${limit}
    ), removed as (
      delete from events using old
      where events.account_id = old.account_id and events.sequence = old.sequence
      returning events.account_id, events.sequence
    ), heads as (
      update event_heads set expired_through = greatest(expired_through, last.sequence)
      from (select account_id, max(sequence) as sequence from removed group by account_id) last
      where event_heads.account_id = last.account_id
    )
    select count(*) as removed from removed`.execute(tx.db);
  return rows[0]?.removed ?? 0;
}
