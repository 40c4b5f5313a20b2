/** What the SQLite catalog keeps of a vault's chain: its head, and the writers that it revokes. */

import type { ChainHead } from "../../format/chain.ts";
import { emptyChain } from "../../format/chain.ts";
import type { Sql } from "./rows.ts";
import { blob, integer } from "./rows.ts";

export function readChainHead(sql: Sql): ChainHead {
  const row = sql("select sequence, hash from chain").get();
  return row === undefined ? emptyChain : { sequence: integer(row, "sequence"), hash: blob(row, "hash") };
}

/** Sets the head, unless it is there or beyond already. */
export function advanceChainHead(sql: Sql, { sequence, hash }: ChainHead): void {
  sql(
    `insert into chain values (1, ?, ?)
     on conflict (only) do update set sequence = excluded.sequence, hash = excluded.hash
     where excluded.sequence > chain.sequence`,
  ).run(sequence, hash);
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
