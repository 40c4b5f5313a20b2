/**
 * The HTML that all pages share: plain forms that work without scripts. A page loads only the style sheet. Every value that
 * is inserted is escaped.
 */

import type { Language } from "../kernel/problems.ts";
import { pageTexts, type TextKey } from "./page-texts.ts";
import { stylePath } from "./style.ts";

/** Returns a text in one language, escaped for HTML. */
export type TextIn = (textKey: TextKey) => string;

export function textIn(language: Language): TextIn {
  return (textKey) => escapeHtml(pageTexts[textKey][language]);
}

/** Three bars, three copies; the dot is the thing entrusted. */
const mark =
  '<svg width="30" height="30" viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8.5" fill="#2346D3"/><g fill="#fff"><rect x="8" y="8" width="16" height="3.6" rx="1.8"/><rect x="8" y="14.2" width="8.6" height="3.6" rx="1.8"/><rect x="8" y="20.4" width="16" height="3.6" rx="1.8"/><circle cx="21.8" cy="16" r="2.2"/></g></svg>';

/** A whole page around a body. */
export function frame(language: Language, title: TextKey, body: string): string {
  const text = textIn(language);
  return `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<title>${text(title)} · Emanet</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${stylePath}">
</head>
<body>
<main>
<p class="brand">${mark}Emanet</p>
<h1>${text(title)}</h1>
${body}
</main>
</body>
</html>
`;
}

/** A page with one message, and optionally a link to continue and an error code for developers. */
export function noticeHtml(
  language: Language,
  title: TextKey,
  lead: TextKey,
  code?: string,
  onward?: { readonly href: string; readonly textKey: TextKey },
): string {
  const text = textIn(language);
  const way = onward === undefined ? "" : `\n<p><a href="${onward.href}">${text(onward.textKey)}</a></p>`;
  const detail =
    code === undefined ? "" : `\n<p class="small">${text("errorCode")}: <code>${escapeHtml(code)}</code></p>`;
  return frame(language, title, `<p>${text(lead)}</p>${way}${detail}`);
}

/** The error above a form; screen readers read it at once. */
export function failureHtml(language: Language, failure: TextKey | null): string {
  return failure === null ? "" : `<p class="failure" role="alert">${textIn(language)(failure)}</p>`;
}

export interface Field {
  readonly name: string;
  readonly label: TextKey;
  /** Attributes besides the name, as in HTML; never with text that is not ours. */
  readonly attributes: string;
  readonly value?: string;
  /** What is wrong with it, in the language of the page. */
  readonly failure?: string | undefined;
}

/** A labelled field with its error below. */
export function fieldHtml(language: Language, { name, label, attributes, value, failure }: Field): string {
  const given = value === undefined ? "" : ` value="${escapeHtml(value)}"`;
  const about = failure === undefined ? "" : ` aria-invalid="true" aria-describedby="${name}-failure"`;
  const error =
    failure === undefined
      ? ""
      : `<span class="field-failure" id="${name}-failure" role="alert">${escapeHtml(failure)}</span>`;
  return `<label>${textIn(language)(label)}<input name="${name}" ${attributes}${given}${about}>${error}</label>`;
}

export function hidden(name: string, value: string): string {
  return `<input type="hidden" name="${name}" value="${escapeHtml(value)}">`;
}

export function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");
}
