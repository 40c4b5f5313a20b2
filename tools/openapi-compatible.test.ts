import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { describe, test } from "node:test";
import { breakingChanges } from "./openapi/compare.ts";
import { type Document, surfaceOf } from "./openapi/surface.ts";
import { newestRelease } from "./openapi-compatible.ts";

/** A document with one of everything that is compared; changed by `change`. */
function document(change: (draft: Draft) => void = () => undefined): Document {
  const draft: Draft = structuredClone(base);
  change(draft);
  return draft as unknown as Document;
}

// biome-ignore lint/suspicious/noExplicitAny: tests change any place of it
type Draft = any;

const base = {
  info: { version: "1.0.0" },
  paths: {
    "/v1/things": {
      post: {
        operationId: "things.create",
        "x-access": "account",
        "x-scope": "things:write",
        "x-roles": ["owner", "manager"],
        parameters: [
          { name: "kind", in: "query", required: false, schema: { type: "string", enum: ["a", "b"] } },
          { name: "limit", in: "query", required: false, schema: { type: "integer", minimum: 1, maximum: 100 } },
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
          422: { description: "Wrong.", content: {} },
        },
      },
    },
  },
  components: {
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

const operation = (draft: Draft) => draft.paths["/v1/things"].post;
const input = (draft: Draft) => draft.components.schemas.NewThing;
const output = (draft: Draft) => draft.components.schemas.Thing;

/** What is said of each change that breaks clients. */
const breaking: Readonly<Record<string, [(draft: Draft) => void, RegExp]>> = {
  "an operation that is gone": [(draft) => delete draft.paths["/v1/things"], /POST \/v1\/things: removed/],
  "another operation id": [(draft) => (operation(draft).operationId = "things.make"), /things\.create to things\.make/],
  "another scope": [(draft) => (operation(draft)["x-scope"] = "all:write"), /x-scope was "things:write"/],
  "a second factor that was not asked for": [(draft) => (operation(draft)["x-step-up"] = true), /x-step-up was absent/],
  "a role less": [(draft) => operation(draft)["x-roles"].pop(), /no longer open to manager/],
  "a token where none was needed": [(draft) => (operation(draft)["x-access"] = "staff"), /x-access was "account"/],
  "a parameter that is gone": [(draft) => operation(draft).parameters.pop(), /parameter query limit removed/],
  "a parameter that is required now": [
    (draft) => (operation(draft).parameters[0].required = true),
    /query kind is required now/,
  ],
  "a new parameter that is required": [
    (draft) => operation(draft).parameters.push({ name: "why", in: "query", required: true, schema: {} }),
    /query why is new and required/,
  ],
  "a value of a parameter that is refused": [
    (draft) => operation(draft).parameters[0].schema.enum.pop(),
    /query kind: b no longer taken/,
  ],
  "a smaller maximum": [(draft) => (operation(draft).parameters[1].schema.maximum = 50), /maximum was 100 and is 50/],
  "no body any more": [(draft) => delete operation(draft).requestBody, /takes no body any more/],
  "a body of another type": [
    (draft) => (operation(draft).requestBody.content = { "text/plain": { schema: {} } }),
    /application\/json removed/,
  ],
  "a field of a body that is gone": [(draft) => delete input(draft).properties.tags, /\.tags: removed/],
  "a field of a body that is required now": [(draft) => input(draft).required.push("tags"), /\.tags: required now/],
  "a shorter text": [(draft) => (input(draft).properties.name.maxLength = 100), /maxLength was 200 and is 100/],
  "another pattern": [(draft) => (input(draft).properties.name.pattern = "^[a-z]+$"), /name: pattern changed/],
  "a text that became a number": [(draft) => (input(draft).properties.name.type = "integer"), /type was string and is/],
  "an item that is held shorter": [
    (draft) => (input(draft).properties.tags.items.maxLength = 5),
    /tags\[\]: maxLength was 20 and is 5/,
  ],
  "a null that is refused": [(draft) => input(draft).properties.parent.anyOf.pop(), /parent: null is refused now/],
  "an answer that is gone": [(draft) => delete operation(draft).responses[201], /answer 201: removed/],
  "a header that is gone": [(draft) => delete operation(draft).responses[201].headers.ETag, /header ETag removed/],
  "a field of an answer that is gone": [(draft) => delete output(draft).properties.note, /\.note: removed/],
  "a field of an answer that may be missing": [
    (draft) => output(draft).required.shift(),
    /\.id: no longer always there/,
  ],
  "a field of an answer that may be null": [
    (draft) => (output(draft).properties.size = { anyOf: [{ type: "integer" }, { type: "null" }] }),
    /size: may be null now/,
  ],
  "a field of an answer of another type": [
    (draft) => (output(draft).properties.size.type = "string"),
    /size: type was integer and is string/,
  ],
};

/** What may come at any time. */
const additions: Readonly<Record<string, (draft: Draft) => void>> = {
  "an operation": (draft) => (draft.paths["/v1/more"] = { get: { ...operation(draft), operationId: "more.list" } }),
  "an optional parameter": (draft) =>
    operation(draft).parameters.push({ name: "sort", in: "query", required: false, schema: { type: "string" } }),
  "an optional field of a body": (draft) => (input(draft).properties.color = { type: "string" }),
  "a field of an answer": (draft) => (output(draft).properties.color = { type: "string" }),
  "a value of an answer": (draft) => output(draft).properties.state.enum.push("resting"),
  "a header": (draft) => (operation(draft).responses[201].headers["X-More"] = {}),
  "a problem": (draft) => (operation(draft).responses[409] = { description: "Conflict.", content: {} }),
  "longer texts and other words": (draft) => {
    input(draft).properties.name.maxLength = 500;
    input(draft).properties.name.description = "What people call it.";
  },
  "one role more": (draft) => operation(draft)["x-roles"].push("operator"),
  "a scope that is no longer needed": (draft) => {
    operation(draft)["x-access"] = "public";
    delete operation(draft)["x-scope"];
  },
};

describe("an OpenAPI document beside the released one", () => {
  for (const [name, [change, said]] of Object.entries(breaking)) {
    test(`breaks clients by ${name}, and the change is named`, () => {
      const found = breakingChanges(surfaceOf(document()), surfaceOf(document(change)));
      assert.equal(found.length, 1, found.join("\n"));
      assert.match(found[0] ?? "", said);
    });
  }

  for (const [name, change] of Object.entries(additions)) {
    test(`may have ${name} more at any time`, () => {
      assert.deepEqual(breakingChanges(surfaceOf(document()), surfaceOf(document(change))), []);
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
