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
import type { BanRow } from "./ban-store.ts";
import type { LimitRequestRow } from "./store.ts";

const count = (description: string, maximum: number) =>
  Type.Integer({ format: "int32", minimum: 1, maximum, description });

/** A rate for one policy, as staff and customers write it. */
export const rateFields = {
  policy: oneOf(accountPolicyNames, "Name of the limit."),
  limit: count("Requests in the window.", maxRate.limit),
  window_s: count("Length of the window, in seconds.", maxRate.windowMs / 1000),
  burst: Type.Optional(
    count("Size of the bucket (only for policy `package`); default: twice the limit.", maxRate.burst),
  ),
};

export const limitSchema = closed(
  {
    policy: oneOf(policyNames, "Name of the limit."),
    kind: oneOf(["window", "bucket"], "An exact window, or a bucket that refills."),
    mode: oneOf(["enforce", "shadow", "off"], "Whether the limit refuses, only counts, or is off."),
    limit: count("Requests in the window, or the size of the bucket.", 1_000_000_000),
    window_s: count(
      "Length of the window, or the time until an empty bucket is full again, in seconds.",
      1_000_000_000,
    ),
    remaining: Type.Integer({
      format: "int32",
      minimum: 0,
      maximum: 1_000_000_000,
      description: "Number of requests left.",
    }),
    reset_at: timestamp("When the whole limit is available again."),
    custom: Type.Boolean({ description: "Whether staff set it for this account." }),
  },
  { title: "RateLimit" },
);

export const limitRequestSchema = closed(
  {
    id: uuid("Id of the request."),
    policy: oneOf(accountPolicyNames, "Name of the limit."),
    limit: count("Requests in the window.", maxRate.limit),
    window_s: count("Length of the window, in seconds.", maxRate.windowMs / 1000),
    burst: count("Size of the bucket.", maxRate.burst),
    reason: text(2000, { description: "Why it is needed.", examples: ["Month-end backups of 400 companies."] }),
    state: oneOf(["pending", "approved", "rejected"], "State of the application."),
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
    subject: identifier(
      "^[0-9A-Za-z.:/-]+$",
      "Id of the client or session, or the address (for IPv6 the /64 network).",
      "0199c0de-0000-7000-8000-000000000002",
    ),
    account_id: nullable(uuid("The account of the credential.")),
    cause: oneOf(["pattern", "staff"], "Set automatically for a suspicious pattern, or by staff."),
    reason: nullable(text(500, { description: "The reason, if staff set the ban." })),
    created_at: timestamp("When the ban started."),
    expires_at: nullable(timestamp("When the ban ends; null: when it is lifted.")),
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
