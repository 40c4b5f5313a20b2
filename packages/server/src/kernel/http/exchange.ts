/**
 * The first stages of every request, before its body is touched: its id, its language, who sends it and from where,
 * and whether the limits let it in. An *exchange* is what is known after them; it exists for every answer that the
 * application writes, also for addresses that do not exist.
 */

import type { IncomingHttpHeaders } from "node:http";
import { refusalOf } from "../limits/headers.ts";
import type { LaterSubject, LimitedAccount, Limiter, Verdict } from "../limits/limiter.ts";
import type { PolicyName } from "../limits/policies.ts";
import type { Want } from "../limits/store.ts";
import type { AccountFacts, Principal } from "../principal.ts";
import { type Language, Problem } from "../problems.ts";
import { isAdminPath } from "./access.ts";
import { addressKey } from "./client-address.ts";
import { type Endpoint, openWhileBanned } from "./endpoint.ts";
import type { HttpKernel } from "./kernel.ts";
import { speaksOauth } from "./oauth-error.ts";

export interface Exchange {
  /** Ours: a UUID that no other request has. */
  readonly id: string;
  /** The client's own where it sent one of our form, else `id`. */
  readonly requestId: string;
  readonly language: Language;
  readonly address: string;
  readonly addressKey: string;
  readonly startedAtMs: number;
  /** The endpoint that the address belongs to; null where there is none. */
  readonly endpoint: Endpoint | null;
  readonly principal: Principal;
  /** What the limits have said so far. */
  verdicts: readonly Verdict[];
  /** Limits that were looked at and are spent later, together with those whose key is in the body. */
  pending: readonly Want[];
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
  const banned =
    authentication.refusal?.code === "banned"
      ? authentication.refusal
      : refusedByBan(kernel, endpoint, authentication, key);
  const limits = await enter(
    kernel.limiter,
    endpoint,
    wantsOf(kernel, endpoint, principal, key, head),
    banned !== null,
  );
  const id = kernel.random.uuid();
  return {
    id,
    requestId: given !== undefined && requestIdPattern.test(given) ? given : id,
    language: preferredLanguage(head.headers["accept-language"]),
    address,
    addressKey: key,
    startedAtMs,
    endpoint,
    principal,
    verdicts: limits.verdicts,
    pending: limits.pending,
    errorForm,
    refusal:
      banned ?? limits.refusal ?? authentication.refusal ?? refusedByGuard(head, principal) ?? refusedByHead(head),
  };
}

/** The contract's time after which a revocation counts on every process. A body may take longer to arrive. */
const principalGoodForMs = 1_000;

/**
 * Who is asking, looked up again where the body took so long that it may have changed: a request that was begun before
 * its sender lost a right must not be finished after it. Throws what a new request would meet.
 */
export async function currentPrincipal(
  kernel: HttpKernel,
  { principal, startedAtMs }: Exchange,
  { authorization }: IncomingHttpHeaders,
): Promise<Principal> {
  const ageMs = kernel.clock.now().getTime() - startedAtMs;
  if (principal.kind === "anonymous" || ageMs < principalGoodForMs) return principal;
  const again = await authenticate(kernel, authorization);
  if (again.refusal !== null) throw again.refusal;
  return again.principal;
}

/** Spends what is pending and these together, and refuses like the first stage. */
export async function spendLater(
  kernel: HttpKernel,
  exchange: Exchange,
  policies: readonly PolicyName[],
  subject: LaterSubject,
): Promise<void> {
  const { limiter } = kernel;
  const undeclared = policies.filter((policy) => !exchange.endpoint?.spec.contentLimits?.includes(policy));
  if (undeclared.length > 0)
    throw new Error(`${exchange.endpoint?.spec.id} spends ${undeclared}, not in contentLimits`);
  const key = laterKey(kernel, exchange, subject);
  const account = typeof subject === "object" && "accountId" in subject ? subject.account : null;
  const { pending } = exchange;
  const refusal = await spendPending(
    limiter,
    exchange,
    policies.map((policy) => limiter.want(policy, key, account)),
  );
  if (refusal === null) return;
  // Whoever failed has had the work done: the general limit counts it, or guessing would cost nothing.
  if (typeof subject === "object" && "address" in subject) await limiter.spend(pending);
  throw refusal;
}

/** Spends what no later stage has spent, because the request ended before; the refusal when that is refused. */
export async function settle(kernel: HttpKernel, exchange: Exchange): Promise<Problem | null> {
  return exchange.pending.length === 0 ? null : spendPending(kernel.limiter, exchange, []);
}

