/** All SQL of recovery kits: the table `recovery_kits`, which has orders and no keys. */

import type { Selectable } from "kysely";
import { type PageStart, pageRows } from "../kernel/cursors.ts";
import type { RecoveryKitsRow } from "../kernel/database/rows.generated.ts";
import type { ReadTx, Tx } from "../kernel/tx.ts";

export type KitRow = Selectable<RecoveryKitsRow>;

interface NewKit {
  readonly id: string;
  readonly accountId: string;
  readonly vaultId: string;
  readonly createdBy: string;
  readonly readyAt: Date;
}

export async function insertKit(tx: Tx, kit: NewKit): Promise<KitRow> {
  return tx.db
    .insertInto("recovery_kits")
    .values({
      ...{ id: kit.id, account_id: kit.accountId, vault_id: kit.vaultId, state: "waiting", created_by: kit.createdBy },
      ...{ created_at: tx.now, ready_at: kit.readyAt },
    })
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** The open order for a vault, held until the end of the transaction. */
export async function lockWaitingKit(tx: Tx, accountId: string, vaultId: string): Promise<KitRow | undefined> {
  return kits(tx, accountId)
    .where("vault_id", "=", vaultId)
    .where("state", "=", "waiting")
    .forNoKeyUpdate()
    .executeTakeFirst();
}

/** Held until the end of the transaction, so a kit is delivered once. */
export async function lockKit(tx: Tx, accountId: string, id: string): Promise<KitRow | undefined> {
  return kits(tx, accountId).where("id", "=", id).forNoKeyUpdate().executeTakeFirst();
}

export async function listKits(tx: ReadTx, accountId: string, page: PageStart): Promise<KitRow[]> {
  return pageRows(kits(tx, accountId), page);
}

export async function endKit(
  tx: Tx,
  id: string,
  end: { readonly state: "delivered" | "canceled"; readonly by: string; readonly epoch: number | null },
): Promise<KitRow> {
  return tx.db
    .updateTable("recovery_kits")
    .set({ state: end.state, ended_by: end.by, ended_at: tx.now, key_epoch: end.epoch })
    .where("id", "=", id)
    .where("state", "=", "waiting")
    .returningAll()
    .executeTakeFirstOrThrow();
}

function kits(tx: ReadTx, accountId: string) {
  return tx.db.selectFrom("recovery_kits").selectAll().where("account_id", "=", accountId);
}
