/**
 * The parts of the OpenAPI document that operations share by reference: schemas with a title, responses, headers of
 * requests and answers, examples, ways to sign in. Each appears when an operation uses it.
 */

import type { TSchema } from "typebox";
import { pageQuery } from "../cursors.ts";
import type { Declared } from "../declared.ts";
import { idempotencyKeyPattern } from "../idempotency.ts";
import type { ProblemCode, ProblemDefinition } from "../problems.ts";
import { conditionPattern, maxConditionLength } from "./conditional.ts";
import { declaredProblems, type EndpointSpec } from "./endpoint.ts";
import { exampleOf } from "./openapi-examples.ts";
import { isOauthPath, isStaffOnlyPath } from "./path-rules.ts";
import { problemSchema } from "./problem-schema.ts";
import { identifier, Type } from "./schema.ts";

export type JsonObject = { [key: string]: unknown };

/** Readers of the document ask for a bound. This one (1 PiB) is larger than any snapshot. */
const maxContentBytes = 2 ** 50;

/** Content as it is sent. */
export function binarySchema(maxLength: number = maxContentBytes): JsonObject {
  return { type: "string", format: "binary", maxLength };
}

export type HeaderName = keyof typeof headers;

export type ParameterName = keyof typeof parameters;

/** A schema of a request accepts the members that it names and no others. One of an answer may get more at any time. */
export type Direction = "request" | "answer";

type SharedKind = "responses" | "parameters" | "headers" | "examples";

export interface ComponentOptions {
  readonly specs: readonly EndpointSpec[];
  /** See {@link OpenapiOptions}. */
  readonly isComplete: boolean;
  /** Origin of the URLs; empty for paths that start with a slash. */
  readonly origin: string;
}