async function spendPending(limiter: Limiter, exchange: Exchange, more: readonly Want[]): Promise<Problem | null> {
  const wants = [...exchange.pending, ...more];
  exchange.pending = [];
  const outcome = await limiter.spend(wants);
  const kept = exchange.verdicts.filter(({ policy }) => wants.every((want) => want.policy !== policy));
  exchange.verdicts = [...kept, ...outcome.verdicts];
  return refusalOf(outcome);
}

/** Of what is in a body only a hash is kept, together with the address it came from. */
function laterKey(kernel: HttpKernel, { addressKey: address }: Exchange, subject: LaterSubject): string {
  if (typeof subject === "object" && "accountId" in subject) return subject.accountId;
  const parts = typeof subject === "object" ? [address] : [address, subject];
  return kernel.secrets.digest("attempts", JSON.stringify(parts)).toString("base64url");
}

interface Entered {
  readonly verdicts: readonly Verdict[];
  readonly pending: readonly Want[];
  readonly refusal: Problem | null;
}

/** The first look at the limits. Whoever is banned, or is known and asks what is left, spends nothing. */
async function enter(
  limiter: Limiter,
  endpoint: Endpoint | null,
  wants: readonly Want[],
  isBanned: boolean,
): Promise<Entered> {
  const isFree = endpoint?.spec.free === true && wants.every(({ policy }) => policy !== "anonymous");
  if (isBanned || isFree) {
    const { verdicts } = await limiter.peek(wants);
    return { verdicts, pending: [], refusal: null };
  }
  const later = endpoint?.spec.contentLimits;
  const isLater = later !== undefined;
  const outcome = isLater ? await limiter.check(wants, later) : await limiter.spend(wants);
  const refusal = refusalOf(outcome);
  return { verdicts: outcome.verdicts, pending: isLater && refusal === null ? wants : [], refusal };
}

interface Authentication {
  readonly principal: Principal;
  readonly refusal: Problem | null;
}

async function authenticate(kernel: HttpKernel, header: string | undefined): Promise<Authentication> {
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

/** The limits of a request: its endpoint's own, that of staff's reads, and the general one. */
function wantsOf(
  { limiter, declared: { policies } }: HttpKernel,
  endpoint: Endpoint | null,
  principal: Principal,
  address: string,
  head: RequestHead,
): readonly Want[] {
  const account = "accountId" in principal ? limitedAccount(principal.account) : null;
  const own = (endpoint?.spec.limits ?? []).flatMap((policy) => {
    const key =
      policies[policy].subject === "address" ? address : "accountId" in principal ? principal.accountId : null;
    return key === null ? [] : [limiter.want(policy, key, account)];
  });
  const reads = head.method === "GET" || head.method === "HEAD";
  const isAdmin = principal.kind === "staff" && reads && isAdminPath(head.url);
  const admin = isAdmin ? [limiter.want("admin", principal.staffId, null)] : [];
  return [...own, ...admin, generalWant(limiter, principal, address, account)];
}

function generalWant(limiter: Limiter, principal: Principal, address: string, account: LimitedAccount): Want {
  switch (principal.kind) {
    case "anonymous":
      return limiter.want("anonymous", address, null);
    case "staff":
      return limiter.want("package", principal.staffId, null);
    default:
      return limiter.want("package", principal.accountId, account);
  }
}

export function limitedAccount({ limits, earlyAccess }: AccountFacts): LimitedAccount {
  return { limits, earlyAccess };
}

/** An address is banned for those who show no credential; whoever signed in behind it goes on. */
function refusedByBan(
  kernel: HttpKernel,
  endpoint: Endpoint | null,
  { principal, refusal }: Authentication,
  address: string,
): Problem | null {
  if (principal.kind !== "anonymous" || (endpoint !== null && openWhileBanned(endpoint.spec))) return null;
  // Its holder has to be told to renew it, which the address does not stop.
  if (refusal?.code === "token_expired") return null;
  return kernel.bans.isBanned(address) ? new Problem("banned") : null;
}

/** The admin guard: it stands before the router, so that what does not exist there is shown to staff alone. */
function refusedByGuard(head: RequestHead, principal: Principal): Problem | null {
  if (principal.kind === "staff" || !isAdminPath(head.url)) return null;
  return new Problem(principal.kind === "anonymous" ? "missing_token" : "admin_required");
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
