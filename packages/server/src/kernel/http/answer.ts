/**
 * Replies as bytes. A reply is checked against the spec of its endpoint. A reply that the spec does not declare is a fault
 * of ours and becomes `internal_error`.
 */

import { etagOf, noneMatch } from "./conditional.ts";
import { type EndpointSpec, type HeaderValues, hasRanges, type Reply } from "./endpoint.ts";
import { oauthErrorSchema } from "./oauth-error.ts";
import type { OpenedStream, ReplyStream } from "./reply-stream.ts";
import { type Validator, validator } from "./validate.ts";

/** A whole answer. */
export interface Answer {
  readonly status: number;
  readonly headers: HeaderValues;
  /** Text is written together with the head. */
  readonly body: string | Buffer;
  /** In place of the body: content that is made while it is sent. */
  readonly stream?: ReplyStream;
  /** The stream, begun. An answer to HEAD has none. */
  readonly opened?: OpenedStream;
}

export const problemMediaType = "application/problem+json; charset=utf-8";
export const jsonMediaType = "application/json; charset=utf-8";

/** Checks a reply against its spec and turns it into bytes; a GET that the client already has becomes 304. */
export type Answerer = (reply: Reply, ifNoneMatch: string | undefined) => Answer;

/** Compiles the reply schemas of an endpoint. */
export function answerer(spec: EndpointSpec): Answerer {
  const validators = new Map<number, Validator>();
  for (const [status, reply] of Object.entries(spec.replies)) {
    if ("body" in reply) validators.set(Number(status), validator(reply.body, "/reply"));
  }
  const oauthError = spec.wire === "oauth" ? validator(oauthErrorSchema, "/reply") : null;
  const constants = new WeakMap<object, Answer>();
  const answer: Answerer = (reply, ifNoneMatch) => {
    if (isProblem(reply)) return encodeReply(reply);
    const declared = spec.replies[reply.status] ?? (oauthError && reply.status >= 400 ? oauthErrorSpec : undefined);
    if (declared === undefined) throw new Error(`${spec.id} answered ${reply.status}, which its spec does not declare`);
    const check = declared === oauthErrorSpec ? oauthError : validators.get(reply.status);
    const findings = check?.(reply.body, "en") ?? [];
    if (findings.length > 0) {
      const where = findings.map((finding) => `${finding.pointer} ${finding.code}`).join(", ");
      throw new Error(`${spec.id} answered a body that its spec does not allow: ${where}`);
    }
    if ("stream" in declared) return streamAnswer(spec, reply, declared.stream[0], ifNoneMatch);
    const mediaType = "content" in declared ? declared.content[0] : jsonMediaType;
    if (spec.method === "GET" && reply.status === 200) return conditional(reply, mediaType, ifNoneMatch);
    const whole = encodeReply(reply, mediaType);
    return answersVersion(spec, reply.status) ? withEtag(whole, reply) : whole;
  };
  return (reply, ifNoneMatch) => {
    if (!isConstant(reply) || ifNoneMatch !== undefined) return answer(reply, ifNoneMatch);
    return constants.getOrInsertComputed(reply.body, () => answer(reply, undefined));
  };
}

/** Whether a reply cannot change, so that one check, one ETag and one text are enough for all requests. */
function isConstant(reply: Reply): reply is { readonly status: 200; readonly body: object } {
  const { status, headers, body } = reply;
  if (status !== 200 || headers !== undefined || typeof body !== "object" || body === null) return false;
  if (!Object.isFrozen(body)) return false;
  for (const name in body) {
    if (typeof (body as Readonly<Record<string, unknown>>)[name] === "object") return false;
  }
  return true;
}

/** Every operation that speaks OAuth may answer with an error of that protocol. */
const oauthErrorSpec = { description: "An error of the protocol.", body: oauthErrorSchema };

function isProblem(reply: Reply): boolean {
  return reply.headers?.["Content-Type"] === problemMediaType;
}

/** Turns a reply into bytes as it is; for problems, whose form the catalogue guarantees. */
export function encodeReply(reply: Reply, mediaType: string = problemMediaType): Answer {
  const { body } = reply;
  const empty = body === undefined;
  const headers = {
    "cache-control": "no-store",
    ...(empty ? {} : { "content-type": mediaType }),
    ...lowerCase(reply.headers),
  };
  return { status: reply.status, headers, body: empty ? "" : encoded(body) };
}

function encoded(body: unknown): string | Buffer {
  if (typeof body === "string") return body;
  // Compressed documents are kept by the very object.
  if (Buffer.isBuffer(body)) return body;
  return body instanceof Uint8Array ? Buffer.from(body.buffer, body.byteOffset, body.byteLength) : JSON.stringify(body);
}

/** A change answers the version that it made, so that the next one needs no reading in between. */
export function answersVersion({ method, replies }: EndpointSpec, status: number): boolean {
  const reply = replies[status];
  return method === "PATCH" && reply !== undefined && "body" in reply;
}

function withEtag(answer: Answer, { body }: Reply): Answer {
  return { ...answer, headers: { etag: etagOf(body), ...answer.headers } };
}

/** Nothing on the way may change the bytes: a client that resumes joins the parts of two answers. */
const streamCaching = "private, no-cache, no-transform";

function streamAnswer(spec: EndpointSpec, reply: Reply, mediaType: string, ifNoneMatch: string | undefined): Answer {
  const stream = reply.body as ReplyStream;
  const { length, etag } = stream;
  const caching = {
    "cache-control": streamCaching,
    ...(hasRanges(spec) && { "accept-ranges": "bytes" }),
    ...(etag !== undefined && { etag }),
  };
  // The reply's own headers are about the content, which a 304 does not have.
  if (etag !== undefined && noneMatch(ifNoneMatch, etag)) return { status: 304, headers: caching, body: "" };
  const framing = { "content-type": mediaType, ...(length !== null && { "content-length": String(length) }) };
  return { status: reply.status, headers: { ...framing, ...caching, ...lowerCase(reply.headers) }, body: "", stream };
}

function conditional(reply: Reply, mediaType: string, ifNoneMatch: string | undefined): Answer {
  const own = lowerCase(reply.headers);
  const etag = String(own.etag ?? etagOf(reply.body));
  const headers = { "cache-control": "private, no-cache", ...own, etag };
  if (noneMatch(ifNoneMatch, etag)) return { status: 304, headers, body: "" };
  const { body } = reply;
  if (body === undefined) return { status: reply.status, headers, body: "" };
  return { status: reply.status, headers: { "content-type": mediaType, ...headers }, body: encoded(body) };
}

/** One spelling per name, so that a reply's own header replaces the standard one instead of standing beside it. */
function lowerCase(headers: HeaderValues | undefined): Readonly<Record<string, string | readonly string[]>> {
  if (headers === undefined) return noHeaders;
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

const noHeaders = {};
