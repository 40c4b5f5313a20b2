/**
 * The responses of an operation in the OpenAPI document. An operation has its own successful
 * answers; problems, errors of OAuth and 304 are components that operations share. `x-problems` lists the codes of an
 * operation.
 */

import { isRecorded } from "../idempotency.ts";
import type { ProblemCode } from "../problems.ts";
import { answersVersion } from "./answer.ts";
import {
  declaredProblems,
  type EndpointSpec,
  hasRanges,
  type ReplySpec,
  showsPage,
  takesIdempotencyKey,
} from "./endpoint.ts";
import { oauthErrorSchema } from "./oauth-error.ts";
import {
  binarySchema,
  type Components,
  errorForm,
  type HeaderName,
  type JsonObject,
  problemCodesOf,
} from "./openapi-components.ts";

/** Every response of an operation, by status. */
export function responses(spec: EndpointSpec, components: Components): JsonObject {
  const all: Record<string, JsonObject> = {};
  for (const [status, reply] of Object.entries(spec.replies)) {
    all[status] = replyResponse(spec, Number(status), reply, components);
  }
  if (spec.method === "GET" && spec.replies[200] !== undefined) all["304"] = notModified(spec, components);
  const statuses = errorStatuses(spec, components);
  const named = statuses.filter((status) => components.isComplete || isNamed(spec, status, components));
  for (const status of named) all[String(status)] ??= errorResponse(spec, status, components);
  if (named.length < statuses.length) all.default = defaultResponse(spec, components);
  return all;
}

/** Beside those of our stages, the protocol itself has its own. */
const oauthStatuses = [400, 401, 403, 429, 500, 503];

/** Statuses that readers and linters look for in every operation. */
const expectedStatuses = [400, 401, 429, 500];

/** Statuses that say the same whatever the operation: a media type that is none, a service that cannot answer now. */
const generalStatuses = [415, 503];

function errorStatuses(spec: EndpointSpec, components: Components): readonly number[] {
  const { problems, oauthScopes } = components.declared;
  const ofStages = [...declaredProblems(spec, oauthScopes)].map((code) => problems[code].status);
  const ofProtocol = errorForm(spec, components.declared) === "oauth" ? oauthStatuses : [];
  return [...new Set([...ofStages, ...ofProtocol])].sort((a, b) => a - b);
}

/** Whether the published document has a response of its own for a status. What every operation has is in `default`. */
function isNamed(spec: EndpointSpec, status: number, components: Components): boolean {
  if (errorForm(spec, components.declared) === "oauth") return oauthStatuses.includes(status);
  if (expectedStatuses.includes(status)) return true;
  if (generalStatuses.includes(status)) return false;
  const { problems } = components.declared;
  const common = components.commonProblems;
  return problemCodesOf(spec, components.declared).some(
    (code) => problems[code].status === status && !common.includes(code),
  );
}

/** Every header that a problem can have beside those of every answer. */
const defaultHeaders = ["Retry-After", "WWW-Authenticate", "Idempotency-Replayed"] as const;

function defaultResponse(spec: EndpointSpec, components: Components): JsonObject {
  if (errorForm(spec, components.declared) === "oauth") {
    return withRetirement(spec, components, "OauthDefault", () => oauthErrorResponse(null, false, components));
  }
  const { problems } = components.declared;
  const isGeneral = (code: ProblemCode) =>
    generalStatuses.includes(problems[code].status) ||
    (components.commonProblems.includes(code) && !expectedStatuses.includes(problems[code].status));
  const codes = components.problemCodes.filter(isGeneral);
  const make = () => problemResponse(codes, defaultHeaders, components);
  return withRetirement(spec, components, "ProblemDefault", make);
}

