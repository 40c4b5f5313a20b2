/** `DELETE /v1/snapshots/{id}/hold`: releases a hold, after 72 hours. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { snapshotId, withStoreProblems } from "../../snapshots/index.ts";
import { aboutSnapshot, scheduleAct } from "../acts.ts";
import { lockCompleted, ownerOnly, requireAct } from "../operations.ts";
import { actShape, showAct, showHold } from "../shapes.ts";

export const releaseHold = endpoint(
  {
    id: "snapshots.release_hold",
    method: "DELETE",
    path: "/v1/snapshots/{id}/hold",
    tag: "retention",
    summary: "Release a hold",
    description:
      "The hold ends in 72 hours. Every owner is mailed, and any owner cancels it until then. Only owners, with a fresh second factor.",
    access: ownerOnly,
    // Otherwise what was held in a closed account would stay for ever.
    whileSuspended: true,
    stepUp: true,
    ifMatch: "optional",
    params: snapshotId,
    replies: { 202: { description: "The act, which waits.", body: actShape } },
    errors: ["not_found", "state_conflict", "snapshot_expired"],
  },
  async (ctx, { principal, params, requireMatch }) => {
    const { memberId } = principal;
    const act = await ctx.tx(rowAccessOf(principal), async (tx) => {
      const record = await lockCompleted(tx, principal, params.id);
      requireMatch(showHold(record));
      const wanted = aboutSnapshot("hold_release", record);
      return requireAct(tx, principal, await withStoreProblems(() => scheduleAct(tx, ctx, wanted, memberId)));
    });
    return { status: 202, body: showAct(act) };
  },
);
