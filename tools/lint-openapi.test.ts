import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { lintOpenapi } from "./lint-openapi.ts";

describe("the OpenAPI linters", () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "emanet-lint-"));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  async function lint(document: unknown) {
    const file = path.join(folder, `${crypto.randomUUID()}.json`);
    await writeFile(file, JSON.stringify(document));
    return lintOpenapi(file);
  }

  test("a document that declares everything has no finding", async () => {
    assert.deepEqual(await lint(specimen()), []);
  });

  describe("a document that breaks rules", () => {
    let rules: ReadonlySet<string>;
    // Once for both tests: each linter takes a second of CPU.
    before(async () => {
      const document = specimen();
      const { post } = document.paths["/greetings"];
      Object.assign(post, { security: [] });
      Object.assign(post.requestBody.content["application/json"].schema.properties, { free: { type: "string" } });
      Object.assign(document.components, { schemas: { Unused: { type: "boolean" } } });
      Reflect.deleteProperty(document.info, "license");
      rules = new Set((await lint(document)).map((finding) => `${finding.linter} ${finding.rule}`));
    });

    test("a string without a bound, a public write without a declaration and an unused part are findings", () => {
      for (const rule of [
        "spectral owasp:api4:2023-string-limit",
        "spectral owasp:api2:2023-write-restricted",
        "spectral oas3-unused-component",
        "redocly no-unused-components",
      ]) {
        assert.ok(rules.has(rule), `${rule} is missing among ${[...rules].join(", ")}`);
      }
    });

    test("what only warns elsewhere is a finding here", () => {
      assert.ok([...rules].some((rule) => rule.endsWith(" info-license")));
    });
  });

  test("a file that is not an OpenAPI document is a failure, not a clean result", async () => {
    await assert.rejects(lintOpenapi(path.join(folder, "missing.json")), /could not lint/);
    await assert.rejects(lint({ some: "json" }), /could not lint/);
  });

  test("the linters cannot reach a network: a remote reference is never fetched", async () => {
    let visits = 0;
    const server = createServer((_request, response) => {
      visits += 1;
      response.end("{}");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    try {
      const document = specimen();
      const body = document.paths["/greetings"].post.requestBody.content["application/json"];
      Object.assign(body, { schema: { $ref: `http://127.0.0.1:${port}/schema.json` } });
      const findings = await lint(document);
      assert.ok(findings.length > 0, "an unresolved reference must be reported");
      assert.equal(visits, 0);
    } finally {
      server.close();
    }
  });
});

/** The smallest document that satisfies both linters: one public write. */
function specimen() {
  const text = { type: "string", maxLength: 200, pattern: "^[^\\u0000-\\u001f]*$" };
  const count = { type: "integer", format: "int64", minimum: 0, maximum: Number.MAX_SAFE_INTEGER };
  const headers = {
    "Access-Control-Allow-Origin": { description: "Who may read this from a page", schema: { ...text, const: "*" } },
    "X-RateLimit-Limit": { description: "Requests allowed", schema: count },
    "Retry-After": { description: "Seconds to wait", schema: count },
  };
  const answer = (description: string) => ({
    description,
    headers,
    content: { "application/json": { schema: { type: "object", additionalProperties: false, properties: { text } } } },
  });
  return {
    openapi: "3.1.1",
    info: {
      title: "Specimen",
      version: "1.0.0",
      description: "A specimen.",
      contact: { name: "Nobody", url: "https://specimen.invalid", email: "nobody@specimen.invalid" },
      license: { name: "None", url: "https://specimen.invalid/license" },
    },
    servers: [{ url: "/", description: "local", "x-internal": false }],
    security: [{ bearer: [] }],
    tags: [{ name: "greetings", description: "Greetings" }],
    paths: {
      "/greetings": {
        post: {
          operationId: "greetings.create",
          summary: "Greet",
          description: "Greets.",
          tags: ["greetings"],
          security: [{}, { bearer: [] }],
          requestBody: {
            required: true,
            content: {
              "application/json": { schema: { type: "object", additionalProperties: false, properties: { text } } },
            },
          },
          responses: Object.fromEntries(["200", "400", "401", "429", "500"].map((status) => [status, answer(status)])),
        },
      },
    },
    components: {
      securitySchemes: { bearer: { type: "http", scheme: "bearer", bearerFormat: "JWT", description: "See RFC8725." } },
    },
  };
}
