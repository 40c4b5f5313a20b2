/** All SQL of the root key: one row. Runs as the owner of the schema; the application role has no right on this table. */

import type { Pool } from "pg";

export interface RootKeyRow {
  readonly wrapped: Buffer;
  /** The name of the master key that wrapped it. */
  readonly wrapped_by: string;
}

export async function readRootKey(owner: Pool): Promise<RootKeyRow | undefined> {
  const { rows } = await owner.query<RootKeyRow>("select wrapped, wrapped_by from emanet.root_key where id = 1");
  return rows[0];
}

/**
 * Runs the work while no other process changes the master key or deletes copies of the root key. Null: another one does so now. The
 * lock ends with its connection, so a process that is killed leaves none.
 */
export async function whileUnchanged<T>(owner: Pool, work: () => Promise<T>): Promise<T | null> {
  const client = await owner.connect();
  try {
    const lock = "hashtextextended('emanet.root_key', 0)";
    const { rows } = await client.query<{ taken: boolean }>(`select pg_try_advisory_lock(${lock}) as taken`);
    if (rows[0]?.taken !== true) return null;
    try {
      return await work();
    } finally {
      await client.query(`select pg_advisory_unlock(${lock})`);
    }
  } finally {
    client.release();
  }
}

/** Does nothing when there is a root key. */
export async function insertRootKey(owner: Pool, row: RootKeyRow, now: Date): Promise<void> {
  await owner.query(
    `insert into emanet.root_key (id, wrapped, wrapped_by, created_at, wrapped_at) values (1, $1, $2, $3, $3)
     on conflict (id) do nothing`,
    [row.wrapped, row.wrapped_by, now],
  );
}

/** False when the stored key was not wrapped by the master key named `from`. */
export async function replaceRootKey(owner: Pool, row: RootKeyRow, from: string, now: Date): Promise<boolean> {
  const { rowCount } = await owner.query(
    "update emanet.root_key set wrapped = $1, wrapped_by = $2, wrapped_at = $3 where id = 1 and wrapped_by = $4",
    [row.wrapped, row.wrapped_by, now, from],
  );
  return rowCount === 1;
}
