import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { declared, problemCodes, problems } from "../../declarations.ts";
import { apiDocument, endpoints, events, tags } from "../../endpoints.ts";
import { noteCreated, noteEndpoints } from "../../testing/notes.ts";
import { maxUploadBytes, transferEndpoints } from "../../testing/transfers.ts";
import { declaredProblems, type Endpoint, type EndpointSpec, endpoint } from "./endpoint.ts";
import { type OpenapiOptions, openapiDocument } from "./openapi.ts";
import { inDocument } from "./path-bytes.ts";
import { isOauthPath } from "./path-rules.ts";
import { closed, Type, text } from "./schema.ts";

interface Response {
  readonly description: string;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: Readonly<Record<string, { readonly schema?: object; readonly examples?: Examples }>>;
}

type Examples = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly description: string;
}

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly security: readonly object[];
  readonly "x-problems"?: readonly string[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly description: string; readonly content: Readonly<Record<string, unknown>> };
  readonly responses: Readonly<Record<string, Response>>;
}

interface Document {
  readonly openapi: string;
  readonly servers: readonly { readonly url: string }[];
  readonly "x-headers": readonly string[];
  readonly "x-problems": {
    readonly everywhere: readonly string[];
    readonly statuses: Readonly<Record<string, number>>;
  };
  readonly "x-tagGroups": readonly { readonly name: string; readonly tags: readonly string[] }[];
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly webhooks: Readonly<Record<string, unknown>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

const allTags = [...tags, { name: "webhooks", description: "For tests." }];
const everything = [...endpoints, ...noteEndpoints, ...transferEndpoints];
const make = (list: readonly Endpoint[] = everything, options: OpenapiOptions = { complete: true }) =>
  openapiDocument(
    { endpoints: list, events: [...events, noteCreated], tags: allTags, version: "1.2.3", declared },
    options,
  ) as unknown as Document;
/** With the pages and every status of every operation. The published one is made from the same parts. */
const document = make();
const published = make(everything, {});
const operations = operationsOf(document);

function operationsOf(from: Document) {
  return Object.entries(from.paths).flatMap(([url, methods]) =>
    Object.entries(methods).map(([method, stored]) => ({ url, method, operation: withParts(from, stored) })),
  );
}

/** The operation with the parts that it refers to. */
function withParts(from: Document, operation: Operation): Operation {
  const follow = <T extends object>(part: T): T =>
    "$ref" in part ? ((resolve(String(part.$ref), from) as T | undefined) ?? assert.fail(String(part.$ref))) : part;
  const responses = Object.entries(operation.responses).map(([status, response]) => [status, follow(response)]);
  const parameters = operation.parameters && { parameters: operation.parameters.map(follow) };
  return { ...operation, ...parameters, responses: Object.fromEntries(responses) };
}

function responsesOf(spec: EndpointSpec): Operation["responses"] {
  const stored = document.paths[inDocument(spec.path)]?.[spec.method.toLowerCase()];
  return stored === undefined ? {} : withParts(document, stored).responses;
}

/** Every object in the document, with the way to it. */
function* objects(value: unknown, way = "#"): Generator<{ way: string; object: Readonly<Record<string, unknown>> }> {
  if (typeof value !== "object" || value === null) return;
  if (!Array.isArray(value)) yield { way, object: value as Record<string, unknown> };
  for (const [key, child] of Object.entries(value)) yield* objects(child, `${way}/${key.replaceAll("/", "~1")}`);
}

/** Whether its errors are problems: neither errors of OAuth nor pages. */
function answersProblems(spec: EndpointSpec): boolean {
  return spec.wire === undefined && !isOauthPath(declared.paths, spec.path);
}

/** A token by whichever way, or one that has a scope of the operation by OAuth. */
function isScoped(security: readonly object[]): boolean {
  const [bearer, ...byScope] = security as { oauth2?: string[] }[];
  const isOfOne = byScope.every(({ oauth2 }) => oauth2?.length === 1);
  return bearer !== undefined && "bearer" in bearer && byScope.length > 0 && isOfOne;
}

function resolve(reference: string, from: Document): unknown {
  const keys = reference.slice(2).split("/");
  return keys.reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], from);
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
    for (const one of [document, published]) {
      const references = [...objects(one)].flatMap(({ object }) =>
        typeof object.$ref === "string" ? [object.$ref] : [],
      );
      for (const reference of references) assert.ok(resolve(reference, one), reference);
      const used = new Set(references);
      for (const kind of ["schemas", "responses", "parameters", "headers", "examples"]) {
        for (const name of Object.keys(one.components[kind] ?? {})) {
          assert.ok(used.has(`#/components/${kind}/${name}`), `${kind}/${name} is not used`);
        }
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
      everything.map(({ spec }) => `${spec.id} ${spec.method} ${inDocument(spec.path)}`).sort(),
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

  test("every code that an endpoint may answer has its status, its words and the headers that belong to it", () => {
    for (const { spec } of everything) {
      const responses = responsesOf(spec);
      const codes = answersProblems(spec) ? [...declaredProblems(spec, declared.oauthScopes)] : [];
      const { everywhere, statuses } = document["x-problems"];
      const listed = document.paths[inDocument(spec.path)]?.[spec.method.toLowerCase()]?.["x-problems"] ?? [];
      assert.deepEqual(codes.length === 0 ? [] : [...everywhere, ...listed].sort(), codes.sort(), spec.id);
      for (const code of codes) {
        const { status, title } = problems[code];
        const response = responses[String(status)];
        assert.equal(statuses[code], status);
        assert.ok(response?.description.includes(`\`${code}\`: ${title.en}`), `${spec.id} ${code}`);
        assert.ok(response?.content?.["application/problem+json"]?.examples, `${spec.id} ${code}`);
      }
      for (const [status, response] of Object.entries(responses)) {
        const headers = response.headers ?? {};
        assert.ok("X-Request-Id" in headers && "X-RateLimit-Limit" in headers, `${spec.id} ${status}`);
        if (status === "429" || status === "503") assert.ok("Retry-After" in headers, `${spec.id} ${status}`);
        const insufficient = status === "403" && codes.includes("insufficient_scope");
        assert.equal("WWW-Authenticate" in headers, status === "401" || insufficient, `${spec.id} ${status}`);
      }
    }
  });

  test("what speaks OAuth declares the errors of that protocol, and those of our stages in its form", () => {
    const speaking = everything.filter(({ spec }) => spec.wire === "oauth");
    assert.ok(speaking.length > 10);
    for (const { spec } of speaking) {
      const responses = responsesOf(spec);
      for (const status of ["400", "401", "429", "500", "503"]) {
        assert.ok("application/json" in (responses[status]?.content ?? {}), `${spec.id} ${status}`);
      }
      assert.ok(!JSON.stringify(responses).includes("problem+json"), spec.id);
    }
  });

  test("what people see declares every refusal as a page, those of an unread request also as a problem", () => {
    // Nothing but the head was read, so nobody knows that the address is a page's.
    const unread = [400, 408, 431];
    const pages = everything.filter(({ spec }) => spec.wire === "pages");
    assert.ok(pages.length > 10);
    for (const { spec, explain } of pages) {
      assert.ok(explain, spec.id);
      const responses = responsesOf(spec);
      for (const code of declaredProblems(spec, declared.oauthScopes)) {
        const { status } = problems[code];
        const types = ["text/html", ...(unread.includes(status) ? ["application/problem+json"] : [])];
        assert.deepEqual(Object.keys(responses[String(status)]?.content ?? {}), types, `${spec.id} ${status}`);
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

describe("the published document", () => {
  const bare = apiDocument() as unknown as Document;
  const listed = operationsOf(published);

  test("has at most 3 kB for each operation and event as it is served", () => {
    const maxBytes = 3_000 * (listed.length + Object.keys(bare.webhooks).length);
    const bytes = Buffer.byteLength(JSON.stringify(bare));
    assert.ok(bytes <= maxBytes, `${bytes} bytes for ${listed.length} operations`);
  });

  test("has every operation of the API and no page for people", () => {
    const ofApi = everything.filter(
      ({ spec }) => spec.wire !== "pages" && !/"text\/(?:html|css|javascript)"/.test(JSON.stringify(spec.replies)),
    );
    assert.deepEqual(
      listed.map(({ operation }) => operation.operationId).sort(),
      ofApi.map(({ spec }) => spec.id).sort(),
    );
    assert.ok(!JSON.stringify(published).includes("text/html"));
  });

  test("names the service that serves it, and the committed one no machine", () => {
    const { servers, components } = make(everything, { origin: "https://api.ornek.example" });
    assert.deepEqual(
      servers.map(({ url }) => url),
      ["https://api.ornek.example"],
    );
    assert.match(
      JSON.stringify(components.securitySchemes),
      /"tokenUrl":"https:\/\/api\.ornek\.example\/oauth2\/token"/,
    );
    assert.deepEqual(
      bare.servers.map(({ url }) => url),
      ["/"],
    );
  });

  test("has the operations for staff last, in a group of their own", () => {
    const isAdmin = listed.map(({ url }) => url.startsWith("/v1/admin/"));
    assert.ok(isAdmin.includes(true) && isAdmin.indexOf(true) > 0);
    assert.ok(
      isAdmin.slice(isAdmin.indexOf(true)).every(Boolean),
      "an operation for customers comes after one for staff",
    );
    assert.deepEqual(published["x-tagGroups"].at(-1), { name: "Staff", tags: ["admin"] });
    const grouped = published["x-tagGroups"].flatMap(({ tags: names }) => names);
    assert.deepEqual(grouped.sort(), published.tags.map(({ name }) => name).sort());
  });

  test("every status and code of an operation is in it: by its number, or as `default`", () => {
    for (const { url, method, operation } of operations) {
      const same = listed.find((one) => one.url === url && one.method === method)?.operation;
      if (same === undefined) continue;
      assert.deepEqual(same["x-problems"], operation["x-problems"], operation.operationId);
      for (const [status, response] of Object.entries(operation.responses)) {
        const shown: Response =
          same.responses[status] ?? same.responses.default ?? assert.fail(`${operation.operationId} ${status}`);
        const headers = new Set([...Object.keys(shown.headers ?? {}), ...published["x-headers"]]);
        for (const name of Object.keys(response.headers ?? {}))
          assert.ok(headers.has(name), `${operation.operationId} ${status} ${name}`);
        assert.deepEqual(
          Object.keys(shown.content ?? {}),
          Object.keys(response.content ?? {}),
          `${operation.operationId} ${status}`,
        );
      }
    }
  });

  test("objects of answers are open for additions, those of requests are closed", () => {
    for (const { operation } of listed) {
      for (const [status, { content = {} }] of Object.entries(operation.responses)) {
        for (const schema of schemasBelow(content)) {
          assert.notEqual(schema.additionalProperties, false, `${operation.operationId} ${status} ${schema.title}`);
        }
      }
      const { requestBody = {} } = operation as { requestBody?: object };
      for (const schema of schemasBelow(requestBody)) {
        if (schema.properties !== undefined) assert.equal(schema.additionalProperties, false, operation.operationId);
      }
    }
  });

  /** Every object schema that a part of the document leads to. */
  function schemasBelow(part: object, seen = new Set<string>()): Readonly<Record<string, unknown>>[] {
    return [...objects(part)].flatMap(({ object }) => {
      if (typeof object.$ref !== "string") return object.type === "object" ? [object] : [];
      if (seen.has(object.$ref)) return [];
      seen.add(object.$ref);
      return schemasBelow(resolve(object.$ref, published) as object, seen);
    });
  }

  test("every operation has an example of its success, and each example fits its schema", () => {
    const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false });
    formats.default(ajv);
    // Against the complete one: its answers are closed, so an example with a wrong name does not pass.
    ajv.addSchema({ components: document.components }, "document");
    const absolute = (schema: object) =>
      JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"document#/'));
    let checked = 0;
    for (const { operation } of listed) {
      for (const [status, { content = {} }] of Object.entries(operation.responses)) {
        for (const { schema, examples } of status.startsWith("2") ? Object.values(content) : []) {
          const [example] = Object.values(examples ?? assert.fail(`${operation.operationId} has no example`));
          const { value } = (typeof example?.$ref === "string" ? resolve(example.$ref, published) : example) as {
            value: unknown;
          };
          assert.ok(value !== undefined, operation.operationId);
          checked += 1;
          if (schema !== undefined) {
            assert.ok(ajv.validate(absolute(schema), value), `${operation.operationId}: ${ajv.errorsText()}`);
          }
        }
      }
    }
    assert.ok(checked > 60);
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
        replies: {
          200: { description: "Fine.", body: closed({ name: text(length, { examples: ["x"] }) }, { title }) },
        },
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

  test("an answer with a text that has no example is refused, and the text is named", () => {
    const body = closed({ name: text(5) }, { title: "Nameless" });
    const spec = { ...made("X", 5, "four").spec, replies: { 200: { description: "Fine.", body } } };
    assert.throws(() => make([{ spec, handle: async () => ({ status: 200 }) }], {}), /Nameless\/name/);
  });

  test("a schema that a request and an answer share under one title is refused by that title", () => {
    const both = closed({ name: text(5, { examples: ["x"] }) }, { title: "Both" });
    const spec = {
      ...made("X", 5, "five").spec,
      method: "POST",
      body: both,
      replies: { 200: { description: "Fine.", body: both } },
    } as const;
    assert.throws(() => make([{ spec, handle: async () => ({ status: 200 }) }], {}), /Both/);
  });

  test("a titled schema inside another, in a list or behind null becomes a reference there too", () => {
    const inner = closed({ name: text(5, { examples: ["x"] }) }, { title: "Inner" });
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

describe("content", () => {
  const binary = { schema: { type: "string", format: "binary", maxLength: maxUploadBytes } };
  const { paths } = make(everything, {});
  const at = (method: string, path: string) => paths[path]?.[method] ?? assert.fail(`${method} ${path}`);

  test("an upload is a binary body of its media types, beside JSON where both are taken", () => {
    const { requestBody } = at("post", "/v1/test-uploads");
    assert.deepEqual(requestBody?.content, { "application/x-tar": binary, "application/zip": binary });
    assert.match(requestBody?.description ?? "", new RegExp(`${maxUploadBytes} bytes.*gzip`));
    const either = Object.keys(at("post", "/v1/test-either").requestBody?.content ?? {});
    assert.deepEqual(either, ["application/json", "application/x-tar", "application/octet-stream"]);
    const any = at("put", "/v1/test-files/{id}/files/{path}").requestBody?.content;
    assert.deepEqual(any, { "application/octet-stream": binary });
  });

  test("request headers, ranges and the rest of a path are parameters", () => {
    const names = ({ parameters = [] }: Operation) => parameters.map((one) => ("$ref" in one ? one.$ref : one.name));
    assert.ok(names(at("post", "/v1/test-uploads")).includes("X-Test-Mtime"));
    assert.ok(names(at("get", "/v1/test-content")).includes("#/components/parameters/Range"));
    assert.ok(!names(at("get", "/v1/test-stream")).includes("#/components/parameters/Range"));
    assert.deepEqual(names(at("put", "/v1/test-files/{id}/files/{path}")).slice(0, 2), ["id", "path"]);
  });

  test("a streamed answer is binary, whole or in part, and a range may be unsatisfiable", () => {
    const { responses } = at("get", "/v1/test-content");
    assert.deepEqual(Object.keys(responses).slice(0, 3), ["200", "206", "304"]);
    assert.ok("416" in responses);
    const { schema } = responses["206"]?.content?.["application/octet-stream"] ?? {};
    assert.equal((schema as { format?: string }).format, "binary");
  });
});
