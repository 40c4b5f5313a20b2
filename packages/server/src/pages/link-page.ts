/**
 * The link landing page: the page that a link of a mail leads to. The secret is after the hash sign of the link,
 * where no server, proxy or log sees it. A short script takes it from there, removes it from the address and the history
 * entry, and posts it. The answer stores it in a cookie for an hour and redirects to the next page. Without scripts the
 * person pastes the link into a field. None of this spends the link.
 */

import { createHash } from "node:crypto";
import { cookieHeader } from "../kernel/http/cookies.ts";
import type { Call, Endpoint } from "../kernel/http/endpoint.ts";
import { closed, Type } from "../kernel/http/schema.ts";
import { Problem } from "../kernel/problems.ts";
import { fieldsOf } from "./forms.ts";
import { fieldHtml, frame, textIn } from "./html.ts";
import { pageTexts, type TextKey } from "./page-texts.ts";
import { explaining, pageReply, pageSpec, redirectReply, redirectSpec } from "./replies.ts";

/** Long enough to install an authenticator; the link of the mail works again after that. */
const linkCookieSeconds = 60 * 60;

/** The length of a link in a mail, and some space for text that is pasted with it. */
const maxPastedLength = 500;

/** Finds the secret of a link anywhere in the pasted text. */
const secretPattern = /(?:^|#)([a-z]{3}_[A-Za-z0-9_-]{43})(?![A-Za-z0-9_-])/;

const script = `const secret = location.hash.slice(1);
if (secret !== "") {
  history.replaceState(null, "", location.pathname);
  const form = document.forms[0];
  form.elements.link.value = secret;
  form.submit();
}`;
const scriptSource = `'sha256-${createHash("sha256").update(script).digest("base64")}'`;

export interface LinkPage {
  /** Where links lead. */
  readonly path: string;
  /** Where the person goes on. */
  readonly next: string;
  readonly title: TextKey;
  readonly tag: string;
  /** Begins the operations' names. */
  readonly noun: string;
  /** What it is about, for the document. */
  readonly about: string;
}

/** `GET` of a link landing page. */
export function showLinkPage(page: LinkPage): Endpoint {
  return {
    spec: {
      ...specOf(page),
      id: `${page.noun}.show_door`,
      method: "GET",
      summary: `Landing page of the link: ${page.about}`,
      description: "A page for people. The link in the mail opens it. Opening it does not use the link up.",
      replies: { 200: pageSpec },
    },
    handle: async (_ctx, { language }) => pageReply(200, linkHtml(page, language), { script: scriptSource }),
    explain: explaining(),
  };
}

/** `POST` of a link landing page. */
export function openLinkPage(page: LinkPage): Endpoint {
  return {
    spec: {
      ...specOf(page),
      id: `${page.noun}.open_door`,
      method: "POST",
      summary: `Open the link: ${page.about}`,
      description: "Stores the secret of the link in a cookie and redirects to the next page. The link is not used up.",
      idempotency: "none",
      limits: ["login_ip"],
      cookies: ["__Host-link"],
      form: closed({
        link: Type.String({
          maxLength: maxPastedLength,
          pattern: "[a-z]{3}_",
          description: "The link, or the part after `#`.",
        }),
      }),
      replies: { 200: pageSpec, 303: redirectSpec },
    },
    handle: async (_ctx, call) => {
      const value = secretPattern.exec((fieldsOf(call).link ?? "").trim().slice(0, maxPastedLength))?.[1];
      if (value === undefined) return pageReply(200, linkHtml(page, call.language, true), { script: scriptSource });
      const cookie = { name: "__Host-link", value, maxAgeSeconds: linkCookieSeconds } as const;
      return redirectReply(page.next, [cookieHeader(cookie)]);
    },
    explain: explaining(),
  };
}

function specOf({ path, tag }: LinkPage) {
  return { path, tag, access: { kind: "public" }, wire: "pages" } as const;
}

function linkHtml({ path, title }: LinkPage, language: Call["language"], failed = false): string {
  const text = textIn(language);
  const link = fieldHtml(language, {
    name: "link",
    label: "pasteLink",
    attributes: `autocomplete="off" spellcheck="false" maxlength="${maxPastedLength}" required`,
    failure: failed ? pageTexts.noLink[language] : undefined,
  });
  return frame(
    language,
    title,
    `<form method="post" action="${path}">
${link}
<button type="submit">${text("next")}</button>
</form>
<script>${script}</script>`,
  );
}

/** The secret of the link, from the cookie. Answers 404 without one. */
export function linkOf(call: Call): string {
  const link = call.cookies["__Host-link"];
  if (link === undefined || secretPattern.exec(link)?.[1] !== link) throw new Problem("not_found");
  return link;
}

/** Takes the secret out of the browser again, once the link is spent. */
export const droppedLink: string = cookieHeader({ name: "__Host-link", value: "", maxAgeSeconds: 0 });
