/** The forms and answers of OAuth, with the names of the RFCs. */

import { closed, oneOf, Type, text, uuid } from "../kernel/http/schema.ts";

/** A signed assertion with a handful of claims. */
const maxAssertionLength = 8192;
/** Codes and tokens of the library have 43 characters, access tokens below 2048. */
const maxTokenLength = 8192;
/** All scopes together have fewer than 250. */
const maxScopeLength = 1000;
const maxUriLength = 2000;
const maxStateLength = 4096;

const scope = (description: string, example?: string) =>
  Type.String({
    maxLength: maxScopeLength,
    pattern: "^[!#-\\[\\]-~ ]*$",
    description,
    ...(example !== undefined && { examples: [example] }),
  });

const opaque = (description: string, example?: string) =>
  text(maxTokenLength, { description, ...(example !== undefined && { examples: [example] }) });

/** How a client proves who it is, unless it does so by HTTP Basic. */
export const clientFields = {
  client_id: Type.Optional(text(64, { description: "The client; not needed with HTTP Basic." })),
  client_secret: Type.Optional(text(512, { description: "`client_secret_post`: its secret." })),
  client_assertion_type: Type.Optional(
    oneOf(["urn:ietf:params:oauth:client-assertion-type:jwt-bearer"], "`private_key_jwt` (RFC 7523)."),
  ),
  client_assertion: Type.Optional(
    text(maxAssertionLength, { description: "`private_key_jwt`: a JWT signed by the client. It can be used once." }),
  ),
};

export const grantTypes = [
  "authorization_code",
  "client_credentials",
  "refresh_token",
  "urn:ietf:params:oauth:grant-type:device_code",
] as const;

export const tokenForm = closed(
  {
    grant_type: oneOf(grantTypes, "How the token is obtained."),
    scope: Type.Optional(
      scope("Scopes, separated by spaces. Default: all scopes of the client, or of the refreshed grant."),
    ),
    code: Type.Optional(opaque("`authorization_code`: the code.")),
    redirect_uri: Type.Optional(
      Type.String({ format: "uri", maxLength: maxUriLength, description: "`authorization_code`: as in the request." }),
    ),
    code_verifier: Type.Optional(
      Type.String({ minLength: 43, maxLength: 128, pattern: "^[\\w.~-]+$", description: "PKCE (RFC 7636)." }),
    ),
    device_code: Type.Optional(opaque("Device flow: the device code.")),
    refresh_token: Type.Optional(
      opaque("`refresh_token`: the newest one; one that was replaced more than 30 seconds ago ends the grant."),
    ),
    ...clientFields,
  },
  { title: "TokenRequest" },
);

export const tokenAnswer = closed(
  {
    access_token: opaque("JWT (RFC 9068), for `Authorization: Bearer`.", "eyJhbGciOiJFUzI1NiJ9.e30.c2ln"),
    token_type: Type.Literal("Bearer", { type: "string" }),
    expires_in: Type.Integer({
      format: "int32",
      minimum: 1,
      maximum: 86_400,
      description: "Seconds.",
      examples: [900],
    }),
    scope: scope("Scopes of the token.", "account:read"),
    refresh_token: Type.Optional(opaque("Use it to get the next token. It replaces the previous refresh token.")),
  },
  { title: "TokenAnswer" },
);

export const tokenOnlyForm = closed(
  {
    token: opaque("An access or refresh token."),
    token_type_hint: Type.Optional(
      text(64, { description: "`access_token` or `refresh_token`; only a hint, it can be wrong." }),
    ),
    ...clientFields,
  },
  { title: "TokenReference" },
);

const seconds = (description: string) =>
  Type.Integer({ format: "int64", minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description });

export const introspection = closed(
  {
    active: Type.Boolean({
      description: "Whether the token is valid now. The other fields are present only if it is.",
    }),
    scope: Type.Optional(scope("Scopes of the token.")),
    client_id: Type.Optional(text(64, { description: "The client of the token." })),
    token_type: Type.Optional(Type.Literal("Bearer", { type: "string" })),
    exp: Type.Optional(seconds("Expiry, Unix seconds.")),
    iat: Type.Optional(seconds("Issue, Unix seconds.")),
    sub: Type.Optional(text(64, { description: "The member, or the client itself." })),
    aud: Type.Optional(Type.String({ format: "uri", maxLength: 255 })),
    iss: Type.Optional(Type.String({ format: "uri", maxLength: 255 })),
    jti: Type.Optional(text(64)),
    sid: Type.Optional(uuid("The session of the token.")),
    acct: Type.Optional(uuid("The account.")),
  },
  { title: "Introspection" },
);

export const deviceForm = closed(
  { scope: Type.Optional(scope("Scopes, separated by spaces. Default: all scopes of the client.")), ...clientFields },
  { title: "DeviceRequest" },
);

export const deviceAnswer = closed(
  {
    device_code: opaque("The device sends it to the token endpoint.", "hX2mP9sV4kQ7"),
    user_code: Type.String({
      maxLength: 9,
      pattern: "^[A-Z]{4}-[A-Z]{4}$",
      description: "The person types it.",
      examples: ["BCDF-GHJK"],
    }),
    verification_uri: Type.String({
      format: "uri",
      maxLength: maxUriLength,
      description: "The page on which the person types the user code.",
      examples: ["https://api.emanet.example/oauth2/device"],
    }),
    verification_uri_complete: Type.String({
      format: "uri",
      maxLength: maxUriLength,
      examples: ["https://api.emanet.example/oauth2/device?user_code=BCDF-GHJK"],
    }),
    expires_in: Type.Integer({ format: "int32", minimum: 1, maximum: 3600, description: "Seconds.", examples: [600] }),
    interval: Type.Integer({
      format: "int32",
      minimum: 1,
      maximum: 60,
      description: "Seconds between two polls.",
      examples: [5],
    }),
  },
  { title: "DeviceAnswer" },
);

