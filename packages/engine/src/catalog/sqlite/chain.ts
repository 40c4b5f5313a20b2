/** What the SQLite catalog keeps of a vault's chain: its head, the newest epoch, retention, and revoked writers. */

import type { ChainHead } from "../../format/chain.ts";
import { emptyChain } from "../../format/chain.ts";
import type { Retention } from "../../format/snapshot.ts";
import type { Sql } from "./rows.ts";
import { blob, integer } from "./rows.ts";

export function readChainHead(sql: Sql): ChainHead {
  const row = sql("select sequence, hash from chain").get();
  return row === undefined ? emptyChain : { sequence: integer(row, "sequence"), hash: blob(row, "hash") };
}

/** Sets the head, unless it is there or beyond already. */
export function advanceChainHead(sql: Sql, { sequence, hash }: ChainHead, epoch = 1): void {
  sql(
    `insert into chain values (1, ?, ?, ?)
     on conflict (only) do update set sequence = excluded.sequence, hash = excluded.hash
     where excluded.sequence > chain.sequence`,
  ).run(sequence, hash, epoch);
  sql("update chain set epoch = max(epoch, ?)").run(epoch);
}

/** The newest epoch that an applied record names. */
export function readEpoch(sql: Sql): number {
  const row = sql("select epoch from chain").get();
  return row === undefined ? 1 : integer(row, "epoch");
}

/** Sets the retention of a snapshot, as the chain's record `sequence` has it. */
export function putRetention(sql: Sql, id: string, retention: Retention, sequence: number): void {
  const { expiresAt, lockedUntil, hold } = retention;
  const update = "update snapshots set expires = ?, locked = ?, hold = ?, changes = ? where id = ?";
  sql(update).run(expiresAt, lockedUntil, hold ? 1 : 0, sequence, id);
}

/** Sets a row that is being deleted back, if the record is newer than what is applied to it. Returns whether it did. */
export function cancelDeletion(sql: Sql, id: string, retention: Retention, sequence: number): boolean {
  const update = "update snapshots set status = 'completed' where id = ? and status = 'deleting' and changes < ?";
  if (Number(sql(update).run(id, sequence).changes) === 0) return false;
  putRetention(sql, id, retention, sequence);
  return true;
}

/** Revokes a writer. A revocation is never moved to a later session. */
export function putRevocation(sql: Sql, writerId: string, fromSession: number): void {
  sql(
    `insert into revoked values (?, ?)
     on conflict (writer) do update set from_session = min(from_session, excluded.from_session)`,
  ).run(writerId, fromSession);
}

export function readRevocation(sql: Sql, writerId: string): number | null {
  const row = sql("select from_session from revoked where writer = ?").get(writerId);
  return row === undefined ? null : integer(row, "from_session");
}
