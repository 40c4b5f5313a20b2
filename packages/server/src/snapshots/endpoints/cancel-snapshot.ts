/** Ends an open upload: its creator does, or a member who manages the account. Pins of the engine end with it. */

import { CatalogError } from "@emanet/engine";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import { endUpload } from "../lifecycle.ts";
import { seesStorage } from "../new-upload.ts";
import { canBecome } from "../rules.ts";
import { showSnapshot, snapshotId, snapshotShape } from "../shapes.ts";
import { findSnapshot } from "../store.ts";
import { isCreator, isManager, lockOwnSnapshot } from "../visible-rows.ts";

export const cancelSnapshot = endpoint(
  {
    id: "snapshots.cancel",
    method: "POST",
    path: "/v1/snapshots/{id}/cancel",
    aliases: ["/snapshots/{id}/cancel"],
    tag: "snapshots",
    summary: "Cancel an upload",
    description:
      "Ends an upload that is queued or running. Its creator may do so, and members who are owner or manager. What arrived is not sent again by the next upload.",
    access: { kind: "account", scope: "snapshots:write" },
    withinVaults: true,
    params: snapshotId,
    replies: { 200: { description: "The canceled snapshot.", body: snapshotShape } },
    errors: ["state_conflict"],
  },
  async (ctx, { principal, params, language }) => {
    const record = await ctx.tx(rowAccessOf(principal), async (tx) => {
      const before = await lockOwnSnapshot(tx, principal, params.id);
      if (!isCreator(principal, before) && !isManager(principal)) throw new Problem("insufficient_role");
      if (!canBecome(before.status, "canceled")) throw new Problem("state_conflict");
      await endUpload(tx, params.id, { state: "canceled", code: "canceled", reason: null });
      return (await findSnapshot(tx, principal.accountId, params.id)) ?? before;
    });
    const vault = await ctx.services.vaults.open(principal.accountId, record.vault_id);
    // Its pins end now and not with its lease.
    await vault.catalog.endUpload(params.id).catch((error: unknown) => {
      if (!(error instanceof CatalogError)) throw error;
    });
    return { status: 200, body: showSnapshot(record, { language, seesStorage: seesStorage(principal) }) };
  },
);
