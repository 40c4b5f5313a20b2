/**
 * The OpenAPI 3.1 document, made from the endpoints themselves. A schema with a `title` becomes a component of that
 * name; problems, headers and their examples are components that appear only when an operation uses them. Pages for people
 * are not in it.
 */

import type { TSchema } from "typebox";
import { pageQuery } from "../cursors.ts";
import type { Declared } from "../declared.ts";
import { type EventType, examplePayload, payloadSchema } from "../events.ts";
import {
  type Endpoint,
  type EndpointSpec,
  hasRanges,
  maxBodyBytes,
  needsApiPackage,
  refusedWhileSuspended,
  showsPage,
  takesIdempotencyKey,
} from "./endpoint.ts";
import { binarySchema, Components, type JsonObject, problemCodesOf } from "./openapi-components.ts";
import { everyAnswer, responses } from "./openapi-responses.ts";
import { inDocument, wildcardOf } from "./path-bytes.ts";
import { isStaffOnlyPath } from "./path-rules.ts";

import type { UploadSpec } from "./upload.ts";

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

export interface OpenapiOptions {
  /** Where the service is, without a slash at the end. Without it the document names no machine. */
  readonly origin?: string;
  /**
   * For tests: also the pages for people, and answers with exactly the members that their schemas name. The published
   * document leaves the pages out and says that answers may get more members.
   */
  readonly complete?: true;
}

/** Makes the document. Without an origin nothing in it depends on the machine, so that the committed copy can be compared. */
export function openapiDocument(sources: OpenapiSources, { origin = "", complete }: OpenapiOptions = {}): JsonObject {
  const { events, tags, version, declared } = sources;
  const specs = sources.endpoints.map(({ spec }) => spec).filter((spec) => complete === true || !showsPage(spec));
  refuseDoubles(sources.endpoints);
  const components = new Components(declared, { specs, isComplete: complete === true, origin });
  const isForStaff = (spec: EndpointSpec) => isStaffOnlyPath(declared.paths, spec.path);
  const paths: Record<string, JsonObject> = {};
  for (const spec of lastWhere(specs, isForStaff)) {
    const path = inDocument(spec.path);
    paths[path] = { ...paths[path], [spec.method.toLowerCase()]: operation(spec, components) };
  }
  const webhooks = Object.fromEntries(events.map((event) => [event.name, { post: webhook(event, components) }]));
  const tagNames = tags.map(({ name }) => name).sort();
  const staffTags = new Set(specs.filter(isForStaff).map(({ tag }) => tag));
  return {
    openapi: "3.1.1",
    info: { ...info, version },
    servers: [{ url: origin || "/", description: "This service: local, sandbox or production", "x-internal": false }],
    security: [{ bearer: [] }],
    // Linters want the tags in the order of their names; readers show the groups.
    tags: tags.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    "x-tagGroups": [
      { name: "API", tags: tagNames.filter((name) => !staffTags.has(name)) },
      { name: "Staff", tags: [...staffTags].sort() },
    ],
    "x-headers": everyAnswer,
    "x-problems": { everywhere: components.commonProblems, statuses: components.problemStatuses() },
    paths,
    webhooks,
    components: components.document(),
  };
}

function refuseDoubles(endpoints: readonly Endpoint[]): void {
  const seen = new Set<string>();
  for (const { spec } of endpoints) {
    for (const name of [spec.id, `${spec.method} ${spec.path}`]) {
      if (seen.has(name)) throw new Error(`two endpoints are called ${name}`);
      seen.add(name);
    }
  }
}

/** What is for staff only comes last: customers read the rest. */
function lastWhere<T>(list: readonly T[], isLast: (one: T) => boolean): readonly T[] {
  return [...list.filter((one) => !isLast(one)), ...list.filter(isLast)];
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
  if (access.kind === "public" || access.kind === "share") return { "x-access": access.kind };
  if (access.kind === "staff") return { "x-access": "staff", ...(spec.stepUp && { "x-step-up": true }) };
  return {
    "x-access": access.kind,
    "x-scope": access.scope,
    ...(access.kind === "account" && { "x-roles": access.roles ?? oauthScopes[access.scope].roles }),
    ...(access.kind === "account" && access.dashboard && { "x-dashboard": access.dashboard }),
    ...(needsApiPackage(spec, oauthScopes) && { "x-entitlement": "api" }),
    ...(refusedWhileSuspended(spec) && { "x-refused-while-suspended": true }),
    ...(spec.stepUp && { "x-step-up": true }),
    ...(spec.withinVaults && { "x-within-vaults": true }),
  };
}

