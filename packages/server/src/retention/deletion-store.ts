/** The SQL of what deletions leave. */

import type { ReadTx } from "../kernel/tx.ts";

/** More are ended by the next run. */
const uploadsPerRun = 1000;

/** Open uploads into deleted sources of a vault. */
export async function openUploadsOfDeleted(tx: ReadTx, accountId: string, vaultId: string): Promise<readonly string[]> {
  const rows = await tx.db
    .selectFrom("snapshots")
    .innerJoin("sources", "sources.id", "snapshots.source_id")
    .select("snapshots.id")
    .where("snapshots.account_id", "=", accountId)
    .where("snapshots.vault_id", "=", vaultId)
    .where("snapshots.state", "in", ["queued", "running"])
    .where("sources.deleted_at", "is not", null)
    .orderBy("snapshots.id")
    .limit(uploadsPerRun)
    .execute();
  return rows.map(({ id }) => id);
}
