/**
 * One request of an endpoint, from its context to its answer: refusals (`refusals.ts`) → media types → body → strict
 * validation → conditions → idempotency → `handle` → the reply checked against its spec. Each stage can throw a
 * {@link Problem}. Anything else that is thrown is a fault of ours: it is answered with `internal_error`, logged and
 * reported.
 */

import { auditOriginOf } from "../audit.ts";
import { inBackground } from "../database/background.ts";
import type { KeyedWork } from "../idempotency.ts";
import { actorOf } from "../principal.ts";
import { Problem } from "../problems.ts";
import type { RunTx, TxContext } from "../tx.ts";
import type { UploadKey } from "../upload-idempotency.ts";
import { checkAccess } from "./access.ts";
import { type Answer, answerer } from "./answer.ts";
import { currentPrincipal, isPrincipalOld, principalOfLongAnswer } from "./authentication.ts";
import type { BodyTerms } from "./body.ts";
import { callParser, type ParsedCall, type RoutedRequest } from "./call-parser.ts";
import { retirementOf } from "./deprecation.ts";
import {
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
import { HandlerContext } from "./handler-context.ts";
import type { HttpKernel } from "./kernel.ts";
import { problemAnswer, problemReply } from "./problem-answer.ts";
import { checkRefusals } from "./refusals.ts";
import { openStream } from "./reply-stream.ts";
import { type RequestContext, single } from "./request-context.ts";
import { spendUncounted } from "./request-limits.ts";
import { missedDeadline, type RequestSignal } from "./request-signal.ts";
import type { Upload } from "./upload.ts";

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
      checkRefusals(kernel, { spec, retirement }, context, request.raw);
      request.end.start(spec.deadlineMs ?? defaultDeadlineMs);
      const parsed = await parse(context, request, bodyTerms(kernel, spec, context, request.end));
      let call = parsed;
      if (isPrincipalOld(kernel, context)) {
        const principal = await currentPrincipal(kernel, request.raw.headers);
        checkAccess(spec, oauthScopes, principal, kernel.clock.now(), request.raw.method);
        call = { ...parsed, principal };
      }
      const fault = wantedFault(kernel, context, request.raw.headers);
      failAt("before", fault);
      const compiled = { kernel, endpoint, declared };
      const work = () => serve(compiled, context, call, request.end);
      const { upload } = call;
      const all = () => (upload === null ? work() : counted(kernel, context, upload, work));
      const reply = await (spec.upload === undefined ? all() : inBackground(all));
      failAt("after", fault);
      // Counts what the handler did not count. Its work is done, so a refusal is ignored.
      if (context.uncounted.length > 0) await spendUncounted(kernel, context);
      const ready = answer(withNextLink(kernel, spec, request, reply), single(request.raw.headers["if-none-match"]));
      return ready.stream === undefined ? ready : await opened(kernel, context, request, ready);
    } catch (error) {
      // A request that failed before its limits were counted is counted now.
      const refusal = await spendUncounted(kernel, context).catch((fault: unknown) => fault);
      const shown = refusal ?? error;
      if (shown instanceof Problem) reportRefusal(kernel, context, spec, shown);
      return problemAnswer(kernel, context, shown instanceof Problem ? declared(shown) : shown, endpoint.explain);
    }
  };
  if (spec.deprecated === undefined) return run;
  return async (context, request) => retirement.withHeaders(await run(context, request), kernel.publicUrl());
}

const forbidden = 403;

/** A ban is recorded when it is set. What is refused because of it says nothing new. */
function reportRefusal(kernel: HttpKernel, context: RequestContext, { id }: EndpointSpec, { code }: Problem): void {
  const { principal, requestId, address } = context;
  if (principal.kind === "anonymous" || code === "banned") return;
  if (kernel.declared.problems[code].status !== forbidden) return;
  kernel.onRefusal({ principal, operation: id, code, requestId, address });
}

/** The subject of bytes in flight: the account, or else the address. */
function transferSubject({ principal, addressKey }: RequestContext): string {
  return "accountId" in principal ? principal.accountId : addressKey;
}

/** Counts a streamed body until it is answered. A refusal comes before its first byte. */
async function counted<T>(
  { transfers }: HttpKernel,
  context: RequestContext,
  upload: Upload,
  work: () => Promise<T>,
): Promise<T> {
  const finish = transfers.begin(transferSubject(context), upload.announcedBytes);
  try {
    return await work();
  } finally {
    finish();
  }
}

