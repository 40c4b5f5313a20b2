/**
 * All documents under `/docs` as bytes with their headers, by path. Names of assets contain a hash of their content, so
 * they can be cached without end; all other documents are revalidated with their ETag.
 */

import { createHash } from "node:crypto";
import { stringify } from "yaml";
import { problemCodes, problems } from "../declarations.ts";
import type { ProblemCode } from "../kernel/problems.ts";
import { type Asset, readAssets } from "./assets.ts";
import { docsHtml, errorHtml, errorListHtml } from "./html.ts";

export interface DocsPage {
  readonly contentType: string;
  readonly body: Buffer;
  /** Strong, of exactly these bytes. */
  readonly etag: string;
  /** Without content type, length and ETag. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface DocsPages {
  /** `/docs` */
  readonly page: DocsPage;
  /** `/docs/json` */
  readonly json: DocsPage;
  /** `/docs/yaml`: the same object. */
  readonly yaml: DocsPage;
  /** `/docs/errors` */
  readonly errorList: DocsPage;
  /** `/docs/errors/{code}` */
  readonly errors: ReadonlyMap<ProblemCode, DocsPage>;
  /** `/docs/assets/{name}` */
  readonly assets: ReadonlyMap<string, DocsPage>;
}

/** A year, the longest time in RFC 9111; the name changes with the content. */
const forever = "public, max-age=31536000, immutable";
/** Cached, but revalidated before each use. */
const revalidate = "public, no-cache";

/**
 * The policy of the page: it may run our scripts and styles, show our images (Swagger UI's style sheet has some as `data:`
 * URLs) and call our API. Nothing inline, nothing from other origins, no framing.
 */
const pagePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");
/** The policy of documents that are not pages: nothing is allowed, if a browser renders them as a page. */
const inertPolicy = "default-src 'none'; frame-ancestors 'none'";

/** Makes every page. Reads the assets of Swagger UI from its package. */
export function docsPages({ openapi }: { readonly openapi: object }): DocsPages {
  const assets = readAssets();
  const { script, start, theme, style, icon } = assets;
  const links = { script: script.name, start: start.name, theme: theme.name, style: style.name, icon: icon.name };
  return {
    page: htmlPage(docsHtml(links)),
    json: document("application/json", JSON.stringify(openapi)),
    // Quoted also where only YAML 1.1 would read `no` or `1:20` as something else; no anchors for equal parts.
    yaml: document(
      "application/yaml",
      stringify(openapi, { compat: "yaml-1.1", aliasDuplicateObjects: false, lineWidth: 0 }),
    ),
    errorList: htmlPage(errorListHtml(problems, links)),
    errors: new Map(problemCodes.map((code) => [code, htmlPage(errorHtml(code, problems[code], links))])),
    assets: new Map(Object.values(assets).map((asset) => [asset.name, assetPage(asset)])),
  };
}

function htmlPage(text: string): DocsPage {
  const headers = {
    "cache-control": revalidate,
    "content-security-policy": pagePolicy,
    "cross-origin-opener-policy": "same-origin",
  };
  return page("text/html; charset=utf-8", Buffer.from(text), headers);
}

function document(contentType: string, text: string): DocsPage {
  return page(contentType, Buffer.from(text), { "cache-control": revalidate, "content-security-policy": inertPolicy });
}

function assetPage(asset: Asset): DocsPage {
  return page(asset.contentType, asset.body, { "cache-control": forever, "content-security-policy": inertPolicy });
}

function page(contentType: string, body: Buffer, headers: Readonly<Record<string, string>>): DocsPage {
  const etag = `"${createHash("sha256").update(body).digest("base64url")}"`;
  return {
    contentType,
    body,
    etag,
    headers: { ...headers, "x-content-type-options": "nosniff", "referrer-policy": "no-referrer" },
  };
}