function errorResponse(spec: EndpointSpec, status: number, components: Components): JsonObject {
  const form = errorForm(spec, components.declared);
  if (form === "page") return withRetirement(spec, components, `Page${status}`, () => pageResponse(status, components));
  if (form === "oauth") {
    const kind = showsPage(spec) ? "OauthPage" : "Oauth";
    const make = () => oauthErrorResponse(status, showsPage(spec), components);
    return withRetirement(spec, components, `${kind}${status}`, make);
  }
  const { headers, suffix } = problemHeaders(spec, status, components);
  const codes = components.problemCodes.filter((code) => components.declared.problems[code].status === status);
  const make = () => problemResponse(codes, headers, components);
  return withRetirement(spec, components, `Problem${status}${suffix}`, make);
}

/** Operations that will be retired have headers of their own on every answer; the others share the response. */
function withRetirement(spec: EndpointSpec, components: Components, name: string, make: () => JsonObject): JsonObject {
  if (spec.deprecated === undefined) return components.response(name, make);
  const response = make();
  return { ...response, headers: { ...(response.headers as object), ...retirementHeaders(spec, components) } };
}

function retirementHeaders({ deprecated }: EndpointSpec, components: Components): JsonObject {
  if (deprecated === undefined) return {};
  return Object.fromEntries((["Deprecation", "Sunset", "Link"] as const).map((name) => components.header(name)));
}

function notModified(spec: EndpointSpec, components: Components): JsonObject {
  const make = () => ({
    description: "You already have this version.",
    headers: responseHeaders(components, ["ETag", ...(hasRanges(spec) ? (["Accept-Ranges"] as const) : [])]),
  });
  return withRetirement(spec, components, hasRanges(spec) ? "NotModifiedContent" : "NotModified", make);
}

function replyResponse(spec: EndpointSpec, status: number, reply: ReplySpec, components: Components): JsonObject {
  const own = Object.entries(reply.headers ?? {}).map(([name, schema]) => [
    name,
    { schema: components.schema(schema, "answer") },
  ]);
  const standard: HeaderName[] = [];
  const isPart = hasRanges(spec) && status === 206;
  if ((spec.method === "GET" && status === 200) || isPart || answersVersion(spec, status)) standard.push("ETag");
  if (hasRanges(spec) && "stream" in reply) standard.push("Accept-Ranges");
  if (isPart) standard.push("Content-Range");
  if (status === 200 && spec.query?.properties.cursor !== undefined) standard.push("Link");
  if (takesIdempotencyKey(spec)) standard.push("Idempotency-Replayed");
  const content = contentOf(spec, reply, components);
  return {
    description: reply.description,
    headers: {
      ...ownHeaders(components, standard),
      ...Object.fromEntries(own),
      ...retirementHeaders(spec, components),
    },
    ...(content && { content }),
  };
}

function contentOf(spec: EndpointSpec, reply: ReplySpec, components: Components): JsonObject | null {
  if ("body" in reply) {
    const schema = components.schema(reply.body, "answer");
    // Endpoints of tests need no examples.
    const shown = !components.isComplete && { examples: { success: components.answerExample(reply.body, spec.id) } };
    return { "application/json": { schema, ...shown } };
  }
  if ("stream" in reply) return Object.fromEntries(reply.stream.map((type) => [type, streamContent]));
  if (!("content" in reply)) return null;
  const media = reply.example === undefined ? {} : { examples: { success: { value: reply.example } } };
  return Object.fromEntries(reply.content.map((type) => [type, media]));
}

const streamContent = { schema: binarySchema(), examples: { success: { summary: "The bytes.", value: "…" } } };

/**
 * The headers of a problem beside those of every answer, and how the name of such a response ends. The published document
 * has one response per status, with every header that may come.
 */
function problemHeaders(spec: EndpointSpec, status: number, components: Components) {
  const isPublished = !components.isComplete;
  const isScoped =
    status === 403 && (isPublished || problemCodesOf(spec, components.declared).includes("insufficient_scope"));
  const isKeyed = (isPublished || takesIdempotencyKey(spec)) && isRecorded(status);
  const headers: HeaderName[] = [
    ...headersOfStatus(status),
    ...(isScoped ? (["WWW-Authenticate"] as const) : []),
    ...(isKeyed ? (["Idempotency-Replayed"] as const) : []),
    ...(isKeyed && status === inProgressStatus ? (["Retry-After"] as const) : []),
  ];
  const suffix = isPublished ? "" : `${isScoped ? "Scoped" : ""}${isKeyed ? "Keyed" : ""}`;
  return { headers, suffix };
}

