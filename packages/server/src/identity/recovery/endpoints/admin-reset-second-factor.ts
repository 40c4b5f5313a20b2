/** `POST /v1/admin/members/{id}/reset-second-factor`: for a member who lost phone and recovery codes. */

import { findAccountOfPerson, idParam, reasonSchema, staffOperation } from "../../../accounts/index.ts";
import { endpoint } from "../../../kernel/http/endpoint.ts";
import { closed, timestamp, uuid } from "../../../kernel/http/schema.ts";
import { Problem } from "../../../kernel/problems.ts";
import { beginSecondFactorReset } from "../second-factor-reset.ts";

export const adminResetSecondFactor = endpoint(
  {
    ...staffOperation,
    id: "admin.reset_second_factor",
    method: "POST",
    path: "/v1/admin/members/{id}/reset-second-factor",
    summary: "Reset a member's second factor",
    description:
      "Mails every owner of the account. Takes effect after 24 hours, or as soon as an owner confirms it. The password does not change.",
    stepUp: true,
    params: idParam,
    body: closed({ reason: reasonSchema }),
    replies: {
      202: {
        description: "Waiting.",
        body: closed(
          { id: uuid("Id of the reset."), effective_at: timestamp("When it takes effect.") },
          { title: "SecondFactorReset" },
        ),
      },
    },
    errors: ["state_conflict"],
  },
  async (ctx, { principal, params, body }) => {
    const accountId = await ctx.tx({ kind: "system" }, (tx) => findAccountOfPerson(tx, params.id));
    if (!accountId) throw new Problem("not_found");
    const request = { accountId, personId: params.id, staffId: principal.staffId, reason: body.reason };
    const { id, effectiveAt } = await ctx.tx({ kind: "account", accountId }, (tx) =>
      beginSecondFactorReset(tx, ctx, request),
    );
    return { status: 202, body: { id, effective_at: effectiveAt.toISOString() } };
  },
);
