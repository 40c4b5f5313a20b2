/**
 * One request of an endpoint, from its context to its answer: refusals (`refusals.ts`) → media types → body → strict
 * validation → conditions → idempotency → `handle` → the reply checked against its spec. Each stage can throw a
 * {@link Problem}. Anything else that is thrown is a fault of ours: it is answered with `internal_error`, logged and
 * reported.
 */

import type { IncomingMessage } from "node:http";
import { auditOriginOf } from "../audit.ts";
import { idempotencyKeyPattern } from "../idempotency.ts";
import { actorOf } from "../principal.ts";
import { Problem } from "../problems.ts";
import type { RunRead, RunTx, TxContext } from "../tx.ts";
import { checkAccess } from "./access.ts";
import { type Answer, answerer } from "./answer.ts";
import { currentPrincipal, isPrincipalOld } from "./authentication.ts";
import { acceptable, type BodyTerms, readJsonBody, readRawCall, refuseBody } from "./body.ts";
import { checkCondition, requireMatch } from "./conditional.ts";
import { readCookies } from "./cookies.ts";
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
import { failAt, wantedFault } from "./faults.ts";
import type { HttpKernel } from "./kernel.ts";
import { problemAnswer, problemReply } from "./problem-answer.ts";
import { checkRefusals } from "./refusals.ts";
import { type RequestContext, single } from "./request-context.ts";
import { spendLater, spendUncounted } from "./request-limits.ts";
import { missedDeadline, type RequestSignal } from "./request-signal.ts";
import { parseQuery, refuse, type Validator, validator } from "./validate.ts";

/** A request as the router passes it on. */
export interface RoutedRequest {
  readonly raw: IncomingMessage;
  /** Query string, without the question mark. */
  readonly query: string;
  readonly params: unknown;
  /** Ends when the deadline passes or the client goes away. */
  readonly end: RequestSignal;
}

export type Pipeline = (context: RequestContext, request: RoutedRequest) => Promise<Answer>;

/** An endpoint with what was compiled from its spec. */
interface Compiled {
  readonly kernel: HttpKernel;
  readonly endpoint: Endpoint;
  /** The problem itself when the spec declares it, else an Error: an undeclared problem is a fault of ours. */
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
  const run: Pipeline = async (context, request) => {
    try {
      checkRefusals(kernel, { spec, retirement }, context, request.raw.headers);
      request.end.start(spec.deadlineMs ?? defaultDeadlineMs);
      const parsed = await parse(context, request, bodyTerms(kernel, spec, context, request.end));
      let call = parsed;
      if (isPrincipalOld(kernel, context)) {
        const principal = await currentPrincipal(kernel, request.raw.headers);
        checkAccess(spec, oauthScopes, principal, kernel.clock.now());
        call = { ...parsed, principal };
      }
      const fault = wantedFault(kernel, context, request.raw.headers);
      failAt("before", fault);
      const reply = await serve({ kernel, endpoint, declared }, context, call, request.end);
      failAt("after", fault);
      // Counts what the handler did not count. Its work is done, so a refusal is ignored.
      if (context.uncounted.length > 0) await spendUncounted(kernel, context);
      return answer(withNextLink(kernel, spec, request, reply), single(request.raw.headers["if-none-match"]));
    } catch (error) {
      // A request that failed before its limits were counted is counted now.
      const refusal = await spendUncounted(kernel, context).catch((fault: unknown) => fault);
      const shown = refusal ?? error;
      return problemAnswer(kernel, context, shown instanceof Problem ? declared(shown) : shown, endpoint.explain);
    }
  };
  if (spec.deprecated === undefined) return run;
  return async (context, request) => retirement.withHeaders(await run(context, request), kernel.publicUrl());
}

interface ParsedCall extends Call {
  readonly idempotencyKey: string | undefined;
}

function bodyTerms(
  kernel: HttpKernel,
  spec: EndpointSpec,
  { addressKey }: RequestContext,
  end: RequestSignal,
): BodyTerms {
  const begin = (bytes: number) => {
    // A proxy without a forwarded address stands for all clients behind it.
    const address = kernel.addresses.coversProxy(addressKey) ? null : addressKey;
    return kernel.unfinishedBodies.begin(address, bytes);
  };
  return { limitBytes: maxBodyBytes(spec), end, begin };
}

