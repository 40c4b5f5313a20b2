/** The SQL of staff's list of restores. It reads no path. */

import type { Selectable } from "kysely";
import { type PageStart, pageRows } from "../kernel/cursors.ts";
import type { RestoresRow } from "../kernel/database/rows.generated.ts";
import type { ReadTx } from "../kernel/tx.ts";

const columns = [
  ...(["id", "account_id", "vault_id", "snapshot_id", "target_kind", "state", "failure_code"] as const),
  ...(["bytes_total", "bytes_restored", "files_total", "files_restored", "warning_count"] as const),
  ...(["created_at", "ended_at", "expires_at"] as const),
] as const;

export type ListedRestore = Pick<Selectable<RestoresRow>, (typeof columns)[number]>;

export interface RestoreFilter {
  readonly accountId?: string | undefined;
  readonly status?: ListedRestore["state"] | undefined;
  readonly failure?: ListedRestore["failure_code"] | undefined;
}

export async function listAllRestores(
  tx: ReadTx,
  { accountId, status, failure }: RestoreFilter,
  page: PageStart,
): Promise<readonly ListedRestore[]> {
  let select = tx.db.selectFrom("restores").select(columns);
  if (accountId !== undefined) select = select.where("account_id", "=", accountId);
  if (status !== undefined) select = select.where("state", "=", status);
  if (failure !== undefined) select = select.where("failure_code", "=", failure);
  return pageRows(select, page, "restores");
}
