/**
 * The first stages of every request, before its body is touched: its id, its language, who sends it and from where,
 * and whether the limits let it in. An *exchange* is what is known after them; it exists for every answer that the
 * application writes, also for addresses that do not exist.
 */

import type { IncomingHttpHeaders } from "node:http";
import type { PolicyName, Verdict } from "../limits.ts";
import type { Principal } from "../principal.ts";
import { type Language, Problem } from "../problems.ts";
import { isAdminPath } from "./access.ts";
import { addressKey } from "./client-address.ts";
import type { Endpoint } from "./endpoint.ts";
import type { HttpKernel } from "./kernel.ts";
import { speaksOauth } from "./oauth-error.ts";

export interface Exchange {
  readonly requestId: string;
  readonly language: Language;
  readonly address: string;
  readonly addressKey: string;
  readonly startedAtMs: number;
  /** The endpoint that the address belongs to; null where there is none. */
  readonly endpoint: Endpoint | null;
  readonly principal: Principal;
  /** Those of limits that are counted by the body come later. */
  readonly verdicts: Verdict[];
  /** The form of errors. */
  readonly errorForm: "problem" | "oauth";
  /** Why the request must not go on; thrown by the stage that answers. */
  readonly refusal: Problem | null;
}

/** The head of a request, whichever HTTP version it came by. */
export interface RequestHead {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly url: string;
  readonly peer: string | undefined;
}

/** Path and query together. File paths have 4096 bytes, three characters each when percent-encoded, and some query. */
export const maxUrlLength = 16_384;

/** RFC 6750 tokens; ours are below 2 KiB. */
const bearerPattern = /^Bearer ([A-Za-z0-9\-._~+/]{1,8192}=*)$/i;

const requestIdPattern = /^[A-Za-z0-9_-]{1,64}$/;

export async function openExchange(
  kernel: HttpKernel,
  head: RequestHead,
  endpoint: Endpoint | null,
): Promise<Exchange> {
  await kernel.opened;
  await kernel.clock.sync?.();
  const startedAtMs = kernel.clock.now().getTime();
  const address = kernel.addresses.of(head.peer, single(head.headers["x-forwarded-for"]));
  const given = single(head.headers["x-request-id"]);
  const errorForm = endpoint?.spec.wire === "oauth" || speaksOauth(head.url) ? "oauth" : "problem";
  // Under OAuth the header carries a client's credentials, which the protocol itself checks.
  const authentication = await authenticate(kernel, errorForm === "oauth" ? undefined : head.headers.authorization);
  const key = addressKey(address);
  const { principal } = authentication;
  const verdicts = [...kernel.limiter.spend(wantedPolicies(endpoint, principal, key, head))];
  return {
    requestId: given !== undefined && requestIdPattern.test(given) ? given : kernel.random.uuid(),
    language: preferredLanguage(head.headers["accept-language"]),
    address,
    addressKey: key,
    startedAtMs,
    endpoint,
    principal,
    verdicts,
    errorForm,
    refusal:
      refusedByLimits(verdicts) ?? authentication.refusal ?? refusedByGuard(head, principal) ?? refusedByHead(head),
  };
}

/** Spends limits whose key is in the body, and refuses like those before it. What is kept of the key is a hash. */
export function spendByContent(
  kernel: HttpKernel,
  exchange: Exchange,
  policies: readonly PolicyName[],
  part: string,
): void {
  const key = kernel.secrets.digest("attempts", JSON.stringify([exchange.addressKey, part])).toString("base64url");
  const verdicts = kernel.limiter.spend(policies.map((policy) => ({ policy, key })));
  exchange.verdicts.push(...verdicts);
  const refusal = refusedByLimits(verdicts);
  if (refusal !== null) throw refusal;
}

/** The rate headers of an answer: those of the policy that has least left. */
export function rateHeaders(verdicts: readonly Verdict[]): Record<string, string> {
  const [tightest] = verdicts.toSorted((a, b) => a.remaining - b.remaining || b.resetAt - a.resetAt);
  if (tightest === undefined) return {};
  return {
    "X-RateLimit-Limit": String(tightest.limit),
    "X-RateLimit-Remaining": String(tightest.remaining),
    "X-RateLimit-Reset": String(tightest.resetAt),
  };
}

