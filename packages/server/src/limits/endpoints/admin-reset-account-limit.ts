/** `POST /v1/admin/accounts/{id}/limits/reset`: staff put a limit of one account back. */

import { idParam, reasonSchema, staffOperation } from "../../accounts/index.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed } from "../../kernel/http/schema.ts";
import { rateFields } from "../shapes.ts";
import { changeRate } from "../staff-changes.ts";
import { deleteAccountLimit } from "../store.ts";

export const adminResetAccountLimit = endpoint(
  {
    ...staffOperation,
    id: "admin.reset_account_limit",
    method: "POST",
    path: "/v1/admin/accounts/{id}/limits/reset",
    summary: "Reset a limit of one account",
    description: "The account uses the limit of its package or the default limit again.",
    params: idParam,
    body: closed({ policy: rateFields.policy, reason: reasonSchema }, { title: "AccountLimitReset" }),
    replies: { 204: { description: "The account has no custom rate for this limit.", empty: true } },
  },
  async (ctx, { params, body }) => {
    const { policy, reason } = body;
    await changeRate(ctx, params.id, "account.limit_reset", { policy, reason }, (tx) =>
      deleteAccountLimit(tx, params.id, policy),
    );
    return { status: 204 };
  },
);
