/**
 * Addresses that speak OAuth 2.0 (`/oauth2/…`) and therefore not this API's own manners: the `Authorization` header
 * belongs to the protocol (client credentials), unknown parameters are ignored (RFC 6749, section 3.1), a body is a
 * form, and errors have the form of RFC 6749, section 5.2. Everything else is as everywhere: limits, ids, deadlines,
 * bounded bodies, and answers held against their spec.
 */

import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { catalogue, Problem, type ProblemCode } from "../problems.ts";
import type { ProblemSetting } from "./answer.ts";
import { readBytes } from "./body.ts";
import type { Reply } from "./endpoint.ts";
import { closed, oneOf, Type, text } from "./schema.ts";

/** Below this prefix errors have the form of RFC 6749, also where there is no endpoint. */
const prefix = "/oauth2/";

/** Largest form: a signed client assertion and a long state; forms of people are far smaller. */
const maxFormBytes = 32 * 1024;

export function speaksOauth(url: string): boolean {
  return url.startsWith(prefix);
}

/** A request as it came, for the library that reads it. */
export interface RawCall {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** The body, when it is a form; empty without one. */
  readonly form: string;
}

/** Reads the request; a body that is no form, or too large, is refused. */
export async function readRawCall(raw: IncomingMessage): Promise<RawCall> {
  const { method = "", url = "", headers } = raw;
  const type = headers["content-type"];
  const hasBody = method === "POST" || Number(headers["content-length"] ?? 0) > 0 || "transfer-encoding" in headers;
  if (!hasBody) return { method, url, headers, form: "" };
  const isForm = /^application\/x-www-form-urlencoded\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i.test(type ?? "");
  if (type !== undefined && !isForm) throw new Problem("unsupported_media_type");
  const bytes = await readBytes(raw, maxFormBytes);
  if (bytes.length > 0 && !isForm) throw new Problem("unsupported_media_type");
  return { method, url, headers, form: bytes.toString() };
}

/** What RFC 6749 and its relatives call the problems of our own stages. */
function errorOf(code: ProblemCode): OauthErrorCode {
  const { status } = catalogue[code];
  if (status === 429 || status === 503) return "temporarily_unavailable";
  if (status >= 500) return "server_error";
  return status === 403 ? "access_denied" : "invalid_request";
}

/** A problem of the kernel's stages in the form of RFC 6749. */
export function oauthErrorReply(problem: Problem, { language }: ProblemSetting): Reply {
  const { status, detail } = catalogue[problem.code];
  return {
    status,
    headers: {
      "Content-Type": "application/json; charset=utf-8",
      "Content-Language": language,
      "Cache-Control": "no-store",
      Pragma: "no-cache",
      ...problem.extras.headers,
    },
    // RFC 6749 allows ASCII only in a description.
    body: { error: errorOf(problem.code), error_description: detail.en },
  };
}

/** Codes of the protocols that are spoken: RFC 6749, 7009, 8628, 9207, and what the library adds for OpenID Connect. */
export const oauthErrorCodes = [
  "access_denied",
  "authorization_pending",
  "consent_required",
  "expired_token",
  "interaction_required",
  "invalid_client",
  "invalid_client_metadata",
  "invalid_grant",
  "invalid_redirect_uri",
  "invalid_request",
  "invalid_scope",
  "login_required",
  "request_not_supported",
  "request_uri_not_supported",
  "registration_not_supported",
  "server_error",
  "slow_down",
  "temporarily_unavailable",
  "unauthorized_client",
  "unsupported_grant_type",
  "unsupported_response_mode",
  "unsupported_response_type",
  "unsupported_token_type",
] as const;

export type OauthErrorCode = (typeof oauthErrorCodes)[number];

/** The body of every error under `/oauth2/`. */
export const oauthErrorSchema = closed(
  {
    error: oneOf(oauthErrorCodes, "What went wrong, in the words of RFC 6749 and its relatives."),
    error_description: Type.Optional(text(1000, { description: "For developers, in English." })),
    scope: Type.Optional(text(1000, { description: "`invalid_scope`: the scope that is not allowed." })),
    state: Type.Optional(text(4096, { description: "The `state` of the request." })),
    iss: Type.Optional(Type.String({ format: "uri", maxLength: 255, description: "Who answers (RFC 9207)." })),
  },
  { title: "OauthError" },
);