/** Gathers what operations refer to. */
export class Components {
  readonly declared: Declared;
  readonly problemSchema: ReturnType<typeof problemSchema>;
  /** Those that an operation of the document can answer. */
  readonly problemCodes: readonly ProblemCode[];
  /** Those that every operation can answer. */
  readonly commonProblems: readonly ProblemCode[];
  readonly isComplete: boolean;
  readonly #origin: string;
  readonly #schemas = new Map<string, unknown>();
  readonly #walked = { request: new WeakMap<object, unknown>(), answer: new WeakMap<object, unknown>() };
  readonly #shared: Readonly<Record<SharedKind, Map<string, JsonObject>>> = {
    responses: new Map(),
    parameters: new Map(),
    headers: new Map(),
    examples: new Map(),
  };
  #usesOauth = false;
  #usesStaff = false;
  #usesShare = false;

  constructor(declared: Declared, { specs, isComplete, origin }: ComponentOptions) {
    this.declared = declared;
    this.problemSchema = problemSchema(declared.problems);
    this.isComplete = isComplete;
    this.#origin = origin;
    const lists = specs.map((spec) => problemCodesOf(spec, declared)).filter((codes) => codes.length > 0);
    this.problemCodes = [...new Set(lists.flat())].sort();
    this.commonProblems = this.problemCodes.filter((code) => lists.every((codes) => codes.includes(code)));
  }

  problemStatuses(): JsonObject {
    return Object.fromEntries(this.problemCodes.map((code) => [code, this.declared.problems[code].status]));
  }

  /** Who may call: an access token, however it was obtained. */
  security({ access, path }: EndpointSpec): JsonObject[] {
    if (access.kind === "public") return [{}];
    if (access.kind === "staff" && isStaffOnlyPath(this.declared.paths, path)) {
      this.#usesStaff = true;
      return [{ staff: [] }];
    }
    if (access.kind === "share") {
      this.#usesShare = true;
      return [{ share: [] }];
    }
    if (access.kind !== "account") return [{ bearer: [] }];
    this.#usesOauth = true;
    const scopes = access.orScope === undefined ? [access.scope] : [access.scope, access.orScope];
    return [{ bearer: [] }, ...scopes.map((scope) => ({ oauth2: [scope] }))];
  }

  /** The schema with every titled part replaced by a reference. */
  schema(schema: unknown, direction: Direction): unknown {
    if (typeof schema !== "object" || schema === null) return schema;
    // Operations share most of their schemas; each is walked once.
    const walked = this.#walked[direction];
    const known = walked.get(schema);
    if (known !== undefined) return known;
    const result = Array.isArray(schema)
      ? schema.map((item) => this.schema(item, direction))
      : this.#component(schema, direction);
    walked.set(schema, result);
    return result;
  }

  #component(schema: object, direction: Direction): JsonObject {
    const { title } = schema as { title?: unknown };
    const opens = direction === "answer" && !this.isComplete;
    // An answer's examples are those of whole answers, under `components/examples`.
    const kept = Object.entries(schema).filter(
      ([key, value]) =>
        !(opens && key === "additionalProperties" && value === false) &&
        !(direction === "answer" && key === "examples" && Array.isArray(value)),
    );
    const inlined = Object.fromEntries(
      kept.map(([key, value]) => [key, literalKeys.has(key) ? value : this.schema(value, direction)]),
    );
    if (typeof title !== "string") return inlined;
    const known = this.#schemas.get(title);
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(inlined)) {
      throw new Error(
        `two different schemas are titled ${title}; one that requests and answers share needs a title for each`,
      );
    }
    this.#schemas.set(title, inlined);
    return reference("schemas", title);
  }

  header(name: HeaderName): [string, JsonObject] {
    const { description, schema } = headers[name];
    return [name, this.#share("headers", name, () => ({ description, schema: this.schema(schema, "answer") }))];
  }

  /** A header of requests. */
  parameter(name: ParameterName): JsonObject {
    return this.#share("parameters", name, () => ({ in: "header", ...parameters[name] }));
  }

  /** A parameter of every list. */
  pageParameter(name: keyof typeof pageQuery): JsonObject {
    const { description, ...schema } = pageQuery[name] as { description?: string };
    const make = () => ({ name, in: "query", required: false, description, schema });
    return this.#share("parameters", name, make);
  }

  /** A response that several operations have, by its name. */
  response(name: string, make: () => JsonObject): JsonObject {
    return this.#share("responses", name, make);
  }

  /** The example of a problem. */
  problemExample(code: ProblemCode): [string, JsonObject] {
    const definition = this.declared.problems[code];
    const make = () => ({ summary: definition.title.en, value: problemExample(code, definition) });
    return [code, this.#share("examples", code, make)];
  }

  /** The example of an answer. Answers of one titled schema share theirs. */
  answerExample(schema: TSchema, place: string): JsonObject {
    const { title } = schema as { title?: unknown };
    if (typeof title !== "string") return { value: exampleOf(schema, place) };
    return this.#share("examples", title, () => ({ value: exampleOf(schema, title) }));
  }

  #share(kind: SharedKind, name: string, make: () => JsonObject): JsonObject {
    const known = this.#shared[kind];
    if (!known.has(name)) known.set(name, make());
    return reference(kind, name);
  }

  document(): JsonObject {
    const { responses, parameters, headers: usedHeaders, examples } = this.#shared;
    return {
      schemas: sorted(this.#schemas),
      responses: sorted(responses),
      parameters: sorted(parameters),
      headers: sorted(usedHeaders),
      examples: sorted(examples),
      securitySchemes: {
        bearer: {
          type: "http",
          scheme: "bearer",
          bearerFormat: "JWT",
          description: "Access token (RFC9068), issued and checked by the rules of RFC8725.",
        },
        ...(this.#usesOauth && { oauth2: oauthScheme(this.declared, this.#origin) }),
        ...(this.#usesStaff && { staff: staffScheme }),
        ...(this.#usesShare && { share: shareScheme }),
      },
    };
  }
}

/** The form of an operation's errors. */
export function errorForm(spec: EndpointSpec, { paths }: Declared): "problem" | "oauth" | "page" {
  if (spec.wire === "oauth" || isOauthPath(paths, spec.path)) return "oauth";
  return spec.wire === "pages" ? "page" : "problem";
}

/** The codes that an operation can answer as problems; empty where errors have another form. */
export function problemCodesOf(spec: EndpointSpec, declared: Declared): readonly ProblemCode[] {
  if (errorForm(spec, declared) !== "problem") return [];
  return [...declaredProblems(spec, declared.oauthScopes)].sort();
}

function reference(kind: string, name: string): JsonObject {
  return { $ref: `#/components/${kind}/${name}` };
}

/** How programs get an access token. The device flow (RFC 8628) has no place in OpenAPI 3.1; its operation says it. */
function oauthScheme({ oauthScopes, paths: { oauth } }: Declared, origin: string): JsonObject {
  const scopes = Object.fromEntries(Object.entries(oauthScopes).map(([name, { description }]) => [name, description]));
  const { description, tokenUrl, authorizationUrl } = oauth;
  const flow = { tokenUrl: `${origin}${tokenUrl}`, refreshUrl: `${origin}${tokenUrl}`, scopes };
  return {
    type: "oauth2",
    description,
    flows: {
      clientCredentials: flow,
      authorizationCode: { authorizationUrl: `${origin}${authorizationUrl}`, ...flow },
    },
  };
}

/** A separate scheme for staff, so that the document shows which operations are not for customers. */
const staffScheme = {
  type: "http",
  scheme: "bearer",
  bearerFormat: "JWT",
  description: "Access token of the platform's staff (RFC9068), issued and checked by the rules of RFC8725.",
};

const shareScheme = {
  type: "http",
  scheme: "bearer",
  bearerFormat: "shr_…",
  description:
    "The secret of an audit share, for an auditor outside the account. It is no JWT, so RFC8725 does not concern it.",
};

/** Keywords whose value is data, not a schema. */
const literalKeys = new Set(["examples", "enum", "const", "default", "required"]);

function sorted(map: ReadonlyMap<string, unknown>): JsonObject {
  return Object.fromEntries([...map].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function count(description: string) {
  return { description, schema: Type.Integer({ format: "int64", minimum: 0, maximum: Number.MAX_SAFE_INTEGER }) };
}

const headers = {
  "X-Request-Id": {
    description: "Id of this request in our logs. It is your own id if you sent a valid one.",
    schema: identifier("^[A-Za-z0-9_-]{1,64}$", ""),
  },
  "X-RateLimit-Limit": count("Limit of the policy with the fewest requests left."),
  "X-RateLimit-Remaining": count("Requests left in that policy."),
  "X-RateLimit-Reset": count("When that policy is fully available again, in Unix seconds."),
  // In small letters: the linter takes the draft's headers in capitals for another way to say the three above.
  ratelimit: {
    description:
      "For every limit of the request: what is left (`r`) and the seconds until it is fully available again (`t`).",
    schema: Type.String({ maxLength: 500, pattern: '^"[a-z_]+";r=[0-9]+;t=[0-9]+' }),
  },
  "ratelimit-policy": {
    description: "For every limit of the request: how many requests (`q`) in how many seconds (`w`).",
    schema: Type.String({ maxLength: 500, pattern: '^"[a-z_]+";q=[0-9]+;w=[0-9]+' }),
  },
  "Access-Control-Allow-Origin": {
    description: "Sent only with documents that any page may read (`*`).",
    schema: { type: "string", const: "*" },
  },
  ETag: { description: "Version of the resource.", schema: Type.String({ maxLength: 80, pattern: '^"[^"]+"$' }) },
  "Accept-Ranges": {
    description: "A part of the content can be asked for with `Range`.",
    schema: { type: "string", const: "bytes" },
  },
  "Content-Range": {
    description: "Which bytes of how many these are; with 416 only how many there are.",
    schema: Type.String({ maxLength: 80, pattern: "^bytes (\\d+-\\d+|\\*)/\\d+$" }),
  },
  Link: {
    description:
      'URL of the next page, `rel="next"` (RFC 8288), except on the last page. For a deprecated operation also the page about it, `rel="deprecation"` and `rel="sunset"`.',
    schema: Type.String({
      maxLength: 20_000,
      pattern: '^<[^>]+>; rel="(next|deprecation|sunset)"(, <[^>]+>; rel="(next|deprecation|sunset)")*$',
    }),
  },
  Deprecation: {
    description: "When the operation was declared deprecated (RFC 9745): `@` and Unix seconds.",
    schema: Type.String({ maxLength: 20, pattern: "^@[0-9]+$" }),
  },
  Sunset: {
    description: "When the operation ends (RFC 8594); from then on it answers 410 `endpoint_sunset`.",
    schema: Type.String({ maxLength: 40, pattern: "^[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT$" }),
  },
  "Idempotency-Replayed": {
    description: "`true` on a repeated answer to the same Idempotency-Key.",
    schema: { type: "string", const: "true" },
  },
  "Retry-After": count("Seconds to wait before the next attempt."),
  "Tus-Version": {
    description: "The version of tus that is spoken, where a request named another one.",
    schema: { type: "string", const: "1.0.0" },
  },
  "WWW-Authenticate": {
    description: "How to authenticate (RFC 6750); under `/oauth2/` how a client authenticates (RFC 7617).",
    schema: Type.String({ maxLength: 500, pattern: "^(Bearer|Basic) " }),
  },
} satisfies Record<string, { description: string; schema: unknown }>;

const condition = { type: "string", maxLength: maxConditionLength, pattern: conditionPattern };
const ifMatch = {
  name: "If-Match",
  description: "The ETag that you read. If the resource has changed since, the answer is 412.",
  schema: condition,
};

const parameters = {
  IdempotencyKey: {
    name: "Idempotency-Key",
    required: false,
    description: "A repeated request with the same key gets the first answer, for 24 hours.",
    schema: { type: "string", maxLength: 255, pattern: idempotencyKeyPattern },
  },
  IfMatch: { ...ifMatch, required: false },
  IfMatchRequired: { ...ifMatch, required: true },
  IfNoneMatch: {
    name: "If-None-Match",
    required: false,
    description: "The ETag that you have. If it is still current, the answer is 304.",
    schema: condition,
  },
  Range: {
    name: "Range",
    required: false,
    description: "One range of bytes, such as `bytes=1000-`. Several ranges are answered with the whole.",
    schema: { type: "string", maxLength: 200, pattern: "^[\\x20-\\x7e]*$" },
  },
  IfRange: {
    name: "If-Range",
    required: false,
    description: "The ETag of the part that you have. If the content is another one, the answer is the whole.",
    schema: { type: "string", maxLength: 200, pattern: "^[\\x20-\\x7e]*$" },
  },
} satisfies Record<string, JsonObject>;

function problemExample(code: ProblemCode, { status, title, detail }: ProblemDefinition): JsonObject {
  const requestId = "0199c0de-0000-7000-8000-000000000000";
  return {
    type: `https://api.emanet.example/docs/errors/${code}`,
    title: title.en,
    status,
    code,
    detail: detail.en,
    instance: `urn:uuid:${requestId}`,
    request_id: requestId,
    ...(code === "validation_failed" && {
      errors: [{ pointer: "/email", code: "wrong_format", detail: "The value does not have the required format." }],
    }),
    ...(code === "rate_limited" && { policy: "applications", limit: 5, window: 3600, retry_after: 1740 }),
  };
}
