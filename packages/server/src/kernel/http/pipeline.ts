/**
 * One request, from the open exchange to its answer:
 * refusals of the first stages → access → media types → strict validation → conditions → idempotency → `handle` →
 * the reply checked against its spec. Each stage may throw a {@link Problem}; anything else that is thrown is our fault
 * and is answered with `internal_error`, logged and reported.
 */

import type { IncomingMessage } from "node:http";
import { auditOriginOf } from "../audit.ts";
import { idempotencyKeyPattern } from "../idempotency.ts";
import { errorFields } from "../log.ts";
import { actorOf } from "../principal.ts";
import { Problem } from "../problems.ts";
import type { RunTx, TxContext } from "../tx.ts";
import { checkAccess } from "./access.ts";
import { type Answer, answerer, encodeReply, oauthErrorReply, type ProblemSetting, problemReply } from "./answer.ts";
import { acceptable, type BodyTerms, readJsonBody, readRawCall, refuseBody } from "./body.ts";
import { checkCondition, requireMatch } from "./conditional.ts";
import { readCookies, requireOwnOrigin } from "./cookies.ts";
import { retirementOf } from "./deprecation.ts";
import {
  type Call,
  type Ctx,
  declaredProblems,
  defaultDeadlineMs,
  type Endpoint,
  type EndpointSpec,
  maxBodyBytes,
  type Reply,
  takesIdempotencyKey,
} from "./endpoint.ts";
import { currentPrincipal, type Exchange, settle, single, spendLater } from "./exchange.ts";
import { failAt, wantedFault } from "./faults.ts";
import type { HttpKernel } from "./kernel.ts";
import { parseQuery, refuse, type Validator, validator } from "./validate.ts";

/** A request as the router hands it over. */
export interface RoutedRequest {
  readonly raw: IncomingMessage;
  /** Query string, without the question mark. */
  readonly query: string;
  readonly params: unknown;
  /** Ends when the client goes away. */
  readonly gone: AbortSignal;
}

export type Pipeline = (exchange: Exchange, request: RoutedRequest) => Promise<Answer>;

/** An endpoint with what is compiled from its spec once. */
interface Compiled {
  readonly kernel: HttpKernel;
  readonly endpoint: Endpoint;
  /** The problem itself when the spec declares it; else the fault that it is. */
  readonly declared: (problem: Problem) => Problem | Error;
}

/** Compiles an endpoint into the function that serves it. */
export function pipeline(kernel: HttpKernel, endpoint: Endpoint): Pipeline {
  const { spec } = endpoint;
  const { oauthScopes } = kernel.declared;
  const parse = callParser(spec);
  const answer = answerer(spec);
  const retirement = retirementOf(spec);
  const codes = declaredProblems(spec, oauthScopes);
  const declared = (problem: Problem) =>
    codes.has(problem.code)
      ? problem
      : new Error(`${spec.id} answered ${problem.code}, which its spec does not declare`);
  const run: Pipeline = async (exchange, request) => {
    try {
      if (exchange.refusal !== null) throw exchange.refusal;
      retirement.check(kernel.clock.now());
      checkAccess(spec, oauthScopes, exchange.principal, kernel.clock.now());
      if (spec.cookies !== undefined) requireOwnOrigin(request.raw.headers, kernel.publicUrl());
      const deadline = AbortSignal.timeout(spec.deadlineMs ?? defaultDeadlineMs);
      const parsed = await parse(exchange, request, bodyTerms(kernel, spec, exchange, deadline));
      const principal = await currentPrincipal(kernel, exchange, request.raw.headers);
      if (principal !== exchange.principal) checkAccess(spec, oauthScopes, principal, kernel.clock.now());
      const call = { ...parsed, principal };
      const fault = wantedFault(kernel, exchange, request.raw.headers);
      failAt("before", fault);
      const reply = await serve(
        { kernel, endpoint, declared },
        exchange,
        call,
        AbortSignal.any([deadline, request.gone]),
      );
      failAt("after", fault);
      // What the handler had no reason to spend; its work is done, so a refusal now comes too late to matter.
      await settle(kernel, exchange);
      return answer(withNextLink(kernel, spec, request, reply), single(request.raw.headers["if-none-match"]));
    } catch (error) {
      // A request that ended before its limits were spent has reached them all the same.
      const refusal = await settle(kernel, exchange).catch((fault: unknown) => fault);
      const shown = refusal ?? error;
      return failed(kernel, exchange, shown instanceof Problem ? declared(shown) : shown, endpoint.explain);
    }
  };
  return async (exchange, request) => retirement.told(await run(exchange, request), kernel.publicUrl());
}

