/**
 * The HTML of the pages under `/docs`. Error pages have the text in Turkish and in English, one below the other, so that a
 * link in a log or a ticket shows both.
 */

/** Names of the assets that a page links. */
export interface AssetNames {
  readonly script: string;
  readonly start: string;
  readonly theme: string;
  readonly style: string;
  readonly icon: string;
}

/** The definition of an error code. */
export interface ErrorText {
  readonly status: number;
  readonly title: { readonly en: string; readonly tr: string };
  readonly detail: { readonly en: string; readonly tr: string };
}

/** The interactive page: Swagger UI renders it from `/docs/json`. */
export function docsHtml(names: AssetNames): string {
  return frame("Emanet API", names, {
    head: `<link rel="stylesheet" href="/docs/assets/${names.theme}">
<script src="/docs/assets/${names.script}" defer></script>
<script src="/docs/assets/${names.start}" defer></script>`,
    body: `<body class="docs-page">
<div id="docs"></div>
<noscript>This page needs JavaScript. The document itself is at <a href="/docs/json">/docs/json</a> and <a href="/docs/yaml">/docs/yaml</a>.</noscript>
</body>`,
  });
}

/** The page that the `type` of a problem points to. */
export function errorHtml(code: string, text: ErrorText, names: AssetNames): string {
  return frame(`${code} · Emanet API`, names, {
    head: "",
    body: `<body class="error-page">
<h1><code>${escapeHtml(code)}</code> · HTTP ${text.status}</h1>
<section lang="tr">
<h2>${escapeHtml(text.title.tr)}</h2>
<p>${escapeHtml(text.detail.tr)}</p>
</section>
<section lang="en">
<h2>${escapeHtml(text.title.en)}</h2>
<p>${escapeHtml(text.detail.en)}</p>
</section>
<p><a href="/docs/errors" lang="tr">Tüm hata kodları</a> · <a href="/docs/errors">All error codes</a> · <a href="/docs">API</a></p>
</body>`,
  });
}

/** All codes with their titles. */
export function errorListHtml(problems: Readonly<Record<string, ErrorText>>, names: AssetNames): string {
  const rows = Object.entries(problems).map(
    ([code, { status, title }]) =>
      `<li>${status} <a href="/docs/errors/${encodeURIComponent(code)}"><code>${escapeHtml(code)}</code></a>: <span lang="tr">${escapeHtml(title.tr)}</span> · ${escapeHtml(title.en)}</li>`,
  );
  return frame("Error codes · Emanet API", names, {
    head: "",
    body: `<body class="error-page">
<h1><span lang="tr">Hata kodları</span> · Error codes</h1>
<ul>
${rows.join("\n")}
</ul>
</body>`,
  });
}

function frame(title: string, names: AssetNames, parts: { readonly head: string; readonly body: string }): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${escapeHtml(title)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="/docs/assets/${names.icon}">
<link rel="stylesheet" href="/docs/assets/${names.style}">
${parts.head}
</head>
${parts.body}
</html>
`;
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
