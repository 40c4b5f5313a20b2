import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { describe, test } from "node:test";
import { breakingChanges } from "./openapi/compare.ts";
import { type Document, surfaceOf } from "./openapi/surface.ts";
import { newestRelease } from "./openapi-compatible.ts";

/** A place of the document, and its value afterwards. */
type Edit = readonly [place: readonly (string | number)[], value?: unknown];

/** A document with one of everything that is compared; an edit without a value removes what is at its place. */
function document(...edits: readonly Edit[]): Document {
  const draft: unknown = structuredClone(base);
  for (const [place, value] of edits) {
    const parent = place.slice(0, -1).reduce<Json>((at, key) => at[key] as Json, draft as Json);
    const last = place.at(-1) ?? "";
    if (value !== undefined) parent[last] = value;
    else if (Array.isArray(parent)) parent.splice(Number(last), 1);
    else delete parent[last];
  }
  return draft as Document;
}

type Json = Record<string | number, unknown>;

const base = {
  info: { version: "1.0.0" },
  "x-headers": ["X-Request-Id"],
  "x-problems": { everywhere: ["internal_error"], statuses: { internal_error: 500, not_found: 404 } },
  paths: {
    "/v1/things": {
      post: {
        operationId: "things.create",
        "x-access": "account",
        "x-scope": "things:write",
        "x-roles": ["owner", "manager"],
        "x-problems": ["not_found"],
        parameters: [
          { name: "kind", in: "query", required: false, schema: { type: "string", enum: ["a", "b"] } },
          { $ref: "#/components/parameters/limit" },
        ],
        requestBody: {
          required: true,
          content: { "application/json": { schema: { $ref: "#/components/schemas/NewThing" } } },
        },
        responses: {
          201: {
            description: "Made.",
            headers: { ETag: {}, Location: {} },
            content: { "application/json": { schema: { $ref: "#/components/schemas/Thing" } } },
          },
          404: { $ref: "#/components/responses/Problem" },
          422: { description: "Wrong.", content: {} },
        },
      },
    },
  },
  webhooks: {
    "thing.made": {
      post: {
        requestBody: {
          content: { "application/json": { schema: { type: "object", properties: { thing_id: { type: "string" } } } } },
        },
      },
    },
  },
  components: {
    parameters: {
      limit: { name: "limit", in: "query", required: false, schema: { type: "integer", minimum: 1, maximum: 100 } },
    },
    responses: { Problem: { description: "A problem.", content: { "application/problem+json": {} } } },
    schemas: {
      NewThing: {
        type: "object",
        additionalProperties: false,
        required: ["name"],
        properties: {
          name: { type: "string", minLength: 1, maxLength: 200, pattern: "^.+$", description: "Its name." },
          tags: { type: "array", maxItems: 10, items: { type: "string", maxLength: 20 } },
          parent: { anyOf: [{ type: "string", format: "uuid" }, { type: "null" }] },
        },
      },
      Thing: {
        type: "object",
        required: ["id", "state", "size"],
        properties: {
          id: { type: "string" },
          state: { type: "string", enum: ["on", "off"] },
          size: { type: "integer" },
          note: { type: "string" },
        },
      },
    },
  },
};

const post = ["paths", "/v1/things", "post"];
const input = ["components", "schemas", "NewThing"];
const output = ["components", "schemas", "Thing"];
const payload = ["webhooks", "thing.made", "post", "requestBody", "content", "application/json", "schema"];
const optional = { name: "sort", in: "query", required: false, schema: { type: "string" } };

