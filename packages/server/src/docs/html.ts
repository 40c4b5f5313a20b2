/**
 * The HTML of the pages under `/docs`: the reference, the guides and the error codes, under one header with the way to each of
 * them and to the other language. Pages of error codes have the text in Turkish and in English, so that a link in a log or a
 * ticket shows both.
 */

import type { Language } from "../kernel/problems.ts";
import { escapeHtml } from "../pages/index.ts";
import { docsTexts, languageNames } from "./docs-texts.ts";
import type { Guide, GuideName } from "./guides.ts";

/** Names of the assets that a page links. */
export interface AssetNames {
  readonly reader: string;
  readonly turkish: string;
  readonly policy: string;
  readonly relay: string;
  readonly start: string;
  readonly style: string;
  readonly mark: string;
  readonly icon: string;
}

/** The definition of an error code. */
export interface ErrorText {
  readonly status: number;
  readonly title: { readonly en: string; readonly tr: string };
  readonly detail: { readonly en: string; readonly tr: string };
}

/** What all pages of one language share. */
export interface Site {
  readonly language: Language;
  readonly names: AssetNames;
  readonly guides: readonly Guide[];
}

/** What a document of the reader may do: no `allow-same-origin`, so our cookies and our storage are not its own. */
export const readerSandbox =
  "allow-scripts allow-forms allow-popups allow-downloads allow-top-navigation-by-user-activation";

/** The reference: a frame with the reader, and the script that sends its requests. */
export function referenceHtml(site: Site): string {
  const { names, language } = site;
  const text = docsTexts.needsScript[language];
  const title = docsTexts.reference[language];
  return frame(site, {
    title,
    path: "/docs",
    head: `
<script src="${assetPath(names.relay)}" defer></script>`,
    body: `<div id="content" class="reference" tabindex="-1">
<iframe id="reader" title="${title}" data-page="${pagePath("/docs/reader", language)}" sandbox="${readerSandbox}" allow="clipboard-write"></iframe>
<noscript>${escapeHtml(text)} <a href="/docs/json">/docs/json</a>, <a href="/docs/yaml">/docs/yaml</a></noscript>
</div>`,
  });
}

/** The document in the frame. A script shows the reference, from `/docs/json`. */
export function readerHtml({ names, language }: Site, nonce: string): string {
  const scripts = [names.policy, names.reader, ...(language === "tr" ? [names.turkish] : []), names.start];
  return `<!doctype html>
<html lang="${language}" class="framed">
<head>
<meta charset="utf-8">
<title>${docsTexts.reference[language]}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<link rel="stylesheet" href="${assetPath(names.style)}">
<meta property="csp-nonce" content="${nonce}">
${scripts.map((name) => `<script src="${assetPath(name)}" defer></script>`).join("\n")}
</head>
<body>
<div id="reader"></div>
</body>
</html>
`;
}

export function guideHtml(site: Site, name: GuideName): string {
  const guide = site.guides.find((one) => one.name === name);
  if (guide === undefined) throw new Error(`there is no guide ${name}`);
  const { title, html, sections } = guide;
  const links = sections.map((section) => `<li><a href="#${section.id}">${escapeHtml(section.title)}</a></li>`);
  const heading = docsTexts.onThisPage[site.language];
  return frame(site, {
    title,
    path: `/docs/guides/${name}`,
    body: `<main id="content" class="guide" tabindex="-1">
<article>
<h1>${escapeHtml(title)}</h1>
<nav class="sections" aria-label="${heading}"><ul>${links.join("")}</ul></nav>
${html}</article>
</main>`,
  });
}

/** The page that the `type` of a problem points to. */
export function errorHtml(site: Site, code: string, { status, title, detail }: ErrorText): string {
  const sections = [site.language, other(site.language)].map(
    (language) => `<section lang="${language}">
<h2>${escapeHtml(title[language])}</h2>
<p>${escapeHtml(detail[language])}</p>
</section>`,
  );
  return frame(site, {
    title: code,
    path: `/docs/errors/${encodeURIComponent(code)}`,
    body: `<main id="content" class="guide" tabindex="-1">
<article>
<h1><code>${escapeHtml(code)}</code> · HTTP ${status}</h1>
${sections.join("\n")}
</article>
</main>`,
  });
}

/** All codes with their titles. */
export function errorListHtml(site: Site, problems: Readonly<Record<string, ErrorText>>): string {
  const { language } = site;
  const rows = Object.entries(problems).map(
    ([code, { status, title }]) =>
      `<tr><td>${status}</td><td><a href="${pagePath(`/docs/errors/${encodeURIComponent(code)}`, language)}"><code>${escapeHtml(code)}</code></a></td><td>${escapeHtml(title[language])}</td></tr>`,
  );
  const title = docsTexts.errorCodes[language];
  return frame(site, {
    title,
    path: "/docs/errors",
    body: `<main id="content" class="guide" tabindex="-1">
<article>
<h1>${title}</h1>
<table><tbody>
${rows.join("\n")}
</tbody></table>
</article>
</main>`,
  });
}

/** The address of a page in a language. */
export function pagePath(path: string, language: Language): string {
  return `${path}?lang=${language}`;
}

interface PageParts {
  readonly title: string;
  readonly path: string;
  readonly head?: string;
  readonly body: string;
}

function frame(site: Site, { title, path, head = "", body }: PageParts): string {
  const { language, names } = site;
  const name = docsTexts.title[language];
  return `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<title>${escapeHtml(title)} · ${name}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="${assetPath(names.icon)}">
<link rel="stylesheet" href="${assetPath(names.style)}">${head}
</head>
<body>
<a class="skip" href="#content">${docsTexts.skip[language]}</a>
${header(site, path)}
${body}
</body>
</html>
`;
}

function header({ language, names, guides }: Site, current: string): string {
  const places = [
    { path: "/docs", title: docsTexts.reference[language] },
    ...guides.map((guide) => ({ path: `/docs/guides/${guide.name}`, title: guide.title })),
    { path: "/docs/errors", title: docsTexts.errorCodes[language] },
  ];
  const links = places.map(({ path, title }) => {
    const mark = path === current ? ' aria-current="page"' : "";
    return `<li><a href="${pagePath(path, language)}"${mark}>${escapeHtml(title)}</a></li>`;
  });
  const to = other(language);
  return `<header class="top">
<a class="brand" href="${pagePath("/docs", language)}"><img src="${assetPath(names.mark)}" alt="" width="26" height="26">emanet <span>API</span></a>
<nav aria-label="${docsTexts.documentation[language]}"><ul>${links.join("")}</ul></nav>
<a class="language" href="${pagePath(current, to)}" hreflang="${to}" lang="${to}">${languageNames[to]}</a>
</header>`;
}

function other(language: Language): Language {
  return language === "tr" ? "en" : "tr";
}

function assetPath(name: string): string {
  return `/docs/assets/${name}`;
}
