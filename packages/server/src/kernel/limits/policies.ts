/**
 * What a limit is. A *policy* is a named limit: how many requests, in which time, counted per *subject*. Each domain
 * declares its policies in its `policies.ts`; the two here hold for every request. Policies belong to *sets*. The set
 * `in_force` and the set `anonymous` always refuse. The others are planned: they do what `EMANET_PLANNED_LIMITS` says, and
 * they only observe accounts with early access.
 *
 * There are two kinds. A *window* is exact: at most `limit` requests in any span of `windowMs`. A *bucket* allows bursts:
 * it holds `burst` requests and gains `limit` requests in every `windowMs`.
 */

import type { DeclaredNames } from "../declared-names.ts";

export interface Rate {
  readonly limit: number;
  readonly windowMs: number;
  /** What a bucket holds; a window has none beyond its limit. */
  readonly burst: number;
}

export type PolicySet = "in_force" | "anonymous" | "package" | "endpoint";

/** What a policy counts by; `content` is something in the body together with the client's address. */
export type PolicySubject = "account" | "address" | "content" | "staff" | "share";

export interface Policy {
  readonly kind: "window" | "bucket";
  readonly set: PolicySet;
  readonly subject: PolicySubject;
  readonly rate: Rate;
  /** While the shared store does not answer: `refuse` with 503, or count in each `process`. */
  readonly storeDown: "refuse" | "process";
}

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

/** Exact in any span of its window. */
export function windowPolicy(
  set: PolicySet,
  subject: PolicySubject,
  limit: number,
  windowMs: number,
  storeDown: Policy["storeDown"],
): Policy {
  return { kind: "window", set, subject, rate: { limit, windowMs, burst: limit }, storeDown };
}

function bucketPolicy(set: PolicySet, subject: PolicySubject, rate: Rate): Policy {
  return { kind: "bucket", set, subject, rate, storeDown: "process" };
}

/** Every request counts in one of these, whatever it asks for. */
export const kernelPolicies = {
  // Its rate is that of the account's package. The rate here, the widest, holds for staff, who have no package.
  package: bucketPolicy("package", "account", { limit: 1500, windowMs: minuteMs, burst: 3000 }),
  anonymous: bucketPolicy("anonymous", "address", { limit: 300, windowMs: minuteMs, burst: 600 }),
} as const satisfies Record<string, Policy>;

/** Every policy that the kernel or a domain declares. */
export type PolicyName = DeclaredNames["policy"];

/** All policies, by name. */
export type Policies = Readonly<Record<PolicyName, Policy>>;

const setOrder: readonly PolicySet[] = ["in_force", "endpoint", "package", "anonymous"];

/** Sorts policies by set: those in force first, the general ones last. */
export function sortedBySet<Name extends string>(
  policies: Readonly<Record<Name, Policy>>,
): Readonly<Record<Name, Policy>> {
  const entries = Object.entries<Policy>(policies);
  const sorted = entries.sort(([, a], [, b]) => setOrder.indexOf(a.set) - setOrder.indexOf(b.set));
  return Object.fromEntries(sorted) as Record<Name, Policy>;
}

/** The policies that count by account. Staff may set their rates for one account. */
export function accountPoliciesOf(policies: Policies): readonly PolicyName[] {
  const names = Object.keys(policies) as PolicyName[];
  return names.filter((name) => policies[name].subject === "account");
}

export type LimitMode = "off" | "shadow" | "enforce";

/** The widest rate that staff or an operator may set. A wider one limits nothing, and a window would need more memory. */
export const maxRate = { limit: 100_000, windowMs: dayMs, burst: 200_000 } as const;
