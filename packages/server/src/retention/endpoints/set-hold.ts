/** `PUT /v1/snapshots/{id}/hold`: keeps a snapshot until an owner releases it. */

import { setRetention } from "@emanet/engine";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type } from "../../kernel/http/schema.ts";
import { invalidField } from "../../kernel/http/validate.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import { engineId, snapshotId, withStoreProblems } from "../../snapshots/index.ts";
import { waitingAct } from "../act-store.ts";
import { cancelAct } from "../acts.ts";
import { recordHold } from "../chain.ts";
import { lockCompleted, lockToKeep, ownerOnly } from "../operations.ts";
import { holdFields, holdShape, showHold } from "../shapes.ts";
import { setHold as storeHold } from "../snapshot-store.ts";

export const setHold = endpoint(
  {
    id: "snapshots.set_hold",
    method: "PUT",
    path: "/v1/snapshots/{id}/hold",
    tag: "retention",
    summary: "Hold a snapshot",
    description:
      "Nobody removes the snapshot while it is held, by no rule and by no deletion, owners and staff included. A release that waits is canceled. Only owners, with a fresh second factor.",
    access: ownerOnly,
    whileSuspended: true,
    stepUp: true,
    params: snapshotId,
    body: closed({ reason: holdFields.reason, review_at: Type.Optional(holdFields.review_at) }, { title: "NewHold" }),
    replies: { 200: { description: "The hold.", body: holdShape } },
    errors: ["not_found", "state_conflict", "snapshot_expired"],
  },
  async (ctx, { principal, params, body, language }) => {
    const { accountId, memberId } = principal;
    const reviewAt = body.review_at == null ? null : new Date(body.review_at);
    if (reviewAt !== null && reviewAt <= ctx.clock.now())
      throw new Problem("validation_failed", { errors: [invalidField("/review_at", "out_of_range", language)] });
    const record = await ctx.tx(rowAccessOf(principal), async (tx) => {
      const { vault_id: vaultId, source_id: sourceId } = await lockToKeep(tx, principal, params.id);
      await withStoreProblems(async () => {
        const vault = await ctx.services.vaults.open(accountId, vaultId);
        const note = { reason: body.reason, by: memberId };
        await setRetention(vault, engineId(params.id), (old) => ({ ...old, hold: true }), note);
        const review = reviewAt?.getTime() ?? null;
        await recordHold(vault, params.id, { ...note, review, at: tx.now.getTime() });
        const kind = "hold_release";
        const release = await waitingAct(tx, { accountId, vaultId, kind, sourceId: null, snapshotId: params.id });
        if (release !== undefined) await cancelAct(tx, vault, release, memberId);
      });
      await storeHold(tx, accountId, params.id, { reason: body.reason, reviewAt, by: memberId });
      const targets = [
        { type: "snapshot", id: params.id },
        { type: "source", id: sourceId },
      ];
      tx.audit({ action: "snapshot.held", targets });
      return lockCompleted(tx, principal, params.id);
    });
    return { status: 200, body: showHold(record) };
  },
);