/** What is said of each change that breaks clients. */
const breaking: Readonly<Record<string, [Edit, RegExp]>> = {
  "an operation that is gone": [[["paths", "/v1/things"]], /POST \/v1\/things: removed/],
  "another operation id": [[[...post, "operationId"], "things.make"], /things\.create to things\.make/],
  "another scope": [[[...post, "x-scope"], "all:write"], /x-scope was "things:write"/],
  "a second factor that was not asked for": [[[...post, "x-step-up"], true], /x-step-up was absent/],
  "a role less": [[[...post, "x-roles", 1]], /no longer open to manager/],
  "a token of another kind": [[[...post, "x-access"], "staff"], /x-access was "account"/],
  "a parameter that is gone": [[[...post, "parameters", 1]], /parameter query limit removed/],
  "a parameter that is required now": [[[...post, "parameters", 0, "required"], true], /query kind is required now/],
  "a new parameter that is required": [
    [[...post, "parameters", 2], { ...optional, required: true }],
    /query sort is new and required/,
  ],
  "a value of a parameter that is refused": [
    [[...post, "parameters", 0, "schema", "enum", 1]],
    /query kind: b no longer taken/,
  ],
  "a smaller maximum": [[["components", "parameters", "limit", "schema", "maximum"], 50], /maximum was 100 and is 50/],
  "no body any more": [[[...post, "requestBody"]], /takes no body any more/],
  "a body of another type": [
    [[...post, "requestBody", "content"], { "text/plain": { schema: {} } }],
    /application\/json removed/,
  ],
  "a field of a body that is gone": [[[...input, "properties", "tags"]], /\.tags: removed/],
  "a field of a body that is required now": [[[...input, "required", 1], "tags"], /\.tags: required now/],
  "a shorter text": [[[...input, "properties", "name", "maxLength"], 100], /maxLength was 200 and is 100/],
  "another pattern": [[[...input, "properties", "name", "pattern"], "^[a-z]+$"], /name: pattern changed/],
  "a text that became a number": [[[...input, "properties", "name", "type"], "integer"], /type was string and is/],
  "an item that is held shorter": [
    [[...input, "properties", "tags", "items", "maxLength"], 5],
    /tags\[\]: maxLength was 20 and is 5/,
  ],
  "a null that is refused": [[[...input, "properties", "parent", "anyOf", 1]], /parent: null is refused now/],
  "an answer that is gone": [[[...post, "responses", "201"]], /answer 201: removed/],
  "a header that is gone": [[[...post, "responses", "201", "headers", "ETag"]], /header ETag removed/],
  "a field of an answer that is gone": [[[...output, "properties", "note"]], /\.note: removed/],
  "a field of an answer that may be missing": [[[...output, "required", 0]], /\.id: no longer always there/],
  "a field of an answer that may be null": [
    [[...output, "properties", "size"], { anyOf: [{ type: "integer" }, { type: "null" }] }],
    /size: may be null now/,
  ],
  "a field of an answer of another type": [
    [[...output, "properties", "size", "type"], "string"],
    /size: type was integer and is string/,
  ],
  "an error code with another status": [[["x-problems", "statuses", "not_found"], 410], /not_found was 404 and is 410/],
  "a header of every answer that is gone": [[["x-headers", 0]], /answer 201: header X-Request-Id removed/],
  "an event that is gone": [[["webhooks", "thing.made"]], /event thing\.made: removed/],
  "a field of an event that is gone": [
    [[...payload, "properties", "thing_id"]],
    /event thing\.made\.thing_id: removed/,
  ],
};

/** What may come at any time. */
const additions: Readonly<Record<string, readonly Edit[]>> = {
  "an operation": [[["paths", "/v1/more"], { get: { ...base.paths["/v1/things"].post, operationId: "more.list" } }]],
  "an optional parameter": [[[...post, "parameters", 2], optional]],
  "an optional field of a body": [[[...input, "properties", "color"], { type: "string" }]],
  "a field of an answer": [[[...output, "properties", "color"], { type: "string" }]],
  "a value of an answer": [[[...output, "properties", "state", "enum", 2], "resting"]],
  "a header": [[[...post, "responses", "201", "headers", "X-More"], {}]],
  "a problem": [[[...post, "responses", "409"], { description: "Conflict.", content: {} }]],
  "longer texts and other words": [
    [[...input, "properties", "name", "maxLength"], 500],
    [[...input, "properties", "name", "description"], "What people call it."],
  ],
  "an error code that is thrown no more and": [[[...post, "x-problems", 0]]],
  "an error code": [
    [["x-problems", "statuses", "gone"], 410],
    [[...post, "x-problems", 1], "gone"],
  ],
  "an event": [[["webhooks", "thing.lost"], base.webhooks["thing.made"]]],
  "a field of an event": [[[...payload, "properties", "at"], { type: "string" }]],
  "one role more": [[[...post, "x-roles", 2], "operator"]],
  "callers without a scope": [[[...post, "x-access"], "public"], [[...post, "x-scope"]]],
};

describe("an OpenAPI document beside the released one", () => {
  for (const [name, [edit, said]] of Object.entries(breaking)) {
    test(`breaks clients by ${name}, and the change is named`, () => {
      const found = breakingChanges(surfaceOf(document()), surfaceOf(document(edit)));
      assert.equal(found.length, 1, found.join("\n"));
      assert.match(found[0] ?? "", said);
    });
  }

  for (const [name, edits] of Object.entries(additions)) {
    test(`may have ${name} more at any time`, () => {
      assert.deepEqual(breakingChanges(surfaceOf(document()), surfaceOf(document(...edits))), []);
    });
  }

  test("this release's own document is compared, every operation of it", async () => {
    const folder = path.resolve(import.meta.dirname, "../docs/released");
    const file = path.resolve(import.meta.dirname, "../openapi.json");
    const current = surfaceOf(JSON.parse(await readFile(file, "utf8")) as Document);
    const last = await newestRelease(folder);
    assert.ok(Object.keys(last.operations).length > 80);
    const without = structuredClone(current) as { operations: Record<string, unknown> };
    delete without.operations["GET /v1/account"];
    const changes = breakingChanges(last, without as typeof current);
    assert.ok(changes.includes("GET /v1/account: removed"), changes.join("\n"));
  });
});
