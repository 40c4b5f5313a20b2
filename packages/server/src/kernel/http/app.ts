/**
 * The application on top of the transport: Fastify routes every spelling of every endpoint to its pipeline and writes
 * the answer. Fastify parses no body, validates nothing and serialises nothing here; addresses that do not exist,
 * methods that an address does not have and requests that the router cannot read pass the same stages and get a problem as
 * answer, with request id and rate headers like any other.
 */

import type { OutgoingHttpHeaders } from "node:http";
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { addRateHeaders } from "../limits/headers.ts";
import type { ScanSubject } from "../limits/scan-detector.ts";
import type { Principal } from "../principal.ts";
import { Problem } from "../problems.ts";
import type { Transport } from "../transport/server.ts";
import type { Answer } from "./answer.ts";
import { type Compressor, compressor } from "./compression.ts";
import { isFromForeignPage } from "./cookies.ts";
import type { Endpoint, EndpointSpec } from "./endpoint.ts";
import type { HttpKernel } from "./kernel.ts";
import { urlRewriter, withMark } from "./path-bytes.ts";
import { type Pipeline, pipeline } from "./pipeline.ts";
import { problemAnswer } from "./problem-answer.ts";
import { receiveRequest } from "./receive-request.ts";
import { refusalAtRouter } from "./refusals.ts";
import { sendStream } from "./reply-stream.ts";
import type { RequestContext } from "./request-context.ts";
import { isClientGone, RequestSignal } from "./request-signal.ts";
import { safetyHeaders } from "./safety-headers.ts";

/** A path of 4096 bytes, each byte percent-encoded. */
const maxParamLength = 3 * 4096;

/** Builds the application; it does not listen yet. */
export function createApp(
  kernel: HttpKernel,
  endpoints: readonly Endpoint[],
  serverFactory: Transport["serverFactory"],
): FastifyInstance {
  const app = Fastify({
    serverFactory,
    logger: false,
    requestIdHeader: false,
    exposeHeadRoutes: true,
    // The transport drains connections. Fastify would refuse with its own kind of answer.
    return503OnClosing: false,
    forceCloseConnections: false,
    rewriteUrl: urlRewriter(endpoints.flatMap(({ spec }) => spellings(spec))),
    routerOptions: { maxParamLength, querystringParser: () => ({}) },
    frameworkErrors: (_error, request, reply) => void refuse(kernel, request, reply, new Problem("malformed_request")),
  });
  // To Fastify no request has a body, so it neither reads one nor checks its headers. The pipeline does, after 401, 413 and
  // 429, which are sent before the client has sent the body.
  for (const method of ["DELETE", "OPTIONS", "PATCH", "POST", "PUT", "QUERY"]) {
    app.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  }
  const known = knownMethods(endpoints);
  const notFound = (request: FastifyRequest) => otherMethod(known, request.url) ?? missing(request.url);
  app.setNotFoundHandler((request, reply) => refuse(kernel, request, reply, notFound(request)));
  // For a method over HTTP/2 that Node does not know, Fastify does not call the handler above.
  app.setErrorHandler((error, request, reply) =>
    refuse(kernel, request, reply, isNotFound(error) ? notFound(request) : error),
  );
  for (const endpoint of endpoints) addRoutes(app, kernel, endpoint);
  addHiddenMethods(app, kernel, known);
  return app;
}

function addRoutes(app: FastifyInstance, kernel: HttpKernel, endpoint: Endpoint): void {
  const route = { endpoint, run: pipeline(kernel, endpoint), compress: compressor(endpoint.spec) };
  for (const path of spellings(endpoint.spec)) {
    app.route({
      method: endpoint.spec.method,
      url: routerPath(path),
      handler: (request, reply) => serve(kernel, request, reply, route),
    });
  }
}

/** An address, part by part as the router writes it, and its methods. */
interface KnownAddress {
  readonly url: string;
  readonly parts: readonly string[];
  readonly methods: Set<string>;
}

/** Every address. Of two that match a path, the one that the router would take comes first: it prefers fixed parts. */
function knownMethods(endpoints: readonly Endpoint[]): readonly KnownAddress[] {
  const known = new Map<string, KnownAddress>();
  for (const { spec } of endpoints) {
    for (const path of spellings(spec)) {
      const url = routerPath(path);
      const { methods } = known.getOrInsertComputed(url, () => ({ url, parts: url.split("/"), methods: new Set() }));
      methods.add(spec.method);
      if (spec.method === "GET") methods.add("HEAD");
    }
  }
  return [...known.values()].sort((a, b) => specificity(a) - specificity(b));
}

