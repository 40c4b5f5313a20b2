/** `POST /v1/rate-limits/requests`: a corporate account asks for another rate; staff decide. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, text } from "../../kernel/http/schema.ts";
import { actorOf, rowAccessOf } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import { mailMessage, sendMessage } from "../../messages/index.ts";
import { rateOf } from "../rules.ts";
import { limitRequestSchema, limitRequestShape, rateFields } from "../shapes.ts";
import { insertLimitRequest } from "../store.ts";

/** The package that may ask, as the price list says. */
const askingPackage = "corporate";

export const requestRateLimit = endpoint(
  {
    id: "rate_limits.request",
    method: "POST",
    path: "/v1/rate-limits/requests",
    tag: "rate-limits",
    summary: "Request another limit",
    description:
      "For corporate accounts. Staff decide, and the decision comes by mail. An account can have one open request per limit.",
    access: { kind: "account", scope: "account:write" },
    body: closed(
      { ...rateFields, reason: text(2000, { minLength: 3, description: "Why you need it." }) },
      { title: "NewRateLimitRequest" },
    ),
    replies: { 201: { description: "The request.", body: limitRequestSchema } },
    errors: ["package_required", "state_conflict"],
  },
  async (ctx, { principal, body, language }) => {
    const { accountId, account } = principal;
    if (account.package !== askingPackage) {
      throw new Problem("package_required", { members: { required: askingPackage, current: account.package } });
    }
    const id = ctx.random.uuid();
    const actor = actorOf(principal);
    const row = await ctx.tx(rowAccessOf(principal), async (tx) => {
      const { policy, reason } = body;
      const requestedBy = "id" in actor ? actor.id : accountId;
      const made = await insertLimitRequest(tx, {
        id,
        accountId,
        policy,
        rate: rateOf(policy, body, language),
        reason,
        requestedBy,
      });
      if (made === undefined) throw new Problem("state_conflict");
      const metadata = { policy, limit: made.rate_limit, window_s: made.window_s, burst: made.burst };
      tx.audit({ action: "rate_limit.requested", targets: [{ type: "limit_request", id }], metadata });
      const values = { request_id: id, account_id: accountId, policy };
      const to = ctx.settings.staffEmail;
      const mail = mailMessage({
        id: ctx.random.uuid(),
        to,
        language: "tr",
        template: "limit_requested_staff",
        values,
      });
      await tx.job({ task: sendMessage, payload: mail });
      return made;
    });
    return { status: 201, body: limitRequestShape(row) };
  },
);
