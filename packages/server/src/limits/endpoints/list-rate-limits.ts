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
    const wants = accountPolicyNames.map((name) => ctx.limiter.want(name, accountId, account));
    const { verdicts } = await ctx.limiter.peek(wants);
    const data = verdicts.map((verdict) => ({
      policy: verdict.policy,
      kind: policies[verdict.policy].kind,
      mode: verdict.mode,
      limit: verdict.limit,
      window_s: verdict.windowSeconds,
      remaining: verdict.remaining,
      reset_at: new Date(verdict.resetAt * 1000).toISOString(),
      custom: account.limits.custom[verdict.policy] !== undefined,
    }));
    return { status: 200, body: { data } };
  },
);
