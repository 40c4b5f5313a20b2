import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { declared, problemCodes, problems } from "../../declarations.ts";
import { apiDocument, endpoints, events, tags } from "../../endpoints.ts";
import { noteCreated, noteEndpoints } from "../../testing/notes.ts";
import { declaredProblems, type Endpoint, endpoint } from "./endpoint.ts";
import { openapiDocument } from "./openapi.ts";
import { isOauthPath } from "./path-rules.ts";
import { closed, Type, text } from "./schema.ts";

interface Response {
  readonly description: string;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: Readonly<Record<string, { readonly examples?: Readonly<Record<string, unknown>> }>>;
}

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly security: readonly object[];
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly description: string }[];
  readonly responses: Readonly<Record<string, Response>>;
}

interface Document {
  readonly openapi: string;
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly webhooks: Readonly<Record<string, unknown>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

const allTags = [...tags, { name: "webhooks", description: "For tests." }];
const everything = [...endpoints, ...noteEndpoints];
const make = (list: readonly Endpoint[] = everything) =>
  openapiDocument({
    endpoints: list,
    events: [...events, noteCreated],
    tags: allTags,
    version: "1.2.3",
    declared,
  }) as unknown as Document;
const document = make();
const operations = Object.entries(document.paths).flatMap(([url, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ url, method, operation })),
);

/** Every object in the document, with the way to it. */
function* objects(value: unknown, way = "#"): Generator<{ way: string; object: Readonly<Record<string, unknown>> }> {
  if (typeof value !== "object" || value === null) return;
  if (!Array.isArray(value)) yield { way, object: value as Record<string, unknown> };
  for (const [key, child] of Object.entries(value)) yield* objects(child, `${way}/${key.replaceAll("/", "~1")}`);
}

/** A token by whichever way, or one that has the operation's scope by OAuth. */
function isScoped(security: readonly object[]): boolean {
  const [bearer, oauth2, ...more] = security as { oauth2?: string[] }[];
  return bearer !== undefined && "bearer" in bearer && oauth2?.oauth2?.length === 1 && more.length === 0;
}

function resolve(reference: string): unknown {
  const keys = reference.slice(2).split("/");
  return keys.reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], document);
}

describe("the document", () => {
  test("is the same at every making, whatever was made before, and names no machine", () => {
    assert.equal(JSON.stringify(make()), JSON.stringify(document));
    assert.equal(JSON.stringify(apiDocument()), JSON.stringify(apiDocument()));
    assert.ok(!/127\.0\.0\.1|localhost/.test(JSON.stringify(document)));
  });

  test("is OpenAPI 3.1, and every schema in it is JSON Schema 2020-12", () => {
    assert.match(document.openapi, /^3\.1\.\d$/);
    const ajv = new Ajv2020({ strict: false });
    const schemas = [...objects(document)].filter(({ way }) => /\/(schema|components\/schemas\/[^/]+)$/.test(way));
    assert.ok(schemas.length > 50);
    for (const { way, object } of schemas) assert.ok(ajv.validateSchema(object), `${way}: ${ajv.errorsText()}`);
  });

  test("every reference leads somewhere, and every component is referred to", () => {
    const references = [...objects(document)].flatMap(({ object }) =>
      typeof object.$ref === "string" ? [object.$ref] : [],
    );
    for (const reference of references) assert.ok(resolve(reference), reference);
    const used = new Set(references);
    for (const kind of ["schemas", "headers", "examples"]) {
      for (const name of Object.keys(document.components[kind] ?? {})) {
        assert.ok(used.has(`#/components/${kind}/${name}`), `${kind}/${name} is not used`);
      }
    }
  });

  test("every declared type has its bounds: strings a length, integers a range, lists a size, objects are closed", () => {
    const faults = [...objects(document)].flatMap(({ way, object }) => {
      if (/\/(examples|example|value)(\/|$)/.test(way)) return [];
      const fault = unbounded(object);
      return fault === undefined ? [] : [`${way}: ${fault}`];
    });
    assert.deepEqual(faults, []);
  });

  function unbounded(schema: Readonly<Record<string, unknown>>): string | undefined {
    const closedList = "enum" in schema || "const" in schema;
    if (schema.type === "string" && !closedList) {
      if (!("maxLength" in schema)) return "no maxLength";
      if (!("pattern" in schema || "format" in schema)) return "no pattern or format";
    }
    if (schema.type === "integer" && !("minimum" in schema && "maximum" in schema && "format" in schema))
      return "no range";
    if (schema.type === "array" && !("maxItems" in schema)) return "no maxItems";
    const inner = !("additionalProperties" in schema) && JSON.stringify(schema).includes('"enum"');
    const boundedMap = "maxProperties" in schema && ("patternProperties" in schema || "additionalProperties" in schema);
    const open = schema.additionalProperties !== false && !inner && !boundedMap && !("properties" in schema);
    if (schema.type === "object" && open) {
      return "not closed";
    }
    return undefined;
  }
});

