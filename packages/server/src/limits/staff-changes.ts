/** What staff change about the limits of an account: decisions on requests, and rates for one account. */

import { idParam, lockAccount, lockOwners, reasonSchema, staffOperation } from "../accounts/index.ts";
import { type Ctx, endpoint } from "../kernel/http/endpoint.ts";
import { closed } from "../kernel/http/schema.ts";
import type { PolicyName } from "../kernel/limits/policies.ts";
import { Problem } from "../kernel/problems.ts";
import { mailMessage, sendMessage } from "../messages/index.ts";
import { limitRequestSchema, limitRequestShape } from "./shapes.ts";
import { decideLimitRequest, findLimitRequestAccount } from "./store.ts";

/** The operation that approves or rejects a request for another limit. */
export function decideOperation(state: "approved" | "rejected") {
  const verb = state === "approved" ? "approve" : "reject";
  return endpoint(
    {
      ...staffOperation,
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
      const accountId = await ctx.tx({ kind: "staff" }, (tx) => findLimitRequestAccount(tx, params.id));
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

/** Changes a rate of one account, and audits it. */
export async function changeRate(
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