export const authorizeQuery = closed({
  response_type: Type.Optional(oneOf(["code"], "Always `code`.")),
  client_id: Type.Optional(text(64, { description: "The client." })),
  redirect_uri: Type.Optional(
    Type.String({ format: "uri", maxLength: maxUriLength, description: "Must be equal to a registered URI." }),
  ),
  scope: Type.Optional(scope("Scopes, separated by spaces. Default: all scopes of the client.")),
  state: Type.Optional(text(maxStateLength, { description: "Is returned unchanged." })),
  code_challenge: Type.Optional(
    Type.String({ minLength: 43, maxLength: 128, pattern: "^[\\w.~-]+$", description: "PKCE; required." }),
  ),
  code_challenge_method: Type.Optional(oneOf(["S256"], "PKCE; required.")),
});

/** Names one walk through the pages; refused without its cookie. */
export const interactionId = Type.String({
  minLength: 10,
  maxLength: 64,
  pattern: "^[\\w-]+$",
  description: "Id of the authorization request.",
});

export const codeForm = closed(
  {
    xsrf: text(100, { description: "From the page." }),
    user_code: text(20, { description: "The code on the device." }),
    confirm: Type.Optional(oneOf(["yes"], "The person confirms that it is their device.")),
    abort: Type.Optional(oneOf(["yes"], "The person says that it is not their device.")),
  },
  { title: "UserCodeForm" },
);

export const interactionForm = closed(
  {
    csrf: text(100, { description: "From the page." }),
    act: oneOf(["sign_in", "send_code", "approve", "deny"], "Which button was pressed."),
    email: Type.Optional(text(254, { description: "To sign in." })),
    password: Type.Optional(text(1024, { description: "To sign in." })),
    totp_code: Type.Optional(text(11, { description: "To sign in: six digits, or a recovery code." })),
    otp_challenge_id: Type.Optional(text(36, { description: "From the page, after an SMS code was sent." })),
  },
  { title: "InteractionForm" },
);

const uri = (description: string, path: string) =>
  Type.String({
    format: "uri",
    maxLength: maxUriLength,
    description,
    examples: [`https://api.emanet.example${path}`],
  });
const list = (description: string, ...example: readonly string[]) =>
  Type.Array(Type.String({ maxLength: 100, pattern: "^[\\w:.-]+$" }), {
    maxItems: 50,
    description,
    examples: [[...example]],
  });

export const deviceQuery = closed({
  user_code: Type.Optional(text(20, { description: "Is filled into the form, so that the person can compare it." })),
});

export const metadata = closed(
  {
    issuer: uri("The issuer of every token.", "/oauth2"),
    authorization_endpoint: uri("The endpoint for browsers.", "/oauth2/authorize"),
    token_endpoint: uri("The token endpoint.", "/oauth2/token"),
    device_authorization_endpoint: uri(
      "The endpoint that starts the device flow (RFC 8628).",
      "/oauth2/device_authorization",
    ),
    revocation_endpoint: uri("RFC 7009.", "/oauth2/revoke"),
    introspection_endpoint: uri("RFC 7662.", "/oauth2/introspect"),
    jwks_uri: uri("The keys that sign access tokens.", "/oauth2/jwks"),
    service_documentation: uri("The documentation.", "/docs"),
    scopes_supported: list("Every scope.", "account:read", "account:write"),
    response_types_supported: list("Always `code`.", "code"),
    response_modes_supported: list("Always `query`.", "query"),
    grant_types_supported: list("See the token operation.", "client_credentials", "refresh_token"),
    code_challenge_methods_supported: list("Always `S256`.", "S256"),
    token_endpoint_auth_methods_supported: list("How clients authenticate.", "client_secret_basic", "private_key_jwt"),
    token_endpoint_auth_signing_alg_values_supported: list("For `private_key_jwt`.", "ES256"),
    revocation_endpoint_auth_methods_supported: list("As for the token endpoint.", "client_secret_basic"),
    revocation_endpoint_auth_signing_alg_values_supported: list("As for the token endpoint.", "ES256"),
    introspection_endpoint_auth_methods_supported: list(
      "As for the token endpoint, but without `none`.",
      "client_secret_basic",
    ),
    introspection_endpoint_auth_signing_alg_values_supported: list("As for the token endpoint.", "ES256"),
    ui_locales_supported: list("Languages of the pages.", "tr", "en"),
    authorization_response_iss_parameter_supported: Type.Boolean({ description: "RFC 9207." }),
  },
  { title: "AuthorizationServerMetadata" },
);

const encoded = (example: string) => Type.String({ maxLength: 64, pattern: "^[\\w-]+$", examples: [example] });

export const jwks = closed(
  {
    keys: Type.Array(
      closed(
        {
          kty: Type.Literal("EC", { type: "string" }),
          crv: Type.Literal("P-256", { type: "string" }),
          x: encoded("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"),
          y: encoded("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"),
          kid: encoded("2026-11"),
          alg: Type.Literal("ES256", { type: "string" }),
          use: Type.Literal("sig", { type: "string" }),
        },
        { title: "PublicKey" },
      ),
      { maxItems: 10 },
    ),
  },
  { title: "PublicKeys" },
);