describe("operations", () => {
  test("every endpoint is in it once, under its documented spelling, with a name that no other has", () => {
    assert.deepEqual(
      operations.map(({ url, method, operation }) => `${operation.operationId} ${method.toUpperCase()} ${url}`).sort(),
      everything.map(({ spec }) => `${spec.id} ${spec.method} ${spec.path}`).sort(),
    );
    assert.equal(new Set(operations.map(({ operation }) => operation.operationId)).size, operations.length);
  });

  test("each says what it does, belongs to a declared tag and says who may call it", () => {
    const known = new Set(document.tags.map((tag) => tag.name));
    for (const { operation } of operations) {
      assert.ok(operation.summary.length > 3 && operation.description.length > 3, operation.operationId);
      assert.ok(operation.tags.length === 1 && known.has(operation.tags[0] ?? ""), operation.operationId);
      assert.ok(operation.security.length === 1 || isScoped(operation.security), operation.operationId);
      for (const parameter of operation.parameters ?? []) assert.ok(parameter.description, operation.operationId);
    }
  });

  test("every path parameter is declared, and nothing is declared that the path lacks", () => {
    for (const { url, operation } of operations) {
      const inPath = [...url.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
      const declared = (operation.parameters ?? []).filter((one) => one.in === "path").map((one) => one.name);
      assert.deepEqual(declared, inPath, operation.operationId);
    }
  });

  test("every code that an endpoint may answer has its status, its example and the headers that belong to it", () => {
    for (const { spec } of everything) {
      const responses = document.paths[spec.path]?.[spec.method.toLowerCase()]?.responses ?? {};
      const codes =
        spec.wire !== undefined || isOauthPath(declared.paths, spec.path)
          ? []
          : declaredProblems(spec, declared.oauthScopes);
      for (const code of codes) {
        const response = responses[String(problems[code].status)];
        const examples = response?.content?.["application/problem+json"]?.examples ?? {};
        assert.ok(code in examples, `${spec.id} ${code}`);
      }
      for (const [status, response] of Object.entries(responses)) {
        const headers = response.headers ?? {};
        assert.ok("X-Request-Id" in headers && "X-RateLimit-Limit" in headers, `${spec.id} ${status}`);
        if (status === "429" || status === "503") assert.ok("Retry-After" in headers, `${spec.id} ${status}`);
        const insufficient = JSON.stringify(response).includes("insufficient_scope");
        assert.equal("WWW-Authenticate" in headers, status === "401" || insufficient, `${spec.id} ${status}`);
      }
    }
  });

  test("what speaks OAuth declares the errors of that protocol, and those of our stages in its form", () => {
    const speaking = everything.filter(({ spec }) => spec.wire === "oauth");
    assert.ok(speaking.length > 10);
    for (const { spec } of speaking) {
      const responses = document.paths[spec.path]?.[spec.method.toLowerCase()]?.responses ?? {};
      for (const status of ["400", "401", "429", "500", "503"]) {
        assert.ok("application/json" in (responses[status]?.content ?? {}), `${spec.id} ${status}`);
      }
      assert.ok(!JSON.stringify(responses).includes("problem+json"), spec.id);
    }
  });

  test("what people see declares every refusal as a page, and explains it", () => {
    const pages = everything.filter(({ spec }) => spec.wire === "pages");
    assert.ok(pages.length > 10);
    for (const { spec, explain } of pages) {
      assert.ok(explain, spec.id);
      const responses = document.paths[spec.path]?.[spec.method.toLowerCase()]?.responses ?? {};
      for (const code of declaredProblems(spec, declared.oauthScopes)) {
        const { status } = problems[code];
        assert.deepEqual(Object.keys(responses[String(status)]?.content ?? {}), ["text/html"], `${spec.id} ${status}`);
      }
    }
  });

  test("features that the kernel adds are declared: 304 of a GET, Idempotency-Key of a POST, If-Match where needed", () => {
    const byId = new Map(operations.map(({ operation }) => [operation.operationId, operation]));
    const headersOf = (id: string) =>
      (byId.get(id)?.parameters ?? []).filter((one) => one.in === "header").map((one) => one.name);
    assert.ok(byId.get("notes.get")?.responses["304"]);
    assert.deepEqual(headersOf("notes.get"), ["If-None-Match"]);
    assert.deepEqual(headersOf("notes.create"), ["Idempotency-Key"]);
    assert.deepEqual(headersOf("notes.update"), ["If-Match"]);
    assert.ok(byId.get("notes.create")?.responses["201"]?.headers?.["Idempotency-Replayed"]);
  });
});

describe("mistakes of ours", () => {
  const made = (title: string, length: number, id: string) =>
    endpoint(
      {
        id,
        method: "GET",
        path: `/v1/${id}`,
        tag: "health",
        summary: "For tests",
        description: "For tests.",
        access: { kind: "public" },
        replies: { 200: { description: "Fine.", body: closed({ name: text(length) }, { title }) } },
      },
      async () => ({ status: 200, body: { name: "x" } }),
    );

  test("two different schemas under one title are refused by that title; the same one twice is fine", () => {
    assert.throws(() => make([made("Thing", 5, "one"), made("Thing", 6, "two")]), /Thing/);
    assert.doesNotThrow(() => make([made("Thing", 5, "one"), made("Thing", 5, "two")]));
  });

  test("two endpoints with one method and path, or one name, are refused: the later would hide the earlier", () => {
    assert.throws(() => make([made("A", 5, "one"), made("B", 5, "one")]), /one/);
  });

  test("a titled schema inside another, in a list or behind null becomes a reference there too", () => {
    const inner = closed({ name: text(5) }, { title: "Inner" });
    const outer = closed({ list: Type.Array(inner, { maxItems: 2 }), maybe: Type.Union([inner, Type.Null()]) });
    const spec = { ...made("X", 5, "three").spec, replies: { 200: { description: "Fine.", body: outer } } };
    const nested = make([{ spec, handle: async () => ({ status: 200 }) }]);
    assert.equal(JSON.stringify(nested.paths).match(/#\/components\/schemas\/Inner/g)?.length, 2);
  });
});

test("events are described in the webhooks section", () => {
  assert.deepEqual(Object.keys(document.webhooks), [...events.map(({ name }) => name), "note.created"]);
});

test("every code of the catalogue has a title and a sentence in both languages, and a form that fits in an address", () => {
  for (const code of problemCodes) {
    const { status, title, detail } = problems[code];
    assert.match(code, /^[a-z]+(_[a-z]+)*$/);
    assert.ok(status >= 400 && status < 600);
    for (const language of ["en", "tr"] as const) {
      assert.ok(title[language].length > 2 && title[language].length <= 200, code);
      assert.ok(detail[language].endsWith(".") && detail[language].length <= 1000, code);
    }
    assert.notEqual(detail.en, detail.tr, code);
  }
});
