/** Limits for staff: who is near one, what accounts ask for, and rates for one account. */

import { lockAccount, lockOwners } from "../../accounts/index.ts";
import { policyNames } from "../../declarations.ts";
import { newestFirst, pageOf, pageQuery } from "../../kernel/cursors.ts";
import { type Ctx, endpoint } from "../../kernel/http/endpoint.ts";
import { closed, oneOf, type Static, Type, timestamp, uuid } from "../../kernel/http/schema.ts";
import type { PolicyName } from "../../kernel/limits/policies.ts";
import { Problem } from "../../kernel/problems.ts";
import {
  decideLimitRequest,
  deleteAccountLimit,
  findLimitedAccounts,
  type LimitRequestRow,
  limitRequestSchema,
  limitRequestShape,
  listLimitRequests,
  rateFields,
  rateOf,
  setAccountLimit,
} from "../../limits/index.ts";
import { mailMessage, sendMessage } from "../../messages/index.ts";
import { idParam, reasonSchema } from "../shapes.ts";

const shared = { tag: "admin", access: { kind: "staff" } } as const;

/** Looked at; those nearest to their limits are shown. */
const candidates = 1_000;
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

export const listAdminRateLimits = endpoint(
  {
    ...shared,
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
  const accounts = await ctx.tx({ kind: "staff" }, (tx) =>
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

export const listAdminLimitRequests = endpoint(
  {
    ...shared,
    id: "admin.list_limit_requests",
    method: "GET",
    path: "/v1/admin/rate-limit-requests",
    summary: "List the requests for other limits",
    description: "Newest first.",
    query: closed({
      ...pageQuery,
      ...newestFirst.query,
      state: Type.Optional(oneOf(["pending", "approved", "rejected"], "Only items in this state.")),
    }),
    replies: {
      200: { description: "A page.", body: pageOf(adminRequestSchema(), "AdminLimitRequestPage") },
    },
  },
  async (ctx, { query }) => {
    const binding = { operation: "admin.list_limit_requests", filters: [query.state ?? null], sorting: newestFirst };
    const page = ctx.cursors.start(query, binding);
    const filter = query.state === undefined ? {} : { state: query.state };
    const rows = await ctx.tx({ kind: "staff" }, (tx) => listLimitRequests(tx, filter, page));
    const item = (row: LimitRequestRow) => ({ ...limitRequestShape(row), account_id: row.account_id });
    return { status: 200, body: ctx.cursors.page(rows, query, binding, item) };
  },
);

function adminRequestSchema() {
  return closed(
    { ...limitRequestSchema.properties, account_id: uuid("The account that requests the limit.") },
    { title: "AdminLimitRequest" },
  );
}

export const approveLimitRequest = decision("approved");
export const rejectLimitRequest = decision("rejected");

function decision(state: "approved" | "rejected") {
  const verb = state === "approved" ? "approve" : "reject";
  return endpoint(
    {
      ...shared,
      id: `admin.${verb}_limit_request`,
      method: "POST",
      path: `/v1/admin/rate-limit-requests/{id}/${verb}`,
      summary: state === "approved" ? "Approve a request for another limit" : "Reject a request for another limit",
      description: "The account's owners get a mail. An approved rate applies from the account's next request on.",
      params: idParam,
      body: closed({ reason: reasonSchema }),
      replies: { 200: { description: "The request.", body: limitRequestSchema } },
      errors: ["state_conflict"],
    },
    async (ctx, { principal, params, body }) => {
      const accountId = await ctx.tx({ kind: "staff" }, async (tx) => {
        const row = await tx.db
          .selectFrom("limit_requests")
          .select("account_id")
          .where("id", "=", params.id)
          .executeTakeFirst();
        return row?.account_id;
      });
      if (accountId === undefined) throw new Problem("not_found");
      const row = await ctx.tx({ kind: "account", accountId }, async (tx) => {
        const { staffId: by } = principal;
        const decided = await decideLimitRequest(tx, params.id, { state, by, reason: body.reason });
        if (decided === undefined) throw new Problem("state_conflict");
        const metadata = {
          policy: decided.policy,
          limit: decided.rate_limit,
          window_s: decided.window_s,
          burst: decided.burst,
          reason: body.reason,
        };
        tx.audit({
          action: `rate_limit.request_${state}`,
          targets: [{ type: "limit_request", id: params.id }],
          metadata,
        });
        for (const { email: to, language } of await lockOwners(tx, accountId)) {
          const values = { policy: decided.policy, decision: state };
          const mail = mailMessage({ id: ctx.random.uuid(), to, language, template: "limit_decided", values });
          await tx.job({ task: sendMessage, payload: mail });
        }
        return decided;
      });
      return { status: 200, body: limitRequestShape(row) };
    },
  );
}

export const setAccountRate = endpoint(
  {
    ...shared,
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
    await change(ctx, params.id, "account.limit_set", metadata, (tx) =>
      setAccountLimit(tx, params.id, body.policy, rate),
    );
    const set = { policy: body.policy, limit: rate.limit, window_s: rate.windowMs / 1000, burst: rate.burst };
    return { status: 200, body: set };
  },
);

export const resetAccountRate = endpoint(
  {
    ...shared,
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
    await change(ctx, params.id, "account.limit_reset", { policy, reason }, (tx) =>
      deleteAccountLimit(tx, params.id, policy),
    );
    return { status: 204 };
  },
);

async function change(
  ctx: Pick<Ctx, "tx">,
  accountId: string,
  action: string,
  metadata: Readonly<Record<string, string | number>> & { readonly policy: PolicyName },
  work: (tx: Parameters<Parameters<Ctx["tx"]>[1]>[0]) => Promise<void>,
): Promise<void> {
  await ctx.tx({ kind: "account", accountId }, async (tx) => {
    if ((await lockAccount(tx, accountId)) === undefined) throw new Problem("not_found");
    await work(tx);
    tx.audit({ action, targets: [{ type: "account", id: accountId }], metadata });
  });
}
