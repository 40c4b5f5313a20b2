/**
 * The table of limits. A *policy* is a named limit: how many, in which time, counted by whom (its *subject*). Policies
 * come in *sets*; those that are in force always refuse, the planned ones do what their switch says
 * (`EMANET_PLANNED_LIMITS`) and only watch accounts with early access.
 *
 * Two kinds: a *window* is exact, at most `limit` requests in any stretch of `windowMs`; a *bucket* lets bursts
 * through, holds `burst` requests and gains `limit` in every `windowMs`.
 */

export interface Rate {
  readonly limit: number;
  readonly windowMs: number;
  /** What a bucket holds; a window has none beyond its limit. */
  readonly burst: number;
}

export type PolicySet = "in_force" | "anonymous" | "package" | "endpoint";

/** What a policy counts by; `content` is something in the body together with the client's address. */
export type PolicySubject = "account" | "address" | "content" | "staff";

export interface Policy {
  readonly kind: "window" | "bucket";
  readonly set: PolicySet;
  readonly subject: PolicySubject;
  readonly rate: Rate;
  /** While the shared store is away: `refuse` with 503, or count in the `process` alone. */
  readonly storeDown: "refuse" | "process";
}

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

export const policies = {
  login: window("in_force", "content", 5, minute, "refuse"),
  // Beside it, so that one address cannot try many e-mails.
  login_ip: window("in_force", "address", 60, minute, "refuse"),
  sms_minute: window("in_force", "content", 1, minute, "refuse"),
  sms_hour: window("in_force", "content", 5, hour, "refuse"),
  applications: window("in_force", "address", 5, hour, "refuse"),
  snapshots_list: window("in_force", "account", 60, minute, "process"),
  snapshots_create: window("in_force", "account", 10, minute, "process"),
  admin: window("in_force", "staff", 60, minute, "process"),
  snapshots_create_hour: window("endpoint", "account", 30, hour, "process"),
  restore_create: window("endpoint", "account", 10, hour, "process"),
  audit_export: window("endpoint", "account", 5, day, "process"),
  // By account once the client has shown who it is; what fails counts by address.
  token: window("endpoint", "account", 60, minute, "refuse"),
  // Its rate is the package's; this one, the widest, holds for staff, who have none.
  package: bucket("package", "account", { limit: 1500, windowMs: minute, burst: 3000 }),
  anonymous: bucket("anonymous", "address", { limit: 300, windowMs: minute, burst: 600 }),
} as const satisfies Record<string, Policy>;

export type PolicyName = keyof typeof policies;

export const policyNames = Object.keys(policies) as readonly PolicyName[];

/** The policies that staff may set for one account. */
export const accountPolicyNames: readonly PolicyName[] = policyNames.filter(
  (name) => policies[name].subject === "account",
);

export type LimitMode = "off" | "shadow" | "enforce";

/** Named by staff or by an operator; beyond these a limit is none, and a window's memory would be. */
export const maxRate = { limit: 100_000, windowMs: day, burst: 200_000 } as const;

function window(
  set: PolicySet,
  subject: PolicySubject,
  limit: number,
  windowMs: number,
  storeDown: Policy["storeDown"],
): Policy {
  return { kind: "window", set, subject, rate: { limit, windowMs, burst: limit }, storeDown };
}

function bucket(set: PolicySet, subject: PolicySubject, rate: Rate): Policy {
  return { kind: "bucket", set, subject, rate, storeDown: "process" };
}
