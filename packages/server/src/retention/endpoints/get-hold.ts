/** `GET /v1/snapshots/{id}/hold`: why a snapshot is held. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import { findSnapshot, snapshotId } from "../../snapshots/index.ts";
import { reads, requireInVault } from "../../vaults/index.ts";
import { holdShape, showHold } from "../shapes.ts";

export const getHold = endpoint(
  {
    id: "snapshots.get_hold",
    method: "GET",
    path: "/v1/snapshots/{id}/hold",
    tag: "retention",
    summary: "Read a hold",
    description: "404 where the snapshot is not held.",
    access: reads,
    withinVaults: true,
    params: snapshotId,
    replies: { 200: { description: "The hold.", body: holdShape } },
  },
  async (ctx, { principal, params }) => {
    const record = await ctx.read(rowAccessOf(principal), (tx) =>
      requireInVault(principal, findSnapshot(tx, principal.accountId, params.id)),
    );
    if (!record.legal_hold) throw new Problem("not_found");
    return { status: 200, body: showHold(record) };
  },
);
