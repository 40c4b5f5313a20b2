/**
 * The limits of one request. Most are counted before the body is read. Where the subject of a limit is in the body, all
 * limits of the request are only checked at first, and counted together when the handler knows the subject.
 */

import { refusalOf } from "../limits/headers.ts";
import type { LaterSubject, LimitedAccount, Limiter, LimitOutcome, LimitStatus } from "../limits/limiter.ts";
import type { PolicyName } from "../limits/policies.ts";
import type { LimitCounter } from "../limits/store.ts";
import type { Principal } from "../principal.ts";
import type { Problem } from "../problems.ts";
import type { Endpoint } from "./endpoint.ts";
import type { HttpKernel } from "./kernel.ts";
import { isStaffOnlyPath } from "./path-rules.ts";
import type { RequestContext, RequestHead } from "./request-context.ts";

export interface CheckedLimits {
  readonly statuses: readonly LimitStatus[];
  readonly uncounted: readonly LimitCounter[];
  readonly refusal: Problem | null;
}

/** The counters of a request: those of its endpoint, that of what staff read, and the general one. */
export function countersOf(
  { limiter, declared: { policies, paths } }: HttpKernel,
  endpoint: Endpoint | null,
  principal: Principal,
  address: string,
  head: RequestHead,
): readonly LimitCounter[] {
  const account = "accountId" in principal ? principal.account : null;
  const own = (endpoint?.spec.limits ?? none).flatMap((policy) => {
    const key =
      policies[policy].subject === "address" ? address : "accountId" in principal ? principal.accountId : null;
    return key === null ? [] : [limiter.counterFor(policy, key, account)];
  });
  const reads = head.method === "GET" || head.method === "HEAD";
  const isStaffReading = principal.kind === "staff" && reads && isStaffOnlyPath(paths, head.url);
  const staff = isStaffReading ? [limiter.counterFor(paths.staffOnly.readPolicy, principal.staffId, null)] : [];
  const general = generalCounter(limiter, principal, address, account);
  return own.length === 0 && staff.length === 0 ? [general] : [...own, ...staff, general];
}

function generalCounter(
  limiter: Limiter,
  principal: Principal,
  address: string,
  account: LimitedAccount,
): LimitCounter {
  switch (principal.kind) {
    case "anonymous":
      return limiter.counterFor("anonymous", address, null);
    case "staff":
      return limiter.counterFor("package", principal.staffId, null);
    default:
      return limiter.counterFor("package", principal.accountId, account);
  }
}

const none = [] as const;

/** Counts a request, or only checks it. A banned request, and a known client that asks for its limits, count nothing. */
export function checkLimits(
  limiter: Limiter,
  endpoint: Endpoint | null,
  counters: readonly LimitCounter[],
  isBanned: boolean,
): CheckedLimits | Promise<CheckedLimits> {
  const isFree = endpoint?.spec.free === true && counters.every(({ policy }) => policy !== "anonymous");
  if (isBanned || isFree) return readLimits(limiter, counters);
  if (endpoint?.spec.content === true) return checkContentLimits(limiter, counters);
  const later = endpoint?.spec.contentLimits;
  const checked = (outcome: LimitOutcome) => {
    const refusal = refusalOf(outcome);
    const isLater = later !== undefined && refusal === null;
    return { statuses: outcome.statuses, uncounted: isLater ? counters : none, refusal };
  };
  const outcome = later === undefined ? limiter.spend(counters) : limiter.check(counters, later);
  return outcome instanceof Promise ? outcome.then(checked) : checked(outcome);
}

async function readLimits(limiter: Limiter, counters: readonly LimitCounter[]): Promise<CheckedLimits> {
  const { statuses } = await limiter.peek(counters);
  return { statuses, uncounted: [], refusal: null };
}

/** Content spends bytes in flight (`transfers.ts`) and no tokens of the package. Its own limits count as everywhere. */
async function checkContentLimits(limiter: Limiter, counters: readonly LimitCounter[]): Promise<CheckedLimits> {
  const [unspent, spent] = [true, false].map((isPackage) =>
    counters.filter(({ policy }) => (policy === "package") === isPackage),
  );
  const outcome = await limiter.spend(spent ?? none);
  const { statuses } = await limiter.peek(unspent ?? none);
  return { statuses: [...outcome.statuses, ...statuses], uncounted: [], refusal: refusalOf(outcome) };
}

/** Counts the request in these policies and in those that are uncounted. Throws the refusal. */
export async function spendLater(
  kernel: HttpKernel,
  context: RequestContext,
  policies: readonly PolicyName[],
  subject: LaterSubject,
): Promise<void> {
  const { limiter } = kernel;
  const { endpoint, uncounted } = context;
  const undeclared = policies.filter((policy) => !endpoint?.spec.contentLimits?.includes(policy));
  if (undeclared.length > 0) throw new Error(`${endpoint?.spec.id} spends ${undeclared}, not in contentLimits`);
  const key = laterKey(kernel, context, subject);
  const account = typeof subject === "object" && "accountId" in subject ? subject.account : null;
  const counters = policies.map((policy) => limiter.counterFor(policy, key, account));
  const refusal = await spendAll(limiter, context, counters);
  if (refusal === null) return;
  // A failed attempt has cost the service its work. The general limit counts it, else guessing would be free.
  if (typeof subject === "object" && "address" in subject) await limiter.spend(uncounted);
  throw refusal;
}

/** Counts what is still uncounted at the end of a request; the refusal, if there is one. */
export async function spendUncounted(kernel: HttpKernel, context: RequestContext): Promise<Problem | null> {
  return context.uncounted.length === 0 ? null : spendAll(kernel.limiter, context, []);
}

async function spendAll(
  limiter: Limiter,
  context: RequestContext,
  more: readonly LimitCounter[],
): Promise<Problem | null> {
  const counters = [...context.uncounted, ...more];
  context.uncounted = [];
  const outcome = await limiter.spend(counters);
  const others = context.limitStatuses.filter(({ policy }) => counters.every((counter) => counter.policy !== policy));
  context.limitStatuses = [...others, ...outcome.statuses];
  return refusalOf(outcome);
}

/** Text from a body is personal data: the key is a hash of it and of the client's address. */
function laterKey(kernel: HttpKernel, { addressKey: address }: RequestContext, subject: LaterSubject): string {
  if (typeof subject === "object" && "accountId" in subject) return subject.accountId;
  if (typeof subject === "object" && "shareId" in subject) return subject.shareId;
  const parts = typeof subject === "object" ? [address] : [address, subject];
  return kernel.secrets.digest("attempts", JSON.stringify(parts)).toString("base64url");
}