/** Smaller for fixed parts before parameters, from the left. */
function specificity({ parts }: KnownAddress): number {
  return parts.reduce((sum, part) => 2 * sum + (part.startsWith(":") ? 1 : 0), 0);
}

/**
 * An address that exists answers its other methods with 405. Only its own methods have routes: routes for all the others would
 * be most of the time of a start.
 */
function otherMethod(known: readonly KnownAddress[], url: string): Problem | null {
  const [path = ""] = url.split(/[?#]/);
  const parts = path.split("/").map(decoded);
  const found = known.find((address) => covers(address, parts));
  return found === undefined ? null : methodNotAllowed(found.methods);
}

/** For a method of `/things/:id` that `/things/new` does not have, the router would take the first. */
function addHiddenMethods(app: FastifyInstance, kernel: HttpKernel, known: readonly KnownAddress[]): void {
  for (const address of known) {
    const covering = known.filter((other) => other !== address && covers(other, address.parts));
    const hidden = new Set(covering.flatMap(({ methods }) => [...methods])).difference(address.methods);
    // Fastify adds it to GET.
    if (hidden.has("GET")) hidden.delete("HEAD");
    const problem = methodNotAllowed(address.methods);
    for (const method of hidden)
      app.route({ method, url: address.url, handler: (request, reply) => refuse(kernel, request, reply, problem) });
  }
}

/** Whether the router may take the address for a path of these parts. A parameter is never empty. */
function covers({ parts: expected }: KnownAddress, parts: readonly string[]): boolean {
  return (
    expected.length === parts.length &&
    expected.every((one, at) => (one.startsWith(":") ? parts[at] !== "" : one === parts[at]))
  );
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function methodNotAllowed(allowed: ReadonlySet<string>): Problem {
  return new Problem("method_not_allowed", { headers: { Allow: [...allowed].sort().join(", ") } });
}

function spellings(spec: EndpointSpec): string[] {
  return [spec.path, ...(spec.aliases ?? [])];
}

/** `/v1/things/{id}` as the router writes it. */
function routerPath(path: string): string {
  return withMark(path).replaceAll(/\{(\w+)\}/g, ":$1");
}

/** An endpoint with what was compiled from its spec. */
interface Route {
  readonly endpoint: Endpoint;
  readonly run: Pipeline;
  readonly compress: Compressor;
}

async function serve(
  kernel: HttpKernel,
  request: FastifyRequest,
  reply: FastifyReply,
  { endpoint, run, compress }: Route,
): Promise<void> {
  const { context, end } = await begin(kernel, request, reply, endpoint);
  const at = request.url.indexOf("?");
  const query = at < 0 ? "" : request.url.slice(at + 1);
  const answer = await run(context, { raw: request.raw, params: request.params, query, end });
  if (answer.stream !== undefined) {
    await sendContent(kernel, reply, context, answer, end);
    return;
  }
  const sent = compress(answer, request.headers);
  send(kernel, reply, context, sent instanceof Promise ? await sent : sent);
}

/** Answers with a problem outside any endpoint. */
async function refuse(
  kernel: HttpKernel,
  request: FastifyRequest,
  reply: FastifyReply,
  problem: unknown,
): Promise<void> {
  const { context } = await begin(kernel, request, reply, null);
  send(kernel, reply, context, problemAnswer(kernel, context, refusalAtRouter(context, problem)));
}

async function begin(
  kernel: HttpKernel,
  request: FastifyRequest,
  reply: FastifyReply,
  endpoint: Endpoint | null,
): Promise<{ readonly context: RequestContext; readonly end: RequestSignal }> {
  kernel.metrics.requestStarted();
  let context: RequestContext | null = null;
  let isClosed = false;
  const end = new RequestSignal(reply.raw, () => {
    isClosed = true;
    if (context !== null) observe(kernel, request, reply, context);
  });
  const { method } = request;
  const head = { method, headers: request.headers, url: request.raw.url ?? "", peer: request.raw.socket.remoteAddress };
  context = await receiveRequest(kernel, head, endpoint);
  if (isClosed) observe(kernel, request, reply, context);
  return { context, end };
}

/** One line and one measurement per request, whether it was answered or the client left. */
function observe(kernel: HttpKernel, request: FastifyRequest, reply: FastifyReply, context: RequestContext): void {
  const response = reply.raw;
  const operation = context.endpoint?.spec.id;
  const durationMs = kernel.clock.now().getTime() - context.startedAtMs;
  const status = response.headersSent ? response.statusCode : clientClosedRequest;
  const { method } = request;
  kernel.metrics.requestFinished({ operation: operation ?? null, method, status, durationMs });
  const protocol = request.raw.httpVersionMajor === 2 ? "h2" : `http/${request.raw.httpVersion}`;
  const { id, requestId } = context;
  const instance = id === requestId ? undefined : id;
  const fields = { request_id: requestId, instance, operation, method, status, duration_ms: durationMs, protocol };
  kernel.log.info("request", fields);
  observeScan(kernel, context, request, status);
}

/** Refusals that a scan gets. For these the target is the path, for all others the operation. */
const scanStatuses: ReadonlySet<number> = new Set([401, 403, 404, 405]);

/** Limits have refused it already. */
const tooManyRequests = 429;

function observeScan(
  kernel: HttpKernel,
  { principal, endpoint, addressKey, refusal }: RequestContext,
  { raw }: FastifyRequest,
  status: number,
): void {
  if (refusal?.code === "banned" || status === tooManyRequests) return;
  // Any web page can make the browsers of its visitors send requests here, but not with a token.
  if (principal.kind === "anonymous" && isFromForeignPage(raw.headers, kernel.publicUrl())) return;
  const isPath = scanStatuses.has(status) || endpoint === null;
  const target = isPath ? (raw.url?.split("?", 1)[0] ?? "") : endpoint.spec.id;
  kernel.scanDetector.observe(scanSubjectOf(principal, addressKey), target);
}

function scanSubjectOf(principal: Principal, addressKey: string): ScanSubject {
  switch (principal.kind) {
    case "anonymous":
      return { kind: "address", id: addressKey };
    case "client":
      // Only this session is reported: other members use the same client.
      return principal.memberId === null
        ? { kind: "client", id: principal.clientId, accountId: principal.accountId }
        : { kind: "session", id: principal.sessionId, accountId: principal.accountId };
    case "member":
      return { kind: "session", id: principal.sessionId, accountId: principal.accountId };
    case "staff":
      return { kind: "session", id: principal.sessionId, accountId: null };
  }
}

/** The status that proxies log when the client left before the answer began; never sent. */
const clientClosedRequest = 499;

/**
 * Writes the answer without Fastify, which would copy each header twice. An exception before the first byte still reaches
 * Fastify's error handler, so the reply is taken from Fastify only after the head was accepted.
 */
function send(kernel: HttpKernel, reply: FastifyReply, context: RequestContext, answer: Answer): void {
  const { raw } = reply;
  // The transport has refused a body that did not come.
  if (raw.headersSent) return void reply.hijack();
  const { status, body } = answer;
  const head = headOf(kernel, context, answer);
  if (body.length > 0) head["content-length"] = Buffer.byteLength(body);
  // RFC 9110, 8.6: these two have no content, and no length of it.
  else if (status !== noContent && status !== notModified) head["content-length"] = 0;
  raw.writeHead(status, head);
  reply.hijack();
  // Text, not bytes: Node writes the head and a text in one piece.
  raw.end(body.length === 0 ? undefined : body);
}

const noContent = 204;
const notModified = 304;

/**
 * Sends a stream, or its head alone: for HEAD Fastify would make the whole content, to drop it. What fails after the head
 * cannot be answered any more.
 */
async function sendContent(
  kernel: HttpKernel,
  reply: FastifyReply,
  context: RequestContext,
  answer: Answer,
  end: RequestSignal,
): Promise<void> {
  reply.hijack();
  reply.raw.writeHead(answer.status, headOf(kernel, context, answer));
  if (answer.opened === undefined) return void reply.raw.end();
  try {
    await sendStream(answer.opened, reply.raw, end);
  } catch (error) {
    if (!isClientGone(end) && !(error instanceof Problem)) problemAnswer(kernel, context, error);
  }
}

function headOf(kernel: HttpKernel, context: RequestContext, { headers }: Answer): OutgoingHttpHeaders {
  const head: OutgoingHttpHeaders = { ...safetyHeaders(kernel.settings.profile), "x-request-id": context.requestId };
  if (context.endpoint?.spec.crossOrigin) head["access-control-allow-origin"] = "*";
  addRateHeaders(head, context.limitStatuses);
  // The names of answers are in lower case, so that theirs replace the ones above.
  for (const name in headers) head[name] = headers[name] as string | string[];
  return head;
}

function isNotFound(error: unknown): boolean {
  return typeof error === "object" && error !== null && "code" in error && error.code === "FST_ERR_NOT_FOUND";
}

function missing(url: string): Problem {
  const version = /^\/v(\d+)(?:[/?]|$)/.exec(url)?.[1];
  return new Problem(version !== undefined && version !== "1" ? "unknown_version" : "not_found");
}