/** What is wrong on our side is said to us, not to the client. */
export function failed(kernel: HttpKernel, exchange: Exchange, error: unknown, explain?: Endpoint["explain"]): Answer {
  const operation = exchange.endpoint?.spec.id;
  const problem = error instanceof Problem ? error : new Problem("internal_error", { cause: error });
  if (problem.extras.cause !== undefined) {
    const fields = { request_id: exchange.requestId, operation, ...errorFields(problem.extras.cause) };
    kernel.log.error("request_failed", fields);
  }
  if (problem.code === "internal_error") {
    kernel.reports.report(problem.extras.cause, { request_id: exchange.requestId, operation });
  }
  if (explain !== undefined) return encodeReply(explain(problem, exchange.language));
  const form = exchange.errorForm === "oauth" ? oauthErrorReply : problemReply;
  return encodeReply(form(problem, settingOf(kernel, exchange)));
}

function settingOf(kernel: HttpKernel, exchange: Exchange): ProblemSetting {
  return { ...exchange, publicUrl: kernel.publicUrl(), problems: kernel.declared.problems };
}

interface ParsedCall extends Call {
  readonly idempotencyKey: string | undefined;
}

function bodyTerms(kernel: HttpKernel, spec: EndpointSpec, { addressKey }: Exchange, deadline: AbortSignal): BodyTerms {
  // A proxy that does not say for whom it asks stands for everybody.
  const address = kernel.addresses.coversProxy(addressKey) ? null : addressKey;
  return { limitBytes: maxBodyBytes(spec), deadline, begin: (bytes) => kernel.unfinishedBodies.begin(address, bytes) };
}

/** Reads a request into a call; the body is read on these terms. */
type CallParser = (exchange: Exchange, request: RoutedRequest, terms: BodyTerms) => Promise<ParsedCall>;

function callParser(spec: EndpointSpec): CallParser {
  const validators: { part: "params" | "query" | "body"; check: Validator }[] = [];
  if (spec.params) validators.push({ part: "params", check: validator(spec.params, "/path") });
  if (spec.query) validators.push({ part: "query", check: validator(spec.query, "/query") });
  if (spec.body) validators.push({ part: "body", check: validator(spec.body, "") });
  const keyPattern = new RegExp(idempotencyKeyPattern);
  return async ({ principal, language, address, addressKey }, { raw, query, params }, terms) => {
    const ifMatch = spec.ifMatch === undefined ? undefined : single(raw.headers["if-match"]);
    checkCondition(ifMatch);
    if (spec.method === "GET") checkCondition(single(raw.headers["if-none-match"]));
    const who = { principal, language, address, addressKey, cookies: readCookies(raw.headers, spec.cookies) };
    if (spec.wire !== undefined) {
      const fits = validators.every(({ part, check }) => part !== "params" || check(params, language).length === 0);
      if (!fits) throw new Problem("not_found");
      const nothing = { params, query: undefined, body: undefined, idempotencyKey: undefined };
      return { ...who, ...nothing, raw: await readRawCall(raw, terms), requireMatch: () => undefined };
    }
    acceptable(spec, raw.headers.accept);
    const idempotencyKey = single(raw.headers["idempotency-key"]);
    if (idempotencyKey !== undefined && !keyPattern.test(idempotencyKey)) throw new Problem("invalid_header");
    if (spec.ifMatch === "required" && ifMatch === undefined) throw new Problem("precondition_required");
    const parts = {
      params: spec.params && params,
      query: parseQuery(query, spec.query),
      body: await (spec.body ? readJsonBody(raw, terms) : refuseBody(raw, terms)),
    };
    const findings = validators.flatMap(({ part, check }) => check(parts[part], language));
    // What cannot be a cursor of ours is told like one that is not.
    if (findings.some((finding) => finding.pointer === "/query/cursor")) throw new Problem("invalid_cursor");
    refuse(findings);
    const matches = (representation: unknown) => requireMatch(ifMatch, representation);
    return { ...parts, ...who, idempotencyKey, requireMatch: matches };
  };
}

