/** `DELETE /v1/vaults/{id}`: deletes a vault, after 72 hours. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, uuid } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import { withStoreProblems } from "../../snapshots/index.ts";
import { changes, findVault, requireVault, vaultShape } from "../../vaults/index.ts";
import { scheduleDeletion } from "../deletions.ts";
import { actShape, showAct } from "../shapes.ts";

export const deleteVault = endpoint(
  {
    id: "vaults.delete",
    method: "DELETE",
    path: "/v1/vaults/{id}",
    tag: "vaults",
    summary: "Delete a vault",
    description:
      "The vault, its sources and its snapshots are deleted in 72 hours. Until then everything goes on as before, every owner is mailed, and any owner cancels it (`pending_acts.cancel`). Then uploads and restores of the vault end, agents lose it, and its snapshots expire. Refused while a snapshot is held, locked or younger than the `floor_days` of its policy, now and when the time has come. The default vault cannot be deleted, and the vault of a taxpayer only with the taxpayer. Needs a fresh second factor.",
    access: changes,
    stepUp: true,
    ifMatch: "optional",
    params: closed({ id: uuid("Id of the vault.") }),
    replies: { 202: { description: "The act, which waits.", body: actShape } },
    errors: ["not_found", "state_conflict", "retention_locked", "legal_hold"],
  },
  async (ctx, { principal, params, requireMatch }) => {
    const { accountId, memberId } = principal;
    const act = await ctx.tx(rowAccessOf(principal), async (tx) => {
      const vault = await requireVault(principal, findVault(tx, accountId, params.id));
      requireMatch(vaultShape(vault));
      if (vault.kind !== "other") throw new Problem("state_conflict");
      const place = { accountId, vaultId: vault.id, sourceId: null, taxpayerId: null };
      return withStoreProblems(() => scheduleDeletion(tx, ctx, { kind: "vault_deletion", ...place }, memberId));
    });
    return { status: 202, body: showAct(act) };
  },
);
