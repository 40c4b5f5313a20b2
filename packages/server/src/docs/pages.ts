/**
 * All documents under `/docs` as bytes with their headers, by path. Names of assets contain a hash of their content, so
 * they can be cached without end; all other documents are revalidated with their ETag. Only the frame of the reader is made for
 * each request, because its policy has a nonce.
 */

import { createHash } from "node:crypto";
import { stringify } from "yaml";
import { problemCodes, problems } from "../declarations.ts";
import type { Language, ProblemCode } from "../kernel/problems.ts";
import { type Asset, type Assets, readAssets } from "./assets.ts";
import { type GuideName, guideNames, type LinkTarget, renderGuide } from "./guides.ts";
import {
  errorHtml,
  errorListHtml,
  guideHtml,
  pagePath,
  readerHtml,
  readerSandbox,
  referenceHtml,
  type Site,
} from "./html.ts";

export interface DocsPage {
  readonly contentType: string;
  readonly body: Buffer;
  /** Strong, of exactly these bytes. */
  readonly etag: string;
  /** Without content type, length and ETag. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A page that exists in both languages. */
export type ByLanguage<T = DocsPage> = Readonly<Record<Language, T>>;

export interface DocsPages {
  /** `/docs` */
  readonly reference: ByLanguage;
  /** `/docs/reader`, the frame of `/docs`, with the nonce of its policy, which no other answer may have. */
  readonly reader: ByLanguage<(nonce: string) => DocsPage>;
  /** `/docs/guides/{name}` */
  readonly guides: ReadonlyMap<GuideName, ByLanguage>;
  /** `/docs/json` */
  readonly json: DocsPage;
  /** `/docs/yaml`: the same object. */
  readonly yaml: DocsPage;
  /** `/docs/errors` */
  readonly errorList: ByLanguage;
  /** `/docs/errors/{code}` */
  readonly errors: ReadonlyMap<ProblemCode, ByLanguage>;
  /** `/docs/assets/{name}` */
  readonly assets: ReadonlyMap<string, DocsPage>;
}

/** The parts of the document that the pages need. */
export interface ShownDocument {
  readonly servers?: readonly { readonly url: string }[];
  readonly paths?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** Makes every page. Reads the reader from its package. */
export function docsPages({ openapi }: { readonly openapi: object }): DocsPages {
  const assets = readAssets();
  const sites = bothLanguages((language) => siteOf(language, openapi, assets));
  const { tr, en } = sites;
  const inBoth = (html: (site: Site) => string) => ({ tr: htmlPage(tr, html(tr)), en: htmlPage(en, html(en)) });
  return {
    reference: bothLanguages((language) => referencePage(sites[language])),
    reader: bothLanguages((language) => (nonce) => readerPage(sites[language], nonce)),
    guides: new Map(guideNames.map((name) => [name, inBoth((site) => guideHtml(site, name))])),
    json: document("application/json", JSON.stringify(openapi)),
    // Quoted also where only YAML 1.1 would read `no` or `1:20` as something else; no anchors for equal parts.
    yaml: document(
      "application/yaml",
      stringify(openapi, { compat: "yaml-1.1", aliasDuplicateObjects: false, lineWidth: 0 }),
    ),
    errorList: inBoth((site) => errorListHtml(site, problems)),
    errors: new Map(problemCodes.map((code) => [code, inBoth((site) => errorHtml(site, code, problems[code]))])),
    assets: new Map(Object.values(assets).map((asset) => [asset.name, assetPage(asset)])),
  };
}

function bothLanguages<T>(make: (language: Language) => T): ByLanguage<T> {
  return { tr: make("tr"), en: make("en") };
}

function siteOf(language: Language, openapi: ShownDocument, assets: Assets): Site {
  const origin = openapi.servers?.[0]?.url ?? "";
  const target = linkTarget(language, operationTags(openapi));
  const guides = guideNames.map((name) => renderGuide(name, language, origin, target));
  const { reader, turkish, policy, relay, start, style, mark, icon } = assets;
  const names = {
    reader: reader.name,
    turkish: turkish.name,
    policy: policy.name,
    relay: relay.name,
    start: start.name,
    style: style.name,
    mark: mark.name,
    icon: icon.name,
  };
  return { language, names, guides };
}

/** The tag of every operation, by its id. */
function operationTags({ paths = {} }: ShownDocument): ReadonlyMap<string, string> {
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods)) as {
    readonly operationId?: string;
    readonly tags?: readonly string[];
  }[];
  return new Map(operations.map(({ operationId = "", tags = [] }) => [operationId, tags[0] ?? ""]));
}

function linkTarget(language: Language, tags: ReadonlyMap<string, string>): LinkTarget {
  return (kind, name) => {
    const tag = tags.get(name);
    if (kind === "reference") return pagePath("/docs", language);
    if (kind === "errors") return pagePath("/docs/errors", language);
    // The reader's addresses; `browser/start.js` makes them of the ids.
    if (kind === "operation" && tag !== undefined) return `${pagePath("/docs", language)}#tag/${tag}/${name}`;
    if (kind === "error" && problemCodes.some((code) => code === name))
      return pagePath(`/docs/errors/${name}`, language);
    if (kind === "guide" && guideNames.some((guide) => guide === name))
      return pagePath(`/docs/guides/${name}`, language);
    throw new Error(`a guide links ${kind}:${name}, which does not exist`);
  };
}

/** A year, the longest time in RFC 9111; the name changes with the content. */
const forever = "public, max-age=31536000, immutable";
/** Cached, but revalidated before each use. */
const revalidate = "public, no-cache";

/** What every page may do: load our styles and images. Nothing inline, nothing from other origins, no framing. */
const pagePolicy = [
  "default-src 'none'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
];
/** The policy of documents that are not pages: nothing is allowed, if a browser renders them as a page. */
const inertPolicy = "default-src 'none'; frame-ancestors 'none'";

/** The reference runs a script of ours, which calls our API, and shows the frame. */
function referencePage(site: Site): DocsPage {
  const more = ["style-src 'self'", "script-src 'self'", "connect-src 'self'", "frame-src 'self'"];
  const safer = ["require-trusted-types-for 'script'", "trusted-types 'none'"];
  return htmlPage(site, referenceHtml(site), [...pagePolicy, ...more, ...safer]);
}

/**
 * The frame runs the reader in a sandbox: it has an origin of its own and connects to nothing. The reader makes style elements, so
 * these need the nonce, and its style has images as `data:` URLs.
 */
function readerPage(site: Site, nonce: string): DocsPage {
  const policy = [
    `sandbox ${readerSandbox}`,
    "default-src 'none'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'self'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
  ];
  return htmlPage(site, readerHtml(site, nonce), policy, "no-store");
}

function htmlPage(
  { language }: Site,
  text: string,
  policy: readonly string[] = [...pagePolicy, "style-src 'self'"],
  caching = revalidate,
): DocsPage {
  const headers = {
    "cache-control": caching,
    "content-language": language,
    "content-security-policy": policy.join("; "),
    "cross-origin-opener-policy": "same-origin",
    vary: "Accept-Language",
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