async function serve(
  { kernel, endpoint, declared }: Compiled,
  exchange: Exchange,
  call: ParsedCall,
  signal: AbortSignal,
): Promise<Reply> {
  const { spec } = endpoint;
  const context: TxContext = {
    actor: actorOf(exchange.principal),
    context: auditOriginOf(exchange.principal, { ...exchange, operation: spec.id }),
    signal,
  };
  const { settings, clock, random, cursors, secrets, tokens, limiter } = kernel;
  const publicUrl = kernel.publicUrl();
  const log = kernel.log.child({ request_id: exchange.requestId, operation: spec.id });
  const work = (tx: RunTx) => {
    const spend: Ctx["spend"] = (policies, subject) => spendLater(kernel, exchange, policies, subject);
    const ctx: Ctx = { settings, clock, random, cursors, secrets, tokens, publicUrl, limiter, log, signal, spend, tx };
    return endpoint.handle(ctx, call);
  };
  if (call.idempotencyKey === undefined || !takesIdempotencyKey(spec)) {
    const run: RunTx = (scope, inside) => kernel.transactions.run(context, scope, inside);
    return before(signal, work(run));
  }
  const keyed = {
    key: call.idempotencyKey,
    operation: spec.id,
    principal: exchange.principal,
    addressKey: exchange.addressKey,
    content: [call.params ?? null, call.query ?? null, call.body ?? null],
  };
  const asReply = (thrown: Problem) => {
    const problem = declared(thrown);
    if (!(problem instanceof Problem)) throw problem;
    return problemReply(problem, settingOf(kernel, exchange));
  };
  const { reply, replayed } = await before(signal, kernel.idempotency.once(context, keyed, work, asReply));
  if (!replayed) return reply;
  return { ...reply, headers: { ...reply.headers, "Idempotency-Replayed": "true" } };
}

/** A page that is not the last says where the next one is (RFC 8288). */
function withNextLink(kernel: HttpKernel, spec: EndpointSpec, request: RoutedRequest, reply: Reply): Reply {
  if (spec.query?.properties.cursor === undefined || reply.status !== 200) return reply;
  const { next_cursor: cursor } = reply.body as { readonly next_cursor?: unknown };
  if (typeof cursor !== "string") return reply;
  const [path = ""] = (request.raw.url ?? "").split("?");
  const query = new URLSearchParams(request.query);
  query.set("cursor", cursor);
  // A bracket would end the address; everything else that could is refused before a path gets here.
  const url = `${kernel.publicUrl()}${path.replaceAll(">", "%3E")}?${query}`;
  return { ...reply, headers: { ...reply.headers, Link: `<${url}>; rel="next"` } };
}

/** Seconds after which a request that ran into its deadline may be tried again. */
const retryAfterDeadlineSeconds = 5;

/** Answers at the deadline even where the work does not listen to its signal; its transaction then cannot commit. */
async function before<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const headers = { "Retry-After": String(retryAfterDeadlineSeconds) };
  const onAbort = () => late.reject(new Problem("unavailable", { headers, ...missedDeadline(signal) }));
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** A missed deadline is worth a line in the log; a client that went away is not. */
function missedDeadline({ reason }: AbortSignal): { cause?: unknown } {
  return reason instanceof DOMException && reason.name === "TimeoutError" ? { cause: reason } : {};
}
