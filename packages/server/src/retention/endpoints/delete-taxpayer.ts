/** `DELETE /v1/taxpayers/{id}`: deletes a taxpayer with its vault, after 72 hours. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, uuid } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { withStoreProblems } from "../../snapshots/index.ts";
import { findTaxpayer, taxpayerShape } from "../../taxpayers/index.ts";
import { requireInVault } from "../../vaults/index.ts";
import { scheduleDeletion } from "../deletions.ts";
import { actShape, showAct } from "../shapes.ts";

export const deleteTaxpayer = endpoint(
  {
    id: "taxpayers.delete",
    method: "DELETE",
    path: "/v1/taxpayers/{id}",
    tag: "taxpayers",
    summary: "Delete a taxpayer",
    description:
      "The taxpayer, its vault and all snapshots in it are deleted in 72 hours. Until then everything goes on as before, every owner is mailed, and any owner cancels it (`pending_acts.cancel`). Then uploads and restores of the vault end, agents lose it, its snapshots expire, and the tax number is free. Refused while a snapshot is held, locked or younger than the `floor_days` of its policy, now and when the time has come. To keep the backups, set `state` to `archived` instead. Needs a fresh second factor.",
    access: { kind: "account", scope: "taxpayers:write", roles: ["owner", "manager"] },
    stepUp: true,
    ifMatch: "optional",
    params: closed({ id: uuid("Id of the taxpayer.") }),
    replies: { 202: { description: "The act, which waits.", body: actShape } },
    errors: ["not_found", "retention_locked", "legal_hold"],
  },
  async (ctx, { principal, params, requireMatch }) => {
    const { accountId, memberId } = principal;
    const act = await ctx.tx(rowAccessOf(principal), async (tx) => {
      const taxpayer = await requireInVault(principal, findTaxpayer(tx, accountId, params.id));
      requireMatch(taxpayerShape(taxpayer));
      const place = { accountId, vaultId: taxpayer.vault_id, sourceId: null, taxpayerId: taxpayer.id };
      return withStoreProblems(() => scheduleDeletion(tx, ctx, { kind: "taxpayer_deletion", ...place }, memberId));
    });
    return { status: 202, body: showAct(act) };
  },
);
