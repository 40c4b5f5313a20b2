import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";
import { parse } from "yaml";
import { problemCodes, problems } from "../declarations.ts";
import { apiDocument } from "../endpoints.ts";
import { guideNames } from "./guides.ts";
import { type DocsPage, docsPages } from "./index.ts";

const { paths } = apiDocument({ origin: "https://api.test" });

const openapi = {
  openapi: "3.1.1",
  info: { title: "Ölçü & <terazi>", version: "1.0", description: "two\nlines: no, yes, 1:20, 0o7, ~, null" },
  paths,
  "x-shared": [{ a: 1 }, { a: 1 }],
};
openapi["x-shared"][1] = openapi["x-shared"][0] ?? { a: 1 };

const pages = docsPages({ openapi });
const inBoth = (path: string, { tr, en }: { tr: DocsPage; en: DocsPage }): [string, DocsPage][] => [
  [`${path}?lang=tr`, tr],
  [`${path}?lang=en`, en],
];
const { reader } = pages;
const html: [string, DocsPage][] = [
  ...inBoth("/docs", pages.reference),
  ...inBoth("/docs/reader", { tr: reader.tr("bm9uY2U="), en: reader.en("bm9uY2U=") }),
  ...inBoth("/docs/errors", pages.errorList),
  ...[...pages.errors].flatMap(([code, page]) => inBoth(`/docs/errors/${code}`, page)),
  ...[...pages.guides].flatMap(([name, page]) => inBoth(`/docs/guides/${name}`, page)),
];

/** The reader's addresses of all operations. */
const operations = new Set(
  Object.values(paths as Record<string, Record<string, { operationId: string; tags: string[] }>>)
    .flatMap((methods) => Object.values(methods))
    .map(({ operationId, tags }) => `tag/${tags[0]}/${operationId}`),
);

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
    const { reader: _made, ...again } = docsPages({ openapi });
    const { reader: _before, ...before } = pages;
    assert.deepEqual(again, before);
    const hash = createHash("sha256").update(pages.json.body).digest("base64url");
    assert.equal(pages.json.etag, `"${hash}"`);
    const other = docsPages({ openapi: { ...openapi, info: {} } });
    assert.notEqual(other.json.etag, pages.json.etag);
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
      const isFrame = path.startsWith("/docs/reader?");
      const isReference = path.startsWith("/docs?");
      assert.ok(policy.includes(`frame-ancestors ${isFrame ? "'self'" : "'none'"}`), path);
      assert.equal(/script-src 'self'(?:;|$)/.test(policy), isFrame || isReference, path);
      // The reference sends the requests of its frame.
      assert.equal(/connect-src 'self'(?:;|$)/.test(policy), isReference, path);
      assert.equal(/frame-src 'self'(?:;|$)/.test(policy), isReference, path);
      assert.doesNotMatch(policy, /unsafe|https?:|\*/, path);
    }
    for (const page of everything()) {
      assert.equal(page.headers["x-content-type-options"], "nosniff");
      assert.equal(page.headers["referrer-policy"], "no-referrer");
    }
  });

  test("there is one for each error code, in both languages", () => {
    assert.deepEqual([...pages.errors.keys()], problemCodes);
    const text = pages.errors.get("rate_limited")?.en.body.toString("utf8") ?? "";
    const { title, status } = problems.rate_limited;
    for (const part of [title.en, title.tr, String(status), "rate_limited"]) assert.ok(text.includes(part), part);
  });

  test("show markup in the catalogue's words as text", () => {
    const text = pages.errors.get("missing_token")?.tr.body.toString("utf8") ?? "";
    assert.ok(text.includes("Bearer &lt;token&gt;"));
  });
});

describe("the guides", () => {
  const linksOf = (page: DocsPage | undefined) =>
    [...(page?.body.toString("utf8").matchAll(/<a href="([^"]+)\?lang=\w\w(#[^"]+)?"/g) ?? [])].map(
      ([, path = "", anchor = ""]) => path + anchor,
    );

  test("are the same in both languages: sections, links, examples and tables", () => {
    for (const name of guideNames) {
      const { tr, en } = pages.guides.get(name) ?? {};
      assert.deepEqual(linksOf(tr).sort(), linksOf(en).sort(), name);
      for (const part of ["<h2", "<h3", "<pre>", "<table>", "<tr>", "<li>"]) {
        const count = (page: DocsPage | undefined) => page?.body.toString("utf8").split(part).length;
        assert.equal(count(tr), count(en), `${name}: ${part}`);
      }
      assert.ok(
        linksOf(en).some((link) => link.startsWith("/docs#tag/")),
        `${name} links no operation`,
      );
    }
  });

  test("the sections that a guide links are there", () => {
    for (const [path, page] of html) {
      const text = page.body.toString("utf8");
      for (const [, id = ""] of text.matchAll(/href="#([^"]*)"/g))
        assert.ok(text.includes(`id="${id}"`), `${path}#${id}`);
    }
  });

  test("one that links what does not exist stops the service from serving them", () => {
    assert.throws(() => docsPages({ openapi: { ...openapi, paths: {} } }), /links operation:auth\.login/);
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
  const [path = "", anchor = ""] = url.replace(/\?lang=(?:tr|en)(?=#|$)/, "").split("#");
  if (path === "") return anchor !== "";
  if (path === "/docs" && anchor !== "") return operations.has(anchor);
  if (["/docs", "/docs/json", "/docs/yaml", "/docs/errors"].includes(path)) return true;
  const [, kind, name = ""] = /^\/docs\/(assets|errors|guides)\/([^/]+)$/.exec(path) ?? [];
  if (kind === "guides") return guideNames.some((guide) => guide === name);
  return kind === "assets" ? pages.assets.has(name) : problemCodes.some((code) => code === name);
}

function everything(): DocsPage[] {
  const { json, yaml, assets } = pages;
  return [json, yaml, ...assets.values(), ...html.map(([, page]) => page)];
}
