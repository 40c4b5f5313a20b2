/**
 * The OpenAPI 3.1 document, made from the endpoints themselves. A schema with a `title` becomes a component of that
 * name; problems, headers and their examples are components that appear only when an operation uses them.
 */

import type { TSchema } from "typebox";
import type { Declared } from "../declared.ts";
import type { EventType } from "../events.ts";
import { idempotencyKeyPattern, isRecorded } from "../idempotency.ts";
import type { ProblemCode } from "../problems.ts";
import { answersVersion } from "./answer.ts";
import { conditionPattern, maxConditionLength } from "./conditional.ts";
import {
  declaredProblems,
  type Endpoint,
  type EndpointSpec,
  maxBodyBytes,
  needsApiPackage,
  type ReplySpec,
  refusedWhileSuspended,
  takesIdempotencyKey,
} from "./endpoint.ts";
import { oauthErrorSchema } from "./oauth-error.ts";
import { Components, type HeaderName, type JsonObject } from "./openapi-components.ts";
import { isOauthPath } from "./path-rules.ts";

export type { JsonObject };

export interface OpenapiTag {
  readonly name: string;
  readonly description: string;
}

export interface OpenapiSources {
  readonly endpoints: readonly Endpoint[];
  readonly events: readonly EventType[];
  readonly tags: readonly OpenapiTag[];
  readonly version: string;
  readonly declared: Declared;
}

/** Makes the document. Nothing in it depends on the machine, so that the committed copy can be compared. */
export function openapiDocument({ endpoints, events, tags, version, declared }: OpenapiSources): JsonObject {
  const components = new Components(declared);
  const paths: Record<string, JsonObject> = {};
  const seen = new Set<string>();
  for (const { spec } of endpoints) {
    for (const name of [spec.id, `${spec.method} ${spec.path}`]) {
      if (seen.has(name)) throw new Error(`two endpoints are called ${name}`);
      seen.add(name);
    }
    paths[spec.path] = { ...paths[spec.path], [spec.method.toLowerCase()]: operation(spec, components) };
  }
  const webhooks = Object.fromEntries(events.map((event) => [event.name, { post: webhook(event, components) }]));
  return {
    openapi: "3.1.1",
    info: { ...info, version },
    servers: [{ url: "/", description: "This service: local, sandbox or production", "x-internal": false }],
    security: [{ bearer: [] }],
    tags: tags.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    paths,
    webhooks,
    components: components.document(),
  };
}

const info = {
  title: "Emanet API",
  summary: "Backup and restore for accounting offices and companies",
  description: [
    "Bodies are JSON with field names in snake_case. Times are ISO 8601 in UTC. Ids are UUIDs.",
    "Errors are `application/problem+json` (RFC 9457); `code` names the error, and each code has a page under `/docs/errors/`.",
    "Additions (operations, optional parameters, fields, headers, enum values, event kinds) can come at any time; any other change needs a new major version.",
  ].join("\n\n"),
  contact: { name: "Emanet", url: "https://emanet.example/destek", email: "destek@emanet.example" },
  license: { name: "Proprietary", url: "https://emanet.example/kosullar" },
};

/** Who may call it, for people and for the tests that are made from the document. */
function authorization(spec: EndpointSpec, { oauthScopes }: Declared): JsonObject {
  const { access } = spec;
  if (access.kind === "public") return { "x-access": "public" };
  if (access.kind === "staff") return { "x-access": "staff", ...(spec.stepUp && { "x-step-up": true }) };
  return {
    "x-access": access.kind,
    "x-scope": access.scope,
    ...(access.kind === "account" && { "x-roles": access.roles ?? oauthScopes[access.scope].roles }),
    ...(needsApiPackage(spec, oauthScopes) && { "x-entitlement": "api" }),
    ...(refusedWhileSuspended(spec) && { "x-refused-while-suspended": true }),
    ...(spec.stepUp && { "x-step-up": true }),
    ...(spec.withinVaults && { "x-within-vaults": true }),
  };
}

