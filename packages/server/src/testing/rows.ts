/** Reads stored rows of all accounts. It needs a scope, because row-level security also applies to the owner of the tables. */

import type { TestDatabase } from "./database.ts";

/** Runs one statement with row access `system`. */
export async function storedRows<Row extends object>(
  database: TestDatabase,
  text: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  const client = await database.owner.connect();
  try {
    await client.query("begin");
    await client.query("select set_config('emanet.scope', 'system', true)");
    const { rows } = await client.query<Row>(text, [...values]);
    await client.query("commit");
    return rows;
  } finally {
    client.release();
  }
}
