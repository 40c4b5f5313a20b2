/** `GET /v1/rate-limits`: what is left, without spending any of it. */

import { accountPolicyNames, policies } from "../../declarations.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type } from "../../kernel/http/schema.ts";
import { limitSchema } from "../shapes.ts";

export const listRateLimits = endpoint(
  {
    id: "rate_limits.list",
    method: "GET",
    path: "/v1/rate-limits",
    tag: "rate-limits",
    summary: "Read the account's limits",
    description: "Every limit that is counted per account, with what is left of it. This request spends nothing.",
    access: { kind: "account", scope: "account:read" },
    free: true,
    replies: {
      200: {
        description: "The limits.",
        body: closed(
          { data: Type.Array(limitSchema, { maxItems: accountPolicyNames.length }) },
          { title: "RateLimits" },
        ),
      },
    },
  },
  async (ctx, { principal }) => {
    const { accountId, account } = principal;
    const counters = accountPolicyNames.map((name) => ctx.limiter.counterFor(name, accountId, account));
    const { statuses } = await ctx.limiter.peek(counters);
    const data = statuses.map((status) => ({
      policy: status.policy,
      kind: policies[status.policy].kind,
      mode: status.mode,
      limit: status.limit,
      window_s: status.windowSeconds,
      remaining: status.remaining,
      reset_at: new Date(status.resetAt * 1000).toISOString(),
      custom: account.limits.custom[status.policy] !== undefined,
    }));
    return { status: 200, body: { data } };
  },
);
