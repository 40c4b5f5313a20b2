/**
 * Reads audit chains and checks them as an external verifier: only from the rows and the format of the contract, without
 * the code that wrote them.
 */

import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import type { Pool, PoolClient } from "pg";

export interface ChainRow {
  readonly chain: string;
  readonly seq: number;
  readonly id: string;
  readonly occurred_at: Date;
  readonly action: string;
  readonly actor: unknown;
  readonly targets: unknown;
  readonly context: unknown;
  readonly outcome: string;
  readonly metadata: unknown;
  readonly prev_hash: Buffer;
  readonly hash: Buffer;
}

/** All records of a chain, in order. */
export async function readChain(app: Pool, chain: string): Promise<ChainRow[]> {
  const query = "select * from audit_records where chain = $1 order by seq";
  return inSystemScope(app, async (client) => (await client.query<ChainRow>(query, [chain])).rows);
}

/** The number of the first invalid record; null when the whole chain is valid. */
export function firstBadRecord(rows: readonly ChainRow[]): number | null {
  let previous: Buffer = Buffer.alloc(32);
  for (const [index, row] of rows.entries()) {
    const { prev_hash, hash } = row;
    const fits = row.seq === index + 1 && prev_hash.equals(previous) && hash.equals(hashOf(row));
    if (!fits) return index + 1;
    previous = hash;
  }
  return null;
}

function hashOf({
  prev_hash,
  chain,
  seq,
  id,
  occurred_at,
  action,
  actor,
  targets,
  context,
  outcome,
  metadata,
}: ChainRow) {
  const when = occurred_at.toISOString();
  const record = { chain, seq, id, occurred_at: when, action, actor, targets, context, outcome, metadata };
  return createHash("sha256")
    .update(prev_hash)
    .update(canonicalize(record) ?? "")
    .digest();
}

/** Runs queries that see the rows of every account. Their changes are rolled back. */
export async function inSystemScope<T>(app: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await app.connect();
  try {
    await client.query("begin");
    await client.query("select set_config('emanet.scope', 'system', true)");
    return await work(client);
  } finally {
    await client.query("rollback");
    client.release();
  }
}