function operation(spec: EndpointSpec, components: Components): JsonObject {
  const parameters = operationParameters(spec, components);
  return {
    operationId: spec.id,
    tags: [spec.tag],
    summary: spec.summary,
    description: spec.description,
    ...(spec.deprecated && { deprecated: true }),
    security: components.security(spec),
    ...authorization(spec, components.declared),
    ...(parameters.length > 0 && { parameters }),
    ...(spec.form && {
      requestBody: {
        required: true,
        description: sizeOf(spec),
        content: { "application/x-www-form-urlencoded": { schema: components.schema(spec.form) } },
      },
    }),
    ...(spec.body && {
      requestBody: {
        required: true,
        description: sizeOf(spec),
        content: { "application/json": { schema: components.schema(spec.body) } },
      },
    }),
    responses: responses(spec, components),
  };
}

function sizeOf(spec: EndpointSpec): string {
  return `At most ${maxBodyBytes(spec) / 1024} KiB.`;
}

function operationParameters(spec: EndpointSpec, components: Components): JsonObject[] {
  const fromSchema = (place: "path" | "query", schema: EndpointSpec["query"]) =>
    Object.entries<TSchema>(schema?.properties ?? {}).map(([name, property]) => {
      const { description, ...rest } = property as TSchema & { description?: string };
      const required = place === "path" || (schema?.required as string[] | undefined)?.includes(name) === true;
      return { name, in: place, required, description: description ?? "", schema: components.schema(rest) };
    });
  const header = (name: string, required: boolean, description: string, schema: object) => ({
    name,
    in: "header",
    required,
    description,
    schema: { type: "string", ...schema },
  });
  const condition = { maxLength: maxConditionLength, pattern: conditionPattern };
  return [
    ...fromSchema("path", spec.params),
    ...fromSchema("query", spec.query),
    ...(takesIdempotencyKey(spec)
      ? [
          header(
            "Idempotency-Key",
            false,
            "A repeated request with the same key gets the first answer, for 24 hours.",
            { maxLength: 255, pattern: idempotencyKeyPattern },
          ),
        ]
      : []),
    ...(spec.ifMatch
      ? [
          header(
            "If-Match",
            spec.ifMatch === "required",
            "The ETag that you read. If the resource has changed since, the answer is 412.",
            condition,
          ),
        ]
      : []),
    ...(spec.method === "GET"
      ? [
          header(
            "If-None-Match",
            false,
            "The ETag that you have. If it is still current, the answer is 304.",
            condition,
          ),
        ]
      : []),
  ];
}

function responses(spec: EndpointSpec, components: Components): JsonObject {
  const all = undatedResponses(spec, components);
  if (spec.deprecated === undefined) return all;
  const headers = Object.fromEntries(retirementHeaders.map((name) => components.header(name)));
  const dated = Object.entries(all as Record<string, { headers?: object }>).map(([status, response]) => [
    status,
    { ...response, headers: { ...response.headers, ...headers } },
  ]);
  return Object.fromEntries(dated);
}

const retirementHeaders = ["Deprecation", "Sunset", "Link"] as const;

function undatedResponses(spec: EndpointSpec, components: Components): JsonObject {
  const all: Record<string, JsonObject> = {};
  for (const [status, reply] of Object.entries(spec.replies)) {
    all[status] = replyResponse(spec, Number(status), reply, components);
  }
  if (spec.method === "GET" && spec.replies[200] !== undefined) {
    all["304"] = { description: "You already have this version.", headers: responseHeaders(components, ["ETag"]) };
  }
  if (spec.wire === "oauth" || isOauthPath(components.declared.paths, spec.path))
    return { ...oauthErrors(spec, components), ...all };
  if (spec.wire === "pages") return { ...pageErrors(spec, components), ...all };
  const { problems } = components.declared;
  const byStatus = Map.groupBy(problemsOf(spec, components), (code) => problems[code].status);
  for (const [status, codes] of byStatus) all[String(status)] = problemResponse(spec, status, codes.sort(), components);
  return all;
}

