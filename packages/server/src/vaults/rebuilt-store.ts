/** What a rebuild of the catalog changes in the rows of a vault. */

import { sql } from "kysely";
import type { Tx } from "../kernel/tx.ts";
import { insertSource } from "./source-store.ts";

/** The vault has keys in the store, and these bytes. */
export async function noteRebuilt(tx: Tx, vaultId: string, storedBytes: number | null): Promise<void> {
  await sql`
    update vaults set keys_made_at = coalesce(keys_made_at, ${tx.now}), stored_bytes = coalesce(${storedBytes}::bigint, stored_bytes)
    where id = ${vaultId}`.execute(tx.db);
}

/** Characters of the id in the name of a lost source: unlike those of any other source of the vault. */
const shownOfId = 8;

/** Adds a source that a manifest names and no record has: it was made in the last minute before the loss. */
export async function addLostSource(
  tx: Tx,
  { accountId, vaultId, sourceId }: { readonly accountId: string; readonly vaultId: string; readonly sourceId: string },
): Promise<boolean> {
  // A deleted one is not lost.
  const known = await tx.db.selectFrom("sources").select("id").where("id", "=", sourceId).execute();
  if (known.length > 0) return false;
  const name = `recovered-${sourceId.slice(-shownOfId)}`;
  await insertSource(tx, { ...{ id: sourceId, accountId, vaultId, name }, kind: "other", expectedEverySeconds: null });
  return true;
}
