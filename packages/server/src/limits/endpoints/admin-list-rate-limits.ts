/** `GET /v1/admin/rate-limits`: the accounts nearest to their limits, for staff. */

import { staffOperation } from "../../accounts/index.ts";
import { policyNames } from "../../declarations.ts";
import { type Ctx, endpoint } from "../../kernel/http/endpoint.ts";
import { closed, oneOf, type Static, Type, timestamp, uuid } from "../../kernel/http/schema.ts";
import { findLimitedAccounts } from "../store.ts";

/** Looked at; those nearest to their limits are shown. */
const candidates = 1_000;

/** One page on a screen. */
const maxShown = 100;

const nearLimit = closed(
  {
    account_id: uuid("The account."),
    policy: oneOf(policyNames, "The limit."),
    mode: oneOf(["enforce", "shadow", "off"], "Whether the limit refuses requests."),
    limit: Type.Integer({
      format: "int32",
      minimum: 1,
      maximum: 1_000_000_000,
      description: "Number of allowed requests.",
    }),
    remaining: Type.Integer({
      format: "int32",
      minimum: 0,
      maximum: 1_000_000_000,
      description: "Number of requests left.",
    }),
    used_percent: Type.Integer({ format: "int32", minimum: 0, maximum: 100, description: "Used part in percent." }),
    reset_at: timestamp("When the whole limit is available again."),
  },
  { title: "AdminRateLimit" },
);

export const adminListRateLimits = endpoint(
  {
    ...staffOperation,
    id: "admin.list_rate_limits",
    method: "GET",
    path: "/v1/admin/rate-limits",
    summary: "List the accounts nearest to their limits",
    description: "Accounts with recent requests, the most used first.",
    replies: {
      200: {
        description: "The accounts.",
        body: closed({ data: Type.Array(nearLimit, { maxItems: maxShown }) }, { title: "AdminRateLimits" }),
      },
    },
  },
  async (ctx) => ({ status: 200, body: { data: await nearest(ctx) } }),
);

async function nearest(ctx: Ctx): Promise<Static<typeof nearLimit>[]> {
  const busy = await ctx.limiter.busiest(candidates);
  const accounts = await ctx.read({ kind: "staff" }, (tx) =>
    findLimitedAccounts(tx, [...new Set(busy.map(({ key }) => key))]),
  );
  const known = busy.filter(({ key }) => accounts.has(key));
  if (known.length === 0) return [];
  const counters = known.map(({ policy, key }) => ctx.limiter.counterFor(policy, key, accounts.get(key) ?? null));
  const { statuses } = await ctx.limiter.peek(counters);
  const rows = statuses.map((status, index) => ({
    account_id: known[index]?.key ?? "",
    policy: status.policy,
    mode: status.mode,
    limit: status.limit,
    remaining: status.remaining,
    used_percent: Math.floor((100 * (status.limit - status.remaining)) / status.limit),
    reset_at: new Date(status.resetAt * 1000).toISOString(),
  }));
  return rows.toSorted((a, b) => b.used_percent - a.used_percent).slice(0, maxShown);
}
