/** What is shown of limits, and how rates are written. */

import { accountPolicyNames, policyNames } from "../declarations.ts";
import {
  closed,
  identifier,
  nullable,
  oneOf,
  type Static,
  Type,
  text,
  timestamp,
  uuid,
} from "../kernel/http/schema.ts";
import { maxRate } from "../kernel/limits/policies.ts";
import type { BanRow } from "./bans.ts";
import type { LimitRequestRow } from "./store.ts";

const count = (description: string, maximum: number) =>
  Type.Integer({ format: "int32", minimum: 1, maximum, description });

/** A rate for one policy, as staff and customers write it. */
export const rateFields = {
  policy: oneOf(accountPolicyNames, "Which limit."),
  limit: count("Requests in the window.", maxRate.limit),
  window_s: count("Length of the window, in seconds.", maxRate.windowMs / 1000),
  burst: Type.Optional(
    count("What a bucket holds (policy `package` alone); twice the limit when left out.", maxRate.burst),
  ),
};

export const limitSchema = closed(
  {
    policy: oneOf(policyNames, "Name of the limit."),
    kind: oneOf(["window", "bucket"], "Exact in any window, or a bucket that fills again."),
    mode: oneOf(["enforce", "shadow", "off"], "Whether it refuses, only watches, or is off."),
    limit: count("Requests in the window, or what the bucket holds.", 1_000_000_000),
    window_s: count("Length of the window, or the time in which an empty bucket is full again.", 1_000_000_000),
    remaining: Type.Integer({ format: "int32", minimum: 0, maximum: 1_000_000_000, description: "What is left." }),
    reset_at: timestamp("When nothing is spent any more."),
    custom: Type.Boolean({ description: "Whether staff set it for this account." }),
  },
  { title: "RateLimit" },
);

export const limitRequestSchema = closed(
  {
    id: uuid("Id of the request."),
    policy: oneOf(accountPolicyNames, "Which limit."),
    limit: count("Requests in the window.", maxRate.limit),
    window_s: count("Length of the window, in seconds.", maxRate.windowMs / 1000),
    burst: count("What a bucket holds.", maxRate.burst),
    reason: text(2000, { description: "Why it is needed." }),
    state: oneOf(["pending", "approved", "rejected"], "Where it stands."),
    decided_at: nullable(timestamp("When it was decided.")),
    created_at: timestamp("When it was made."),
  },
  { title: "RateLimitRequest" },
);

export function limitRequestShape(row: LimitRequestRow): Static<typeof limitRequestSchema> {
  return {
    id: row.id,
    policy: accountPolicyNames.find((name) => name === row.policy) ?? "package",
    limit: row.rate_limit,
    window_s: row.window_s,
    burst: row.burst,
    reason: row.reason,
    state: row.state,
    decided_at: row.decided_at?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
  };
}

export const banSchema = closed(
  {
    id: uuid("Id of the ban."),
    kind: oneOf(["client", "session", "address"], "What is banned."),
    subject: identifier("^[0-9A-Za-z.:/-]+$", "Id of the client or session, or the address (of IPv6 its /64)."),
    account_id: nullable(uuid("Whose credential it is.")),
    cause: oneOf(["pattern", "staff"], "Set by machine for a suspicious pattern, or by staff."),
    reason: nullable(text(500, { description: "Why, when staff set it." })),
    created_at: timestamp("Since when."),
    expires_at: nullable(timestamp("Until when; null: until it is lifted.")),
    lifted_at: nullable(timestamp("When it was lifted.")),
    lift_reason: nullable(text(500, { description: "Why it was lifted." })),
  },
  { title: "Ban" },
);

export function banShape(row: BanRow): Static<typeof banSchema> {
  return {
    id: row.id,
    kind: row.kind,
    subject: row.subject,
    account_id: row.account_id,
    cause: row.cause,
    reason: row.reason,
    created_at: row.created_at.toISOString(),
    expires_at: row.expires_at?.toISOString() ?? null,
    lifted_at: row.lifted_at?.toISOString() ?? null,
    lift_reason: row.lift_reason,
  };
}
