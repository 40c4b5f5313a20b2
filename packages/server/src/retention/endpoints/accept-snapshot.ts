/** `POST /v1/snapshots/{id}/accept`: a person says that a suspicious snapshot is right, after 72 hours. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import { snapshotId, withStoreProblems } from "../../snapshots/index.ts";
import { changes } from "../../vaults/index.ts";
import { aboutSnapshot, scheduleAct } from "../acts.ts";
import { lockCompleted, requireAct } from "../operations.ts";
import { actShape, showAct } from "../shapes.ts";

export const acceptSnapshot = endpoint(
  {
    id: "snapshots.accept",
    method: "POST",
    path: "/v1/snapshots/{id}/accept",
    tag: "retention",
    summary: "Accept a suspicious snapshot",
    description:
      "From then on the snapshot counts like any other, and snapshots of its source expire again. As this can remove snapshots, it waits 72 hours: every owner is mailed, and any owner cancels it. To reject the snapshot, delete it. Needs a fresh second factor.",
    access: changes,
    stepUp: true,
    params: snapshotId,
    replies: { 202: { description: "The act, which waits.", body: actShape } },
    errors: ["not_found", "state_conflict", "snapshot_expired"],
  },
  async (ctx, { principal, params }) => {
    const { memberId } = principal;
    const act = await ctx.tx(rowAccessOf(principal), async (tx) => {
      const record = await lockCompleted(tx, principal, params.id);
      if (record.suspicious_at === null || record.accepted_at !== null) throw new Problem("state_conflict");
      const wanted = aboutSnapshot("acceptance", record);
      return requireAct(tx, principal, await withStoreProblems(() => scheduleAct(tx, ctx, wanted, memberId)));
    });
    return { status: 202, body: showAct(act) };
  },
);