function replyResponse(spec: EndpointSpec, status: number, reply: ReplySpec, components: Components): JsonObject {
  const own = Object.entries(reply.headers ?? {}).map(([name, schema]) => [
    name,
    { schema: components.schema(schema) },
  ]);
  const standard: HeaderName[] = [];
  if ((spec.method === "GET" && status === 200) || answersVersion(spec, status)) standard.push("ETag");
  if (status === 200 && spec.query?.properties.cursor !== undefined) standard.push("Link");
  if (takesIdempotencyKey(spec)) standard.push("Idempotency-Replayed");
  const content =
    "body" in reply
      ? { "application/json": { schema: components.schema(reply.body) } }
      : "content" in reply
        ? Object.fromEntries(reply.content.map((type) => [type, {}]))
        : null;
  return {
    description: reply.description,
    headers: { ...responseHeaders(components, standard), ...Object.fromEntries(own) },
    ...(content && { content }),
  };
}

function problemResponse(spec: EndpointSpec, status: number, codes: ProblemCode[], components: Components): JsonObject {
  const extra: HeaderName[] = [];
  if (status === 401 || codes.includes("insufficient_scope")) extra.push("WWW-Authenticate");
  if (status === 429 || status === 503 || codes.includes("idempotency_in_progress")) extra.push("Retry-After");
  if (takesIdempotencyKey(spec) && isRecorded(status)) extra.push("Idempotency-Replayed");
  const schema = {
    allOf: [
      components.schema(components.problemSchema),
      { type: "object", properties: { code: { type: "string", enum: codes } } },
    ],
  };
  return {
    description: codes.map((code) => `\`${code}\`: ${components.declared.problems[code].title.en}`).join("; "),
    headers: responseHeaders(components, extra),
    content: {
      "application/problem+json": {
        schema,
        examples: Object.fromEntries(codes.map((code) => components.example(code))),
      },
    },
  };
}

function problemsOf(spec: EndpointSpec, { declared }: Components): ReadonlySet<ProblemCode> {
  return declaredProblems(spec, declared.oauthScopes);
}

function statusesOf(spec: EndpointSpec, components: Components): number[] {
  return [...problemsOf(spec, components)].map((code) => components.declared.problems[code].status);
}

/** Errors in the form of RFC 6749: what the kernel's stages may answer, and what the protocol itself may. */
function oauthErrors(spec: EndpointSpec, components: Components): Record<string, JsonObject> {
  const ofProtocol = [400, 401, 403, 429, 500, 503];
  const ofStages = statusesOf(spec, components);
  const statuses = [...new Set([...ofProtocol, ...ofStages])].sort((a, b) => a - b);
  return Object.fromEntries(statuses.map((status) => [status, oauthErrorResponse(status, components)]));
}

/** Problems as pages: what the kernel's stages may answer to a person. */
function pageErrors(spec: EndpointSpec, components: Components): Record<string, JsonObject> {
  const statuses = [...new Set(statusesOf(spec, components))];
  return Object.fromEntries(
    statuses.map((status) => [
      status,
      {
        description: "A page that says what is wrong and what to do.",
        headers: responseHeaders(components, headersOfStatus(status)),
        content: { "text/html": {} },
      },
    ]),
  );
}

function headersOfStatus(status: number): HeaderName[] {
  if (status === 401) return ["WWW-Authenticate"];
  return status === 429 || status === 503 ? ["Retry-After"] : [];
}

function oauthErrorResponse(status: number, components: Components): JsonObject {
  return {
    description: `${oauthErrorTitles[status]} (RFC 6749 form).`,
    headers: responseHeaders(components, headersOfStatus(status)),
    content: { "application/json": { schema: components.schema(oauthErrorSchema) }, "text/html": {} },
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
  const names = [...everyAnswer, ...extra];
  return Object.fromEntries(names.map((name) => components.header(name)));
}

const everyAnswer = [
  "X-Request-Id",
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
  "ratelimit",
  "ratelimit-policy",
  "Access-Control-Allow-Origin",
] as const;

function webhook(event: EventType, components: Components): JsonObject {
  return {
    operationId: `webhooks.${event.name}`,
    tags: ["webhooks"],
    summary: event.summary,
    description: event.description,
    security: [{}],
    requestBody: { required: true, content: { "application/json": { schema: components.schema(event.fields) } } },
    responses: { "2XX": { description: "Any 2xx within 15 seconds counts as delivered." } },
  };
}