function operation(spec: EndpointSpec, components: Components): JsonObject {
  const parameters = operationParameters(spec, components);
  const problems = problemCodesOf(spec, components.declared).filter(
    (code) => !components.commonProblems.includes(code),
  );
  return {
    operationId: spec.id,
    tags: [spec.tag],
    summary: spec.summary,
    description: spec.description,
    ...(spec.deprecated && { deprecated: true }),
    security: components.security(spec),
    ...authorization(spec, components.declared),
    ...(problems.length > 0 && { "x-problems": problems }),
    ...(parameters.length > 0 && { parameters }),
    ...(spec.form && {
      requestBody: {
        required: true,
        description: sizeOf(spec),
        content: { "application/x-www-form-urlencoded": { schema: components.schema(spec.form, "request") } },
      },
    }),
    ...((spec.body || spec.upload) && { requestBody: requestBody(spec, components) }),
    responses: responses(spec, components),
  };
}

function requestBody({ upload, ...spec }: EndpointSpec, components: Components): JsonObject {
  const json = spec.body && { "application/json": { schema: components.schema(spec.body, "request") } };
  const types = upload === undefined ? [] : upload.mediaTypes === "any" ? [anyMediaType] : upload.mediaTypes;
  const more = upload?.anyTypeWith === undefined || types.includes(anyMediaType) ? [] : [anyMediaType];
  const binary = Object.fromEntries(
    [...types, ...more].map((type) => [type, { schema: binarySchema(upload?.maxBytes) }]),
  );
  const sizes = [json && `${upload ? "JSON: " : ""}${sizeOf(spec)}`, upload && uploadTerms(upload)];
  return {
    required: true,
    description: sizes.filter((text) => text !== undefined).join(" "),
    content: { ...json, ...binary },
  };
}

/** Of content whose type says nothing about it. */
const anyMediaType = "application/octet-stream";

function uploadTerms({ maxBytes, encodings = [], anyTypeWith, mediaTypes }: UploadSpec): string {
  const coded = encodings.length === 0 ? "" : ` \`Content-Encoding\` may be ${encodings.join(" or ")}.`;
  const any = mediaTypes === "any" ? "" : anyTypeWith ? ` With \`${anyTypeWith}\` any media type is taken.` : "";
  return `Content: at most ${maxBytes} bytes, sent as it is made, in chunks or with a length.${any}${coded}`;
}

function sizeOf(spec: EndpointSpec): string {
  return `At most ${maxBodyBytes(spec) / 1024} KiB.`;
}

function operationParameters(spec: EndpointSpec, components: Components): JsonObject[] {
  const fromSchema = (place: "path" | "query" | "header", schema: EndpointSpec["query"]) =>
    Object.entries<TSchema>(schema?.properties ?? {}).map(([name, property]) => {
      const shared = Object.hasOwn(pageQuery, name) && pageQuery[name as keyof typeof pageQuery] === property;
      if (shared) return components.pageParameter(name as keyof typeof pageQuery);
      const { description, ...rest } = property as TSchema & { description?: string };
      const required = place === "path" || (schema?.required as string[] | undefined)?.includes(name) === true;
      return { name, in: place, required, description: description ?? "", schema: components.schema(rest, "request") };
    });
  return [
    ...fromSchema("path", spec.params),
    ...wildcardParameter(spec),
    ...fromSchema("query", spec.query),
    ...fromSchema("header", spec.headers),
    ...(takesIdempotencyKey(spec) ? [components.parameter("IdempotencyKey")] : []),
    ...(spec.ifMatch ? [components.parameter(spec.ifMatch === "required" ? "IfMatchRequired" : "IfMatch")] : []),
    ...(spec.method === "GET" ? [components.parameter("IfNoneMatch")] : []),
    ...(hasRanges(spec) ? [components.parameter("Range"), components.parameter("IfRange")] : []),
  ];
}

/** The longest path of a file in a snapshot, with every byte percent-encoded. */
const maxEncodedPathLength = 3 * 4096;

function wildcardParameter({ path }: EndpointSpec): JsonObject[] {
  const name = wildcardOf(path);
  if (name === null) return [];
  const description =
    "Parts with `/` or `%2F` between them. Bytes that are no UTF-8 text are percent-encoded like any other, `%98`.";
  const schema = {
    type: "string",
    minLength: 1,
    maxLength: maxEncodedPathLength,
    pattern: "^[^?#]+$",
    examples: ["Muhasebe/2026/Defter.pdf"],
  };
  return [{ name, in: "path", required: true, description, "x-multi-segment": true, schema }];
}

function webhook(event: EventType, components: Components): JsonObject {
  return {
    operationId: `webhooks.${event.name}`,
    tags: ["webhooks"],
    summary: event.summary,
    description: event.description,
    security: [{}],
    requestBody: {
      required: true,
      content: {
        "application/json": {
          schema: components.schema(payloadSchema(event), "answer"),
          example: examplePayload(event),
        },
      },
    },
    responses: { "2XX": { description: "Any 2xx within 15 seconds counts as delivered." } },
  };
}
