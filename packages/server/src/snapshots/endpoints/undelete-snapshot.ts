/** Brings a deleted snapshot back, as it was, while its content is still there. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import { projectSnapshot } from "../../paths/index.ts";
import { isVaultAllowed } from "../../vaults/index.ts";
import { setChainExpiry } from "../chain-expiry.ts";
import { targetsOf } from "../lifecycle.ts";
import { withStoreProblems } from "../read-content.ts";
import { undeleteMs } from "../rules.ts";
import { showSnapshot, snapshotId, snapshotShape } from "../shapes.ts";
import { findSnapshot, lockDeleted, undeleteSnapshot as markUndeleted } from "../store.ts";

export const undeleteSnapshot = endpoint(
  {
    id: "snapshots.undelete",
    method: "POST",
    path: "/v1/snapshots/{id}/undelete",
    aliases: ["/snapshots/{id}/undelete"],
    tag: "snapshots",
    summary: "Bring a deleted snapshot back",
    description: "Within 72 hours of its deletion. The snapshot is again what it was before.",
    access: { kind: "account", scope: "snapshots:write", roles: ["owner", "manager"] },
    stepUp: true,
    params: snapshotId,
    replies: { 200: { description: "The snapshot.", body: snapshotShape } },
  },
  async (ctx, { principal, params, language }) => {
    const record = await ctx.tx(rowAccessOf(principal), async (tx) => {
      const deleted = await lockDeleted(tx, principal.accountId, params.id);
      const isBack =
        deleted?.deleted_at !== undefined &&
        deleted.deleted_at !== null &&
        isVaultAllowed(principal, deleted.vault_id) &&
        tx.now.getTime() < deleted.deleted_at.getTime() + undeleteMs;
      if (!isBack) throw new Problem("not_found");
      const place = { id: params.id, account_id: principal.accountId, vault_id: deleted.vault_id };
      const note = { reason: "undeleted", by: principal.memberId };
      if (deleted.deleted_state === "completed")
        await withStoreProblems(() => setChainExpiry(ctx.services, place, null, note));
      await markUndeleted(tx, principal.accountId, params.id);
      const found = await findSnapshot(tx, principal.accountId, params.id);
      if (found === undefined) throw new Problem("not_found");
      const { id, account_id: accountId, vault_id: vaultId, source_id: sourceId, created_at: createdAt } = found;
      if (found.status === "completed") await projectSnapshot(tx, { id, accountId, vaultId, sourceId, createdAt });
      tx.audit({ action: "snapshot.undeleted", targets: targetsOf(found.id, found.source_id) });
      return found;
    });
    return { status: 200, body: showSnapshot(record, { language, seesStorage: true }) };
  },
);
