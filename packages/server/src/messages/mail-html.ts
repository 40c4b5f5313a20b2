/**
 * A mail as a page, made from its text: the same words in the look of the dashboard. It loads nothing, so that opening a mail tells nobody about it,
 * and it has no script. Values were written by other people: all text is escaped, and only the link that the template brings can be followed.
 */

import { escapeHtml } from "../pages/index.ts";

export interface MailPage {
  readonly language: "tr" | "en";
  readonly subject: string;
  /** Paragraphs, with an empty line between them. */
  readonly text: string;
  /** The address that the mail is about, where it is about one. */
  readonly link: string | undefined;
}

/** The colours of the dashboard's `tokens.css`. Mail programs know no variables. */
const light = { canvas: "#f7f6f3", surface: "#ffffff", line: "#e8e6e1", text: "#1a1917", quiet: "#55534d" } as const;
const dark = { canvas: "#0d0e10", surface: "#15161a", line: "#26282e", text: "#f2f1ed", quiet: "#b4b2ab" } as const;
const accent = { light: "#2346d3", dark: "#93a8ff", button: "#2346d3" } as const;
const fonts = "system-ui,-apple-system,'Segoe UI',Roboto,Arial,sans-serif";

/** For mail programs that follow the dark setting; the others show the light colours, which are in the elements. */
const darkStyle = `@media (prefers-color-scheme:dark){
.canvas{background:${dark.canvas}!important}.card{background:${dark.surface}!important;border-color:${dark.line}!important}
.text,.text p,.text h1,.text td{color:${dark.text}!important}.quiet,.quiet p,.quiet td{color:${dark.quiet}!important}.text a{color:${accent.dark}!important}
.text a.button{color:#ffffff!important}}`;

export function mailHtml({ language, subject, text, link }: MailPage): string {
  const paragraphs = text.trim().split(/\n{2,}/);
  const isSigned = paragraphs.at(-1) === signature;
  const parts = (isSigned ? paragraphs.slice(0, -1) : paragraphs).map((paragraph) =>
    paragraph === link ? button(link, language) : partOf(paragraph, link),
  );
  const body = `font:15px/23px ${fonts};color:${light.text}`;
  return `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(subject)}</title>
<style>${darkStyle}</style>
</head>
<body class="canvas" style="margin:0;padding:24px 12px;background:${light.canvas}">
<table role="presentation" class="canvas" width="100%" cellpadding="0" cellspacing="0" style="background:${light.canvas}"><tr><td align="center">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="max-width:560px;text-align:left">
<tr><td class="text" style="padding:0 4px 16px;font:600 17px/26px ${fonts};color:${light.text}">${mark} emanet</td></tr>
<tr><td class="card text" style="padding:28px;background:${light.surface};border:1px solid ${light.line};border-radius:12px;${body}">
<h1 style="margin:0 0 16px;font:600 20px/26px ${fonts};color:${light.text}">${escapeHtml(subject)}</h1>
${parts.join("\n")}
</td></tr>
<tr><td class="quiet" style="padding:16px 4px;font:13px/20px ${fonts};color:${light.quiet}">${signature}</td></tr>
</table>
</td></tr></table>
</body>
</html>
`;
}

/** The last line of most texts. The page has it at its foot. */
const signature = "Emanet";

/** The mark without an image: the first letter in a seal. */
const mark = `<span aria-hidden="true" style="display:inline-block;width:26px;border-radius:7px;background:${accent.button};color:#ffffff;text-align:center">E</span>`;

/** Lines of the form "name: value" become a table; anything else a paragraph. */
function partOf(paragraph: string, link: string | undefined): string {
  const lines = paragraph.split("\n");
  const facts = lines.map((line) => /^([^:]{1,40}): (.+)$/.exec(line));
  if (lines.length > 1 && facts.every((fact) => fact !== null)) return factTable(facts, link);
  return `<p style="margin:0 0 14px">${lines.map((line) => withLink(line, link)).join("<br>")}</p>`;
}

const openLink = { tr: "Bağlantıyı aç", en: "Open the link" } as const;

/** A link that stands alone. Its address is below: a careful reader wants to see where the button leads. */
function button(link: string, language: MailPage["language"]): string {
  const address = escapeHtml(link);
  return `<p style="margin:0 0 6px"><a class="button" href="${address}" style="display:inline-block;padding:9px 16px;border-radius:8px;background:${accent.button};color:#ffffff;font-weight:600;text-decoration:none">${openLink[language]}</a></p>
<p class="quiet" style="margin:0 0 14px;font-size:13px;line-height:20px;color:${light.quiet};word-break:break-all">${address}</p>`;
}

function factTable(facts: readonly RegExpExecArray[], link: string | undefined): string {
  const rows = facts.map(
    ([, name = "", value = ""]) =>
      `<tr><td class="quiet" style="padding:3px 16px 3px 0;color:${light.quiet};vertical-align:top;white-space:nowrap">${escapeHtml(name)}</td><td style="padding:3px 0;word-break:break-word">${withLink(value, link)}</td></tr>`,
  );
  return `<table cellpadding="0" cellspacing="0" style="margin:0 0 14px;font:15px/23px ${fonts}">${rows.join("")}</table>`;
}

/** A line with the link in it, if it is there. */
function withLink(line: string, link: string | undefined): string {
  if (link === undefined || link === "") return escapeHtml(line);
  const anchor = `<a href="${escapeHtml(link)}" style="color:${accent.light};word-break:break-all">${escapeHtml(link)}</a>`;
  return line
    .split(link)
    .map((part) => escapeHtml(part))
    .join(anchor);
}
