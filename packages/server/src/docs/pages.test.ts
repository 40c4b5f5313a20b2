import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";
import { parse } from "yaml";
import { problemCodes, problems } from "../declarations.ts";
import { type DocsPage, docsPages } from "./index.ts";

const openapi = {
  openapi: "3.1.1",
  info: { title: "Ölçü & <terazi>", version: "1.0", description: "two\nlines: no, yes, 1:20, 0o7, ~, null" },
  paths: {},
  "x-shared": [{ a: 1 }, { a: 1 }],
};
openapi["x-shared"][1] = openapi["x-shared"][0] ?? { a: 1 };

const pages = docsPages({ openapi });
const html: [string, DocsPage][] = [
  ["/docs", pages.page],
  ["/docs/errors", pages.errorList],
  ...[...pages.errors].map(([code, page]): [string, DocsPage] => [`/docs/errors/${code}`, page]),
];

describe("the documents", () => {
  test("JSON and YAML hold the same object", () => {
    assert.deepEqual(JSON.parse(pages.json.body.toString("utf8")), openapi);
    assert.deepEqual(parse(pages.yaml.body.toString("utf8")), openapi);
    assert.deepEqual(parse(pages.yaml.body.toString("utf8"), { version: "1.1" }), openapi);
    assert.equal(pages.json.contentType, "application/json");
    assert.equal(pages.yaml.contentType, "application/yaml");
  });

  test("YAML is written without anchors: many readers of OpenAPI refuse them", () => {
    assert.doesNotMatch(pages.yaml.body.toString("utf8"), /[&*]a1/);
  });

  test("every page has a strong ETag of its bytes, and equal input gives equal pages", () => {
    const again = docsPages({ openapi });
    assert.deepEqual(again, pages);
    const hash = createHash("sha256").update(pages.json.body).digest("base64url");
    assert.equal(pages.json.etag, `"${hash}"`);
    assert.notEqual(docsPages({ openapi: { ...openapi, paths: { "/a": {} } } }).json.etag, pages.json.etag);
  });
});

describe("the pages", () => {
  test("run nothing inline and load only what we serve", () => {
    for (const [path, page] of html) {
      const text = page.body.toString("utf8");
      assert.equal(page.contentType, "text/html; charset=utf-8");
      assert.doesNotMatch(text, /<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)/, path);
      for (const [, url = ""] of text.matchAll(/\s(?:src|href)="([^"]*)"/g)) {
        assert.ok(served(url), `${path} links ${url}, which is not served`);
      }
    }
  });

  test("forbid everything that they do not need", () => {
    for (const [path, { headers }] of html) {
      const policy = headers["content-security-policy"] ?? "";
      assert.match(policy, /default-src 'none'/, path);
      assert.match(policy, /frame-ancestors 'none'/, path);
      assert.match(policy, /connect-src 'self'/, path);
      assert.doesNotMatch(policy, /unsafe|https?:|\*/, path);
    }
    for (const page of everything()) {
      assert.equal(page.headers["x-content-type-options"], "nosniff");
      assert.equal(page.headers["referrer-policy"], "no-referrer");
    }
  });

  test("there is one for each error code, in both languages", () => {
    assert.deepEqual([...pages.errors.keys()], problemCodes);
    const text = pages.errors.get("rate_limited")?.body.toString("utf8") ?? "";
    const { title, status } = problems.rate_limited;
    for (const part of [title.en, title.tr, String(status), "rate_limited"]) assert.ok(text.includes(part), part);
  });

  test("show markup in the catalogue's words as text", () => {
    const text = pages.errors.get("missing_token")?.body.toString("utf8") ?? "";
    assert.ok(text.includes("Bearer &lt;token&gt;"));
  });
});

describe("the assets", () => {
  test("have a hash of their content in their name and may be kept for ever", () => {
    assert.ok(pages.assets.size >= 5);
    for (const [name, { body, headers }] of pages.assets) {
      const hash = createHash("sha256").update(body).digest("hex").slice(0, 16);
      assert.ok(name.includes(`.${hash}.`), name);
      assert.match(headers["cache-control"] ?? "", /immutable/);
    }
  });

  test("name no source map, which we do not serve", () => {
    for (const { body } of pages.assets.values()) assert.ok(!body.includes("sourceMappingURL="));
  });

  test("the icon is a real icon file", () => {
    const [icon] = [...pages.assets].filter(([name]) => name.endsWith(".ico")).map(([, page]) => page.body);
    assert.deepEqual([...(icon?.subarray(0, 4) ?? [])], [0, 0, 1, 0]);
  });
});

function served(url: string): boolean {
  if (["/docs", "/docs/json", "/docs/yaml", "/docs/errors"].includes(url)) return true;
  const [, kind, name = ""] = /^\/docs\/(assets|errors)\/([^/]+)$/.exec(url) ?? [];
  return kind === "assets" ? pages.assets.has(name) : problemCodes.some((code) => code === name);
}

function everything(): DocsPage[] {
  const { page, json, yaml, errorList, errors, assets } = pages;
  return [page, json, yaml, errorList, ...errors.values(), ...assets.values()];
}
