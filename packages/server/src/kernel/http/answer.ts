/**
 * What goes back over the wire: replies as their spec says, problems as the catalogue says. Nothing leaves that the
 * spec does not declare; a reply or a code that it lacks is our mistake and becomes `internal_error`.
 */

import type { Language, Problem, ProblemCatalogue } from "../problems.ts";
import { etagOf, noneMatch } from "./conditional.ts";
import type { EndpointSpec, HeaderValues, Reply } from "./endpoint.ts";
import { oauthErrorOf, oauthErrorSchema } from "./oauth-error.ts";
import { type Validator, validator } from "./validate.ts";

/** A whole answer. */
export interface Answer {
  readonly status: number;
  readonly headers: HeaderValues;
  readonly body: Buffer;
}

/** Where and for whom a problem is written. */
export interface ProblemSetting {
  /** Ours, whatever the client calls the request. */
  readonly id: string;
  readonly requestId: string;
  readonly language: Language;
  readonly publicUrl: string;
  readonly problems: ProblemCatalogue;
}

export const problemMediaType = "application/problem+json; charset=utf-8";
const jsonMediaType = "application/json; charset=utf-8";

/** A problem as a reply, in the form that is sent and that idempotency records. */
export function problemReply(problem: Problem, setting: ProblemSetting): Reply {
  const { status, title, detail } = setting.problems[problem.code];
  const { language, id, requestId } = setting;
  return {
    status,
    headers: {
      "Content-Type": problemMediaType,
      "Content-Language": language,
      "Cache-Control": "no-store",
      ...challenge(problem, status),
      ...problem.extras.headers,
    },
    body: {
      type: `${setting.publicUrl}/docs/errors/${problem.code}`,
      title: title[language],
      status,
      code: problem.code,
      detail: detail[language],
      instance: `urn:uuid:${id}`,
      request_id: requestId,
      ...(problem.extras.errors && { errors: problem.extras.errors }),
      ...problem.extras.members,
    },
  };
}

/** A problem of the kernel's stages in the form of RFC 6749, for addresses that speak OAuth. */
export function oauthErrorReply(problem: Problem, { language, problems }: ProblemSetting): Reply {
  const { status, detail } = problems[problem.code];
  return {
    status,
    headers: {
      "Content-Type": jsonMediaType,
      "Content-Language": language,
      "Cache-Control": "no-store",
      Pragma: "no-cache",
      ...problem.extras.headers,
    },
    // RFC 6749 allows ASCII only in a description.
    body: { error: oauthErrorOf(status), error_description: detail.en },
  };
}

/** RFC 6750: a 401 says how to sign in, and what was wrong with the token that was sent. */
function challenge({ code }: Problem, status: number): Record<string, string> {
  if (status !== 401 && code !== "insufficient_scope") return {};
  const tokenWasWrong = code === "invalid_token" || code === "token_expired";
  const error = tokenWasWrong ? ', error="invalid_token"' : code === "insufficient_scope" ? `, error="${code}"` : "";
  return { "WWW-Authenticate": `Bearer realm="emanet"${error}` };
}

/** Checks a reply against its spec and turns it into bytes; a GET that the client already has becomes 304. */
export type Answerer = (reply: Reply, ifNoneMatch: string | undefined) => Answer;

/** Compiles the reply schemas of an endpoint. */
export function answerer(spec: EndpointSpec): Answerer {
  const validators = new Map<number, Validator>();
  for (const [status, reply] of Object.entries(spec.replies)) {
    if ("body" in reply) validators.set(Number(status), validator(reply.body, "/reply"));
  }
  const oauthError = spec.wire === "oauth" ? validator(oauthErrorSchema, "/reply") : null;
  return (reply, ifNoneMatch) => {
    if (isProblem(reply)) return encodeReply(reply);
    const declared = spec.replies[reply.status] ?? (oauthError && reply.status >= 400 ? oauthErrorSpec : undefined);
    if (declared === undefined) throw new Error(`${spec.id} answered ${reply.status}, which its spec does not declare`);
    const check = declared === oauthErrorSpec ? oauthError : validators.get(reply.status);
    const findings = check?.(reply.body, "en") ?? [];
    if (findings.length > 0) {
      const where = findings.map((finding) => `${finding.pointer} ${finding.code}`).join(", ");
      throw new Error(`${spec.id} answered a body that its spec does not allow: ${where}`);
    }
    const answer = encodeReply(reply, "content" in declared ? declared.content[0] : jsonMediaType);
    if (spec.method === "GET" && reply.status === 200) return conditional(answer, reply, ifNoneMatch);
    return answersVersion(spec, reply.status) ? withEtag(answer, reply) : answer;
  };
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
  const bytes = empty ? "" : typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);
  return {
    status: reply.status,
    headers: {
      "cache-control": "no-store",
      ...(empty ? {} : { "content-type": mediaType }),
      ...lowerCase(reply.headers),
    },
    body:
      typeof bytes === "string" ? Buffer.from(bytes) : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
  };
}

/** A change answers the version that it made, so that the next one needs no reading in between. */
export function answersVersion({ method, replies }: EndpointSpec, status: number): boolean {
  const reply = replies[status];
  return method === "PATCH" && reply !== undefined && "body" in reply;
}

function withEtag(answer: Answer, { body }: Reply): Answer {
  return { ...answer, headers: { etag: etagOf(body), ...answer.headers } };
}

function conditional(answer: Answer, reply: Reply, ifNoneMatch: string | undefined): Answer {
  const own = lowerCase(reply.headers);
  const etag = String(own.etag ?? etagOf(reply.body));
  const headers = { "cache-control": "private, no-cache", ...own, etag };
  if (noneMatch(ifNoneMatch, etag)) return { status: 304, headers, body: Buffer.alloc(0) };
  return { ...answer, headers: { ...answer.headers, ...headers } };
}

/** One spelling per name, so that a reply's own header replaces the standard one instead of standing beside it. */
function lowerCase(headers: HeaderValues = {}): Record<string, string | readonly string[]> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