/** Begins a streamed answer. It counts until its last byte, and the caller's rights are checked while it lasts. */
async function opened(
  kernel: HttpKernel,
  context: RequestContext,
  request: RoutedRequest,
  ready: Answer,
): Promise<Answer> {
  const { endpoint } = context;
  if (ready.stream === undefined || endpoint === null || request.raw.method === "HEAD") return ready;
  const { isAllowed = () => true, holder, length } = ready.stream;
  const finish = kernel.transfers.begin(holder?.accountId ?? transferSubject(context), length);
  const recheck = async () => {
    await holder?.recheck();
    const principal = await principalOfLongAnswer(kernel, context);
    if (principal === null) return;
    checkAccess(endpoint.spec, kernel.declared.oauthScopes, principal, kernel.clock.now());
    if (!isAllowed(principal)) throw new Problem("not_found");
  };
  const watch = { recheck, finish, clock: kernel.clock };
  return { ...ready, opened: await untilDeadline(request.end, openStream(ready.stream, watch, request.end)) };
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

async function serve(
  { kernel, endpoint, declared }: Compiled,
  context: RequestContext,
  call: ParsedCall,
  signal: RequestSignal,
): Promise<Reply> {
  const { spec } = endpoint;
  // Made when a transaction begins: reads need no audit record.
  const txContext = (): TxContext => {
    const { principal, requestId, address } = context;
    const origin = auditOriginOf(principal, { requestId, address, operation: spec.id });
    const needsCheckpoint = principal.kind === "staff" || spec.stepUp === true;
    return { actor: context.actor ?? actorOf(principal), context: origin, signal, needsCheckpoint };
  };
  const request = { kernel, endpoint, context, signal };
  const accounts = new Set<string | null>();
  const work = (tx: RunTx, keyed = call, recordReply: Ctx["recordReply"] = noKey) =>
    endpoint.handle(new HandlerContext(request, notingAccounts(tx, accounts), recordReply), keyed);
  const run: RunTx = (scope, inside) => kernel.transactions.run(txContext(), scope, inside);
  const afterCommit = async (reply: Reply) => {
    await endpoint.afterCommit?.(new HandlerContext(request, run, noKey), accounts);
    return reply;
  };
  const key = call.idempotencyKey;
  if (key === undefined || !takesIdempotencyKey(spec)) return afterCommit(await untilDeadline(signal, work(run)));
  const once = onceByKey({ kernel, endpoint, declared }, context, { ...call, idempotencyKey: key }, txContext(), {
    inTransaction: (tx, earlier) => work(tx, earlier === null ? call : { ...call, earlier: earlier.body }),
    ofUpload: (upload, { record }) => work(run, { ...call, upload }, record),
  });
  const { reply, replayed } = await untilDeadline(signal, once);
  if (!replayed) return afterCommit(reply);
  return { ...reply, headers: { ...reply.headers, "Idempotency-Replayed": "true" } };
}

/** The works of a request with a key: inside the transaction that records the answer, or with an upload to read. */
interface WorksByKey {
  readonly inTransaction: KeyedWork;
  readonly ofUpload: (upload: Upload, key: UploadKey) => Promise<Reply>;
}

function onceByKey(
  { kernel, endpoint, declared }: Compiled,
  context: RequestContext,
  call: ParsedCall & { readonly idempotencyKey: string },
  txContext: TxContext,
  work: WorksByKey,
): Promise<{ reply: Reply; replayed: boolean }> {
  const keyed = {
    key: call.idempotencyKey,
    operation: endpoint.spec.id,
    principal: context.principal,
    addressKey: context.addressKey,
    isResumed: endpoint.spec.idempotency === "resumed",
    content: [
      ...[call.params ?? null, call.query ?? null, call.body ?? null],
      ...(call.headers ? [call.headers] : []),
      // Different bytes can be the same text.
      ...[call.pathBytes, call.queryBytes].flatMap((bytes) => (bytes === null ? [] : [bytes.toString("base64")])),
    ],
  };
  const asReply = (thrown: Problem) => {
    const problem = declared(thrown);
    if (!(problem instanceof Problem)) throw problem;
    return problemReply(kernel, context, problem);
  };
  const { upload } = call;
  if (upload === null) return kernel.idempotency.once(txContext, keyed, work.inTransaction, asReply);
  return kernel.uploadIdempotency.onceUpload(txContext, { ...keyed, upload }, work.ofUpload, asReply);
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

async function noKey(): Promise<void> {}

/** Adds the account of every transaction that begins; null for one of the platform. */
function notingAccounts(run: RunTx, accounts: Set<string | null>): RunTx {
  return (access, inside) => {
    if (access.kind === "account") accounts.add(access.accountId);
    if (access.kind === "platform") accounts.add(null);
    return run(access, inside);
  };
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