/** Of `idempotency_in_progress`, which says when to ask again. */
const inProgressStatus = 409;

function headersOfStatus(status: number): HeaderName[] {
  if (status === 401) return ["WWW-Authenticate"];
  if (status === 412) return ["Tus-Version"];
  if (status === 416) return ["Content-Range"];
  return status === 429 || status === 503 ? ["Retry-After"] : [];
}

/** A problem with one of these codes, and an example of the first. */
function problemResponse(
  codes: readonly ProblemCode[],
  headers: readonly HeaderName[],
  components: Components,
): JsonObject {
  return {
    description: codes.map((code) => `\`${code}\`: ${components.declared.problems[code].title.en}`).join("; "),
    headers: responseHeaders(components, headers),
    content: {
      "application/problem+json": {
        schema: components.schema(components.problemSchema, "answer"),
        examples: Object.fromEntries(codes.slice(0, 1).map((code) => components.problemExample(code))),
      },
    },
  };
}

/** Of what the transport refuses before it knows the address: never a page. */
const parserCodes = ["malformed_request", "headers_too_large", "request_timeout"] as const;

/** A problem as a page: what the kernel's stages may answer to a person. */
function pageResponse(status: number, components: Components): JsonObject {
  const isOfParser = parserCodes.some((code) => components.declared.problems[code].status === status);
  const ofParser = { "application/problem+json": { schema: components.schema(components.problemSchema, "answer") } };
  return {
    description: "A page that says what is wrong and what to do.",
    headers: responseHeaders(components, headersOfStatus(status)),
    content: { "text/html": {}, ...(isOfParser && ofParser) },
  };
}

/** Errors in the form of RFC 6749. An address that people open answers them as a page too. */
function oauthErrorResponse(status: number | null, alsoPage: boolean, components: Components): JsonObject {
  return {
    description: `${status === null ? "`invalid_request`" : oauthErrorTitles[status]} (RFC 6749 form).`,
    headers: responseHeaders(components, status === null ? [] : headersOfStatus(status)),
    content: {
      "application/json": { schema: components.schema(oauthErrorSchema, "answer") },
      ...(alsoPage && { "text/html": {} }),
    },
  };
}

const oauthErrorTitles: Readonly<Record<number, string>> = {
  400: "The request is wrong; `error` names the error",
  401: "`invalid_client`: the client is unknown or did not prove that it is itself",
  403: "`access_denied`",
  404: "`invalid_request`: there is nothing at this address",
  406: "`invalid_request`: the answer cannot be given in a media type that is accepted",
  408: "`invalid_request`: the request did not arrive in time",
  413: "`invalid_request`: the body is too large",
  414: "`invalid_request`: the address is too long",
  415: "`invalid_request`: the body must be `application/x-www-form-urlencoded`",
  422: "`invalid_request`: the request breaks a rule",
  429: "`temporarily_unavailable`: a limit is exceeded",
  431: "`invalid_request`: the headers are too large",
  500: "`server_error`",
  503: "`temporarily_unavailable`",
};

function responseHeaders(components: Components, extra: readonly HeaderName[]): JsonObject {
  return Object.fromEntries([...everyAnswer, ...extra].map((name) => components.header(name)));
}

/**
 * The headers of an operation's own answer. Those of every answer are in `x-headers` of the document; here the published
 * one repeats what linters look for in each response.
 */
function ownHeaders(components: Components, extra: readonly HeaderName[]): JsonObject {
  if (components.isComplete) return responseHeaders(components, extra);
  const names = ["X-RateLimit-Limit", "Access-Control-Allow-Origin", ...extra] as const;
  return Object.fromEntries(names.map((name) => components.header(name)));
}

/** Headers that every answer has; the last one is optional. */
export const everyAnswer = [
  "X-Request-Id",
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
  "ratelimit",
  "ratelimit-policy",
  "Access-Control-Allow-Origin",
] as const;
