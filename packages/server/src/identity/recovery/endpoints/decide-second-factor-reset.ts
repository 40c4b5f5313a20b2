/** `POST /v1/members/{id}/second-factor-reset`: an owner's decision on a reset that staff were asked for. */

import { endpoint } from "../../../kernel/http/endpoint.ts";
import { closed, oneOf, uuid } from "../../../kernel/http/schema.ts";
import { rowAccessOf } from "../../../kernel/principal.ts";
import { Problem } from "../../../kernel/problems.ts";
import { completeSecondFactorReset } from "../second-factor-reset.ts";
import { findWaitingReset } from "../store.ts";

export const decideSecondFactorReset = endpoint(
  {
    id: "members.decide_second_factor_reset",
    method: "POST",
    path: "/v1/members/{id}/second-factor-reset",
    tag: "members",
    summary: "Confirm or cancel the reset of a second factor",
    description:
      "Staff have started a reset of this member's authenticator. It takes effect after 24 hours. With this operation an owner confirms it at once or cancels it.",
    access: { kind: "account", scope: "account:write", roles: ["owner"] },
    stepUp: true,
    whileSuspended: true,
    params: closed({ id: uuid("Id of the member.") }),
    body: closed({ decision: oneOf(["confirm", "cancel"], "What to do.") }, { title: "ResetDecision" }),
    replies: { 204: { description: "Done.", empty: true } },
  },
  async (ctx, { principal, params, body }) => {
    await ctx.tx(rowAccessOf(principal), async (tx) => {
      const id = await findWaitingReset(tx, principal.accountId, params.id);
      const decidedBy = principal.memberId;
      const outcome = body.decision === "confirm" ? "done" : "canceled";
      const decided = id !== undefined && (await completeSecondFactorReset(tx, ctx, { id, outcome, decidedBy }));
      if (!decided) throw new Problem("not_found");
    });
    return { status: 204 };
  },
);
