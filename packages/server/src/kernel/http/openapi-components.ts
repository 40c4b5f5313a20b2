/**
 * The parts of the OpenAPI document that operations share by reference: schemas with a title, headers, examples of
 * problems, ways to sign in. Each appears when an operation uses it.
 */

import type { Declared } from "../declared.ts";
import type { ProblemCode, ProblemDefinition } from "../problems.ts";
import type { EndpointSpec } from "./endpoint.ts";
import { isStaffOnlyPath } from "./path-rules.ts";
import { problemSchema } from "./problem-schema.ts";
import { identifier, Type } from "./schema.ts";

export type JsonObject = { [key: string]: unknown };

export type HeaderName = keyof typeof headers;

/** Gathers what operations refer to. */
export class Components {
  readonly declared: Declared;
  readonly problemSchema: ReturnType<typeof problemSchema>;
  readonly #schemas = new Map<string, unknown>();
  readonly #walked = new WeakMap<object, unknown>();
  readonly #headers = new Map<string, JsonObject>();
  readonly #examples = new Map<string, JsonObject>();
  #usesOauth = false;
  #usesStaff = false;

  constructor(declared: Declared) {
    this.declared = declared;
    this.problemSchema = problemSchema(declared.problems);
  }

  /** Who may call: an access token, however it was obtained. */
  security({ access, path }: EndpointSpec): JsonObject[] {
    if (access.kind === "public") return [{}];
    if (access.kind === "staff" && isStaffOnlyPath(this.declared.paths, path)) {
      this.#usesStaff = true;
      return [{ staff: [] }];
    }
    if (access.kind !== "account") return [{ bearer: [] }];
    this.#usesOauth = true;
    return [{ bearer: [] }, { oauth2: [access.scope] }];
  }

  /** The schema with every titled part replaced by a reference. */
  schema(schema: unknown): unknown {
    if (typeof schema !== "object" || schema === null) return schema;
    // Operations share most of their schemas; each is walked once.
    const known = this.#walked.get(schema);
    if (known !== undefined) return known;
    const result = Array.isArray(schema) ? schema.map((item) => this.schema(item)) : this.#component(schema);
    this.#walked.set(schema, result);
    return result;
  }

  #component(schema: object): JsonObject {
    const { title } = schema as { title?: unknown };
    const inlined = Object.fromEntries(
      Object.entries(schema).map(([key, value]) => [key, literalKeys.has(key) ? value : this.schema(value)]),
    );
    if (typeof title !== "string") return inlined;
    const known = this.#schemas.get(title);
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(inlined)) {
      throw new Error(`two different schemas are titled ${title}`);
    }
    this.#schemas.set(title, inlined);
    return { $ref: `#/components/schemas/${title}` };
  }

  header(name: keyof typeof headers): [string, JsonObject] {
    const { description, schema } = headers[name];
    this.#headers.set(name, { description, schema: this.schema(schema) });
    return [name, { $ref: `#/components/headers/${name}` }];
  }

  example(code: ProblemCode): [string, JsonObject] {
    const definition = this.declared.problems[code];
    this.#examples.set(code, { summary: definition.title.en, value: problemExample(code, definition) });
    return [code, { $ref: `#/components/examples/${code}` }];
  }

  document(): JsonObject {
    return {
      schemas: sorted(this.#schemas),
      headers: sorted(this.#headers),
      examples: sorted(this.#examples),
      securitySchemes: {
        bearer: {
          type: "http",
          scheme: "bearer",
          bearerFormat: "JWT",
          description: "Access token (RFC9068), issued and checked by the rules of RFC8725.",
        },
        ...(this.#usesOauth && { oauth2: oauthScheme(this.declared) }),
        ...(this.#usesStaff && { staff: staffScheme }),
      },
    };
  }
}

/** How programs get an access token. The device flow (RFC 8628) has no place in OpenAPI 3.1; its operation says it. */
function oauthScheme({ oauthScopes, paths: { oauth } }: Declared): JsonObject {
  const scopes = Object.fromEntries(Object.entries(oauthScopes).map(([name, { description }]) => [name, description]));
  const { description, tokenUrl, authorizationUrl } = oauth;
  const flow = { tokenUrl, refreshUrl: tokenUrl, scopes };
  return {
    type: "oauth2",
    description,
    flows: { clientCredentials: flow, authorizationCode: { authorizationUrl, ...flow } },
  };
}

/** A separate scheme for staff, so that the document shows which operations are not for customers. */
const staffScheme = {
  type: "http",
  scheme: "bearer",
  bearerFormat: "JWT",
  description: "Access token of the platform's staff (RFC9068), issued and checked by the rules of RFC8725.",
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
  ETag: { description: "Version of the resource.", schema: Type.String({ maxLength: 64, pattern: '^"[^"]+"$' }) },
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
  "WWW-Authenticate": {
    description: "How to authenticate (RFC 6750); under `/oauth2/` how a client authenticates (RFC 7617).",
    schema: Type.String({ maxLength: 500, pattern: "^(Bearer|Basic) " }),
  },
} satisfies Record<string, { description: string; schema: unknown }>;

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