/** Reads a request into a call. */
type CallParser = (context: RequestContext, request: RoutedRequest, terms: BodyTerms) => Promise<ParsedCall>;

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
    // A cursor of a wrong form gets the same answer as an unknown one.
    if (findings.some((finding) => finding.pointer === "/query/cursor")) throw new Problem("invalid_cursor");
    refuse(findings);
    const matches = (representation: unknown) => requireMatch(ifMatch, representation);
    return { ...parts, ...who, idempotencyKey, requireMatch: matches };
  };
}

async function serve(
  { kernel, endpoint, declared }: Compiled,
  context: RequestContext,
  call: ParsedCall,
  signal: RequestSignal,
): Promise<Reply> {
  const { spec } = endpoint;
  // Made when a transaction begins: reads need no audit record.
  const txContext = (): TxContext => ({
    actor: actorOf(context.principal),
    context: auditOriginOf(context.principal, { ...context, operation: spec.id }),
    signal,
  });
  const { settings, clock, random, cursors, secrets, services, tokens, limiter } = kernel;
  const publicUrl = kernel.publicUrl();
  const work = (tx: RunTx) => {
    const spend: Ctx["spend"] = (policies, subject) => spendLater(kernel, context, policies, subject);
    const read: RunRead = (access, inside) => kernel.transactions.read({ signal }, access, inside);
    const ctx: Ctx = {
      settings,
      clock,
      random,
      cursors,
      secrets,
      services,
      tokens,
      publicUrl,
      limiter,
      spend,
      tx,
      read,
      // Few handlers need it.
      get signal() {
        return signal.signal;
      },
      // Few handlers log.
      get log() {
        return kernel.log.child({ request_id: context.requestId, operation: spec.id });
      },
    };
    return endpoint.handle(ctx, call);
  };
  if (call.idempotencyKey === undefined || !takesIdempotencyKey(spec)) {
    const run: RunTx = (scope, inside) => kernel.transactions.run(txContext(), scope, inside);
    return untilDeadline(signal, work(run));
  }
  const keyed = {
    key: call.idempotencyKey,
    operation: spec.id,
    principal: context.principal,
    addressKey: context.addressKey,
    content: [call.params ?? null, call.query ?? null, call.body ?? null],
  };
  const asReply = (thrown: Problem) => {
    const problem = declared(thrown);
    if (!(problem instanceof Problem)) throw problem;
    return problemReply(kernel, context, problem);
  };
  const { reply, replayed } = await untilDeadline(signal, kernel.idempotency.once(txContext(), keyed, work, asReply));
  if (!replayed) return reply;
  return { ...reply, headers: { ...reply.headers, "Idempotency-Replayed": "true" } };
}

/** A page that is not the last has a link to the next one (RFC 8288). */
function withNextLink(kernel: HttpKernel, spec: EndpointSpec, request: RoutedRequest, reply: Reply): Reply {
  if (spec.query?.properties.cursor === undefined || reply.status !== 200) return reply;
  const { next_cursor: cursor } = reply.body as { readonly next_cursor?: unknown };
  if (typeof cursor !== "string") return reply;
  const [path = ""] = (request.raw.url ?? "").split("?");
  const query = new URLSearchParams(request.query);
  query.set("cursor", cursor);
  // A bracket would end the address in the header. Other such characters are refused earlier.
  const url = `${kernel.publicUrl()}${path.replaceAll(">", "%3E")}?${query}`;
  return { ...reply, headers: { ...reply.headers, Link: `<${url}>; rel="next"` } };
}

/** Seconds after which a request that missed its deadline can be repeated. */
const retryAfterDeadlineSeconds = 5;

/** Rejects at the deadline, also when the work ignores its signal. The transaction of the work then cannot commit. */
async function untilDeadline<T>(signal: RequestSignal, work: Promise<T>): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const headers = { "Retry-After": String(retryAfterDeadlineSeconds) };
  const stopWaiting = signal.onAbort(() => reject(new Problem("unavailable", { headers, ...causeOf(signal) })));
  work.then(resolve, reject);
  try {
    return await promise;
  } finally {
    stopWaiting();
  }
}

/** A missed deadline is logged; a client that left is not. */
function causeOf(signal: RequestSignal): { cause?: unknown } {
  return missedDeadline(signal) ? { cause: signal.reason } : {};
}
