/**
 * Pages as replies: their security policy, their headers, and the error page for a request that is refused before its own
 * page is made.
 */

import { problems } from "../declarations.ts";
import type { Reply, ReplySpec } from "../kernel/http/endpoint.ts";
import { Type } from "../kernel/http/schema.ts";
import type { Language, Problem, ProblemCode } from "../kernel/problems.ts";
import { noticeHtml } from "./html.ts";
import type { TextKey } from "./page-texts.ts";

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
  /** The one script that the page may run, as a source of a security policy (its hash). */
  readonly script?: string;
}

export function pageReply(status: number, html: string, options: PageOptions = {}): PageReply {
  return {
    status,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-store",
      "content-security-policy": policy(options),
      "cross-origin-opener-policy": "same-origin",
      "x-frame-options": "DENY",
      // Our own forms send a referrer; other origins get none.
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

/** Allows the style sheet, our own forms and at most one script, named by its hash. Forbids frames. */
function policy({ formTarget = "", script }: PageOptions): string {
  return [
    "default-src 'none'",
    ...(script === undefined ? [] : [`script-src ${script}`]),
    "style-src 'self'",
    "img-src data:",
    `form-action 'self' ${formTarget}`.trim(),
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

const pageHeaders = {
  "Set-Cookie": Type.String({ maxLength: 4096, pattern: "^__Host-" }),
  "X-Frame-Options": Type.String({ maxLength: 10, pattern: "^DENY$" }),
};

export const pageSpec: ReplySpec = { description: "A page.", content: ["text/html"], headers: pageHeaders };

export const failedPageSpec: ReplySpec = {
  description: "A page that shows the error. Errors before the page is reached have the form of RFC 6749.",
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
  description: "Too many attempts. `Retry-After` says when the next one is allowed.",
  headers: {
    ...pageHeaders,
    "Retry-After": Type.Integer({ format: "int32", minimum: 0, maximum: 86_400, description: "Seconds." }),
  },
};

export const redirectSpec: ReplySpec = {
  description: "Redirect to the next page, or back to the application.",
  empty: true,
  headers: {
    Location: Type.String({ maxLength: 16_384, pattern: "^[^\\s]+$" }),
    "Set-Cookie": pageHeaders["Set-Cookie"],
  },
};

/** The form again, with its errors; see `catchFormError` in `forms.ts`. */
export const formErrorSpecs = {
  401: {
    description: "The page again: the password or a code is wrong.",
    content: ["text/html"],
    headers: unauthorizedPageSpec.headers ?? {},
  },
  200: { description: "The page again, with the error.", content: ["text/html"], headers: pageHeaders },
  429: {
    description: "The page again: too many attempts. `Retry-After` says when the next one is allowed.",
    content: ["text/html"],
    headers: limitedPageSpec.headers ?? {},
  },
} as const satisfies Record<number, ReplySpec>;

/** The text of the error page, by the code of the problem. */
type Explanations = Partial<Record<ProblemCode, TextKey>>;

const explanations: Explanations = {
  not_found: "linkOver",
  origin_not_allowed: "otherSite",
  rate_limited: "tooManyAttempts",
  too_many_attempts: "tooManyAttempts",
  unavailable: "ourFault",
  storage_full: "ourFault",
  internal_error: "ourFault",
};

/** Renders problems as pages, for endpoints of `wire: "pages"`; `own` overrides texts for this page. */
export function explaining(
  own: Explanations = {},
  onward: Partial<Record<ProblemCode, { readonly href: string; readonly textKey: TextKey }>> = {},
): (problem: Problem, language: Language) => Reply {
  return ({ code, extras }, language) => {
    const { status } = problems[code];
    const lead = own[code] ?? explanations[code] ?? "pageRefused";
    const html = noticeHtml(language, "failedTitle", lead, code, onward[code]);
    const retry = extras.headers?.["Retry-After"];
    const headers = {
      ...(status === 401 && { "www-authenticate": 'Bearer realm="emanet"' }),
      ...(retry !== undefined && { "retry-after": retry }),
    };
    return pageReply(status, html, { headers });
  };
}
