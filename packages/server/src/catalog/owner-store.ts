/** The numbers of owners: an item and a hook have a number of four bytes instead of a name. */

import { sql } from "kysely";
import { rowsOf, type VaultTx } from "./vault-store.ts";

/** By name; without owners that the vault does not have yet. */
export async function findOwners(
  { db, vault }: VaultTx,
  names: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const { rows } = await sql<{ name: string; owner: number }>`
    select name, owner from catalog_owners where vault = ${vault} and name = any(${[...new Set(names)].sort()}::text[])`.execute(
    db,
  );
  return new Map(rows.map(({ name, owner }) => [name, owner]));
}

/** By name. New owners get a number. */
export async function ownerNumbers(to: VaultTx, names: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const known = await findOwners(to, names);
  const missing = [...new Set(names)].filter((name) => !known.has(name)).sort();
  if (missing.length === 0) return known;
  await rowsOf(
    to,
    sql`insert into catalog_owners (vault, name)
      select ${to.vault}::integer, name from unnest(${missing}::text[]) as x (name) on conflict do nothing`,
  );
  return findOwners(to, names);
}
