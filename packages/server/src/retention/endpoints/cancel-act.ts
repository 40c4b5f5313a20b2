/** `POST /v1/pending-acts/{id}/cancel`: an owner stops an act that waits. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import { withStoreProblems } from "../../snapshots/index.ts";
import { lockAct } from "../act-store.ts";
import { cancelAct as endAct } from "../acts.ts";
import { ownerOnly, requireAct } from "../operations.ts";
import { lockPolicies } from "../policy-store.ts";
import { actId, actShape, showAct } from "../shapes.ts";

export const cancelAct = endpoint(
  {
    id: "pending_acts.cancel",
    method: "POST",
    path: "/v1/pending-acts/{id}/cancel",
    tag: "retention",
    summary: "Cancel an act that waits",
    description:
      "Nothing of it happens. Any owner can do this, also if another member started it. As canceling removes nothing, it needs no fresh second factor.",
    access: ownerOnly,
    whileSuspended: true,
    params: actId,
    replies: { 200: { description: "The act, canceled.", body: actShape } },
    errors: ["not_found", "state_conflict"],
  },
  async (ctx, { principal, params }) => {
    const { accountId } = principal;
    const act = await ctx.tx(rowAccessOf(principal), async (tx) => {
      await lockPolicies(tx, (await requireAct(tx, principal, params.id)).vault_id);
      const waiting = await lockAct(tx, accountId, params.id);
      if (waiting?.state !== "waiting" || principal.memberId === null) throw new Problem("state_conflict");
      const { memberId } = principal;
      await withStoreProblems(async () => {
        const vault = await ctx.services.vaults.open(accountId, waiting.vault_id);
        await endAct(tx, vault, waiting, memberId);
      });
      return requireAct(tx, principal, params.id);
    });
    return { status: 200, body: showAct(act) };
  },
);
