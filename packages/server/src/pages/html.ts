/**
 * What every page is made of. Plain forms that work without scripts; the only thing a page loads is the style sheet.
 * Everything that is not a word of ours is escaped where it is put in.
 */

import type { Language } from "../kernel/problems.ts";
import { stylePath } from "./style.ts";
import { type Word, words } from "./words.ts";

/** A way to say the words of one language, fit for HTML. */
export type Say = (word: Word) => string;

export function sayIn(language: Language): Say {
  return (word) => escapeHtml(words[word][language]);
}

/** A whole page around a body. */
export function frame(language: Language, title: Word, body: string): string {
  const say = sayIn(language);
  return `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<title>${say(title)} · Emanet</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${stylePath}">
</head>
<body>
<main>
<p class="brand">Emanet</p>
<h1>${say(title)}</h1>
${body}
</main>
</body>
</html>
`;
}

/** A page that says one thing, and perhaps where to go on; `code` for developers. */
export function noticeHtml(
  language: Language,
  title: Word,
  lead: Word,
  code?: string,
  onward?: { readonly href: string; readonly word: Word },
): string {
  const say = sayIn(language);
  const way = onward === undefined ? "" : `\n<p><a href="${onward.href}">${say(onward.word)}</a></p>`;
  const detail =
    code === undefined ? "" : `\n<p class="small">${say("errorCode")}: <code>${escapeHtml(code)}</code></p>`;
  return frame(language, title, `<p>${say(lead)}</p>${way}${detail}`);
}

/** What went wrong, above a form; read out by screen readers at once. */
export function failureHtml(language: Language, failure: Word | null): string {
  return failure === null ? "" : `<p class="failure" role="alert">${sayIn(language)(failure)}</p>`;
}

export interface Field {
  readonly name: string;
  readonly label: Word;
  /** Attributes besides the name, as they stand in HTML; never with text that is not ours. */
  readonly attributes: string;
  readonly value?: string;
  /** What is wrong with it, in the language of the page. */
  readonly failure?: string | undefined;
}

/** A labelled field; what is wrong with it stands right below it. */
export function fieldHtml(language: Language, { name, label, attributes, value, failure }: Field): string {
  const given = value === undefined ? "" : ` value="${escapeHtml(value)}"`;
  const about = failure === undefined ? "" : ` aria-invalid="true" aria-describedby="${name}-failure"`;
  const told =
    failure === undefined
      ? ""
      : `<span class="field-failure" id="${name}-failure" role="alert">${escapeHtml(failure)}</span>`;
  return `<label>${sayIn(language)(label)}<input name="${name}" ${attributes}${given}${about}>${told}</label>`;
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