async function authenticate(
  kernel: HttpKernel,
  header: string | undefined,
): Promise<{ principal: Principal; refusal: Problem | null }> {
  const anonymous: Principal = { kind: "anonymous" };
  if (header === undefined) return { principal: anonymous, refusal: null };
  const token = bearerPattern.exec(header)?.[1];
  if (token === undefined) return { principal: anonymous, refusal: new Problem("invalid_token") };
  try {
    const result = await kernel.authenticator.authenticate(token);
    if (result.kind !== "refused") return { principal: result, refusal: null };
    const extras = result.code === "unavailable" ? retrySoon : {};
    return { principal: anonymous, refusal: new Problem(result.code, extras) };
  } catch (error) {
    // Whether the token is good could not be found out: that is no answer about the token.
    const problem = error instanceof Problem ? error : new Problem("internal_error", { cause: error });
    return { principal: anonymous, refusal: problem };
  }
}

/** Tokens are looked up in the database; seconds after which it is likely to answer again. */
const retrySoon = { headers: { "Retry-After": "5" } };

/** An endpoint's own policies count by address; the general one by account, or by address while nobody is known. */
function wantedPolicies(endpoint: Endpoint | null, principal: Principal, address: string, head: RequestHead) {
  const own = (endpoint?.spec.limits ?? []).map((policy) => ({ policy, key: address }));
  const reads = head.method === "GET" || head.method === "HEAD";
  const isAdmin = principal.kind === "staff" && reads && isAdminPath(head.url);
  const admin = isAdmin ? [{ policy: "admin" as const, key: principal.staffId }] : [];
  return [...own, ...admin, generalPolicy(principal, address)];
}

/** The admin guard: it stands before the router, so that what does not exist there is shown to staff alone. */
function refusedByGuard(head: RequestHead, principal: Principal): Problem | null {
  if (principal.kind === "staff" || !isAdminPath(head.url)) return null;
  return new Problem(principal.kind === "anonymous" ? "missing_token" : "admin_required");
}

function generalPolicy(principal: Principal, address: string): { policy: PolicyName; key: string } {
  switch (principal.kind) {
    case "anonymous":
      return { policy: "anonymous", key: address };
    case "staff":
      return { policy: "package", key: principal.staffId };
    default:
      return { policy: "package", key: principal.accountId };
  }
}

function refusedByLimits(verdicts: readonly Verdict[]): Problem | null {
  const refusing = verdicts.filter((verdict) => verdict.retryAfterSeconds > 0);
  const [slowest] = refusing.toSorted((a, b) => b.retryAfterSeconds - a.retryAfterSeconds);
  if (slowest === undefined) return null;
  return new Problem("rate_limited", {
    headers: { "Retry-After": String(slowest.retryAfterSeconds) },
    members: {
      policy: slowest.policy,
      limit: slowest.limit,
      window: slowest.windowSeconds,
      retry_after: slowest.retryAfterSeconds,
    },
  });
}

function refusedByHead(head: RequestHead): Problem | null {
  return head.url.length > maxUrlLength ? new Problem("uri_too_long") : null;
}

/** The language with the greater weight in `Accept-Language`; English where the client does not say. */
export function preferredLanguage(header: string | undefined): Language {
  let best: { language: Language; weight: number } = { language: "en", weight: 0 };
  for (const part of (header ?? "").slice(0, maxAcceptLanguageLength).split(",")) {
    const match = /^\s*(tr|en|\*)(?:-[A-Za-z0-9-]+)?\s*(?:;\s*q\s*=\s*([01](?:\.\d{0,3})?))?\s*$/i.exec(part);
    const language = match?.[1]?.toLowerCase();
    const weight = Number(match?.[2] ?? 1);
    if ((language === "tr" || language === "en") && weight > best.weight) best = { language, weight };
  }
  return best.language;
}

/** Browsers send a few dozen characters; the rest is not worth parsing. */
const maxAcceptLanguageLength = 256;

/** Node joins most repeated headers by commas; the few that it hands over as lists count as their joined form. */
export function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(", ") : value;
}
