/** The pages of OAuth as replies: what a browser may do with them, and the headers that every one has. */

import type { ReplySpec } from "../kernel/http/endpoint.ts";
import { Type } from "../kernel/http/schema.ts";
import type { LibraryAnswer } from "./bridge.ts";

export interface PageReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body?: string;
}

export interface PageOptions {
  readonly cookies?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  /** Where a form of the page may lead besides ourselves; browsers check redirects too. */
  readonly formTarget?: string;
}

export function pageReply(status: number, html: string, options: PageOptions = {}): PageReply {
  return {
    status,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-store",
      "content-security-policy": policy(options.formTarget),
      "cross-origin-opener-policy": "same-origin",
      "x-frame-options": "DENY",
      // Forms must say that they come from here; to other origins nothing is said.
      "referrer-policy": "same-origin",
      ...options.headers,
      ...(options.cookies && options.cookies.length > 0 && { "set-cookie": [...options.cookies] }),
    },
    body: html,
  };
}

export function redirectReply(location: string, cookies: readonly string[] = []): PageReply {
  return {
    status: 303,
    headers: { location, "cache-control": "no-store", ...(cookies.length > 0 && { "set-cookie": [...cookies] }) },
  };
}

/** The library's answer to a browser: a page of ours, or a redirect whose own little page nobody needs. */
export function pageOf(answer: LibraryAnswer): PageReply {
  const { location } = answer.headers;
  if (location !== undefined) return redirectReply(location, answer.cookies);
  return pageReply(answer.status, answer.body, { cookies: answer.cookies });
}

/** The style sheet and our own forms; no script, nothing inline, in nobody's frame. */
function policy(formTarget = ""): string {
  return [
    "default-src 'none'",
    "style-src 'self'",
    "img-src data:",
    `form-action 'self' ${formTarget}`.trim(),
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

/** A redirect URI as a source of a security policy: its origin, or the scheme that a program registered. */
export function formTargetOf(redirectUri: unknown): string {
  if (typeof redirectUri !== "string" || !URL.canParse(redirectUri)) return "";
  const { protocol, origin } = new URL(redirectUri);
  const target = protocol === "https:" || protocol === "http:" ? origin : protocol;
  // Nothing that could end the directive and begin another.
  return /^[\w.:/[\]+-]+$/.test(target) ? target : "";
}

const pageHeaders = {
  "Set-Cookie": Type.String({ maxLength: 4096, pattern: "^__Host-oauth-" }),
  "X-Frame-Options": Type.String({ maxLength: 10, pattern: "^DENY$" }),
};

export const pageSpec: ReplySpec = { description: "A page.", content: ["text/html"], headers: pageHeaders };

export const failedPageSpec: ReplySpec = {
  description: "A page that says what is wrong; errors of the stages before it have the form of RFC 6749.",
  content: ["text/html", "application/json"],
  headers: pageHeaders,
};

export const unauthorizedPageSpec: ReplySpec = {
  ...failedPageSpec,
  description: "The page again: e-mail, password or code is wrong.",
  headers: {
    ...pageHeaders,
    "WWW-Authenticate": Type.String({ maxLength: 100, pattern: "^(Bearer|Basic) " }),
  },
};

export const limitedPageSpec: ReplySpec = {
  ...failedPageSpec,
  description: "Too many tries; `Retry-After` says when the next may be made.",
  headers: {
    ...pageHeaders,
    "Retry-After": Type.Integer({ format: "int32", minimum: 0, maximum: 86_400, description: "Seconds." }),
  },
};

export const redirectSpec: ReplySpec = {
  description: "To the next page, or back to the application.",
  empty: true,
  headers: {
    Location: Type.String({ maxLength: 16_384, pattern: "^[^\\s]+$" }),
    "Set-Cookie": pageHeaders["Set-Cookie"],
  },
};
