/** `DELETE /v1/sources/{id}`: deletes a source, after 72 hours. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, uuid } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { withStoreProblems } from "../../snapshots/index.ts";
import { changes, findSourceById, requireInVault, sourceShape } from "../../vaults/index.ts";
import { scheduleDeletion } from "../deletions.ts";
import { actShape, showAct } from "../shapes.ts";

export const deleteSource = endpoint(
  {
    id: "sources.delete",
    method: "DELETE",
    path: "/v1/sources/{id}",
    tag: "sources",
    summary: "Delete a source",
    description:
      "The source and its snapshots are deleted in 72 hours. Until then it is backed up as before, every owner is mailed, and any owner cancels it (`pending_acts.cancel`). Then its uploads and restores end, its name is free, and its snapshots expire. Refused while a snapshot is held, locked or younger than the `floor_days` of its policy, now and when the time has come. Needs a fresh second factor.",
    access: changes,
    stepUp: true,
    ifMatch: "optional",
    params: closed({ id: uuid("Id of the source.") }),
    replies: { 202: { description: "The act, which waits.", body: actShape } },
    errors: ["not_found", "retention_locked", "legal_hold"],
  },
  async (ctx, { principal, params, requireMatch }) => {
    const { accountId, memberId } = principal;
    const act = await ctx.tx(rowAccessOf(principal), async (tx) => {
      const source = await requireInVault(principal, findSourceById(tx, accountId, params.id));
      requireMatch(sourceShape(source));
      const place = { accountId, vaultId: source.vault_id, sourceId: source.id, taxpayerId: null };
      return withStoreProblems(() => scheduleDeletion(tx, ctx, { kind: "source_deletion", ...place }, memberId));
    });
    return { status: 202, body: showAct(act) };
  },
);
