/** `POST /v1/admin/accounts/{id}/limits`: staff set a limit for one account. */

import { idParam, reasonSchema, staffOperation } from "../../accounts/index.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed } from "../../kernel/http/schema.ts";
import { rateOf } from "../rules.ts";
import { rateFields } from "../shapes.ts";
import { changeRate } from "../staff-changes.ts";
import { setAccountLimit } from "../store.ts";

export const adminSetAccountLimit = endpoint(
  {
    ...staffOperation,
    id: "admin.set_account_limit",
    method: "POST",
    path: "/v1/admin/accounts/{id}/limits",
    summary: "Set a limit for one account",
    description: "Any limit that is counted per account. It applies from the account's next request on.",
    params: idParam,
    body: closed({ ...rateFields, reason: reasonSchema }, { title: "AccountLimit" }),
    replies: {
      200: { description: "The new limit.", body: closed({ ...rateFields }, { title: "AccountLimitSet" }) },
    },
  },
  async (ctx, { params, body, language }) => {
    const rate = rateOf(body.policy, body, language);
    const metadata = {
      policy: body.policy,
      limit: rate.limit,
      window_s: rate.windowMs / 1000,
      burst: rate.burst,
      reason: body.reason,
    };
    await changeRate(ctx, params.id, "account.limit_set", metadata, (tx) =>
      setAccountLimit(tx, params.id, body.policy, rate),
    );
    const set = { policy: body.policy, limit: rate.limit, window_s: rate.windowMs / 1000, burst: rate.burst };
    return { status: 200, body: set };
  },
);
