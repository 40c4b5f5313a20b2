/**
 * The errors of OAuth 2.0. An endpoint with `wire: "oauth"` follows that protocol in four points: the `Authorization` header
 * has the credentials of the client, unknown parameters are ignored (RFC 6749, section 3.1), a body is a form, and errors
 * have the form of RFC 6749, section 5.2. Limits, ids, deadlines, sizes and the check of replies are as everywhere.
 */

import { closed, oneOf, Type, text } from "./schema.ts";

/** The error code of RFC 6749 for a problem of our own stages, by its status. */
export function oauthErrorOf(status: number): OauthErrorCode {
  if (status === 429 || status === 503) return "temporarily_unavailable";
  if (status >= 500) return "server_error";
  return status === 403 ? "access_denied" : "invalid_request";
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

/** The body of every error of OAuth. */
export const oauthErrorSchema = closed(
  {
    error: oneOf(oauthErrorCodes, "The error code of RFC 6749 and its extensions."),
    error_description: Type.Optional(text(1000, { description: "For developers, in English." })),
    scope: Type.Optional(text(1000, { description: "`invalid_scope`: the scope that is not allowed." })),
    state: Type.Optional(text(4096, { description: "The `state` of the request." })),
    iss: Type.Optional(
      Type.String({ format: "uri", maxLength: 255, description: "The issuer of the answer (RFC 9207)." }),
    ),
  },
  { title: "OauthError" },
);
