/** What clients need to know beforehand: the metadata of RFC 8414, in each place where they look, and the public keys. */

import { oauthScopes } from "../../declarations.ts";
import { type Endpoint, endpoint } from "../../kernel/http/endpoint.ts";
import { mountPath } from "../bridge.ts";
import { assertionAlgorithms, clientAuthMethods, routes } from "../provider.ts";
import { grantTypes, jwks, metadata } from "../shapes.ts";
import { publicKeys } from "../wiring.ts";

const common = { method: "GET", tag: "oauth", access: { kind: "public" }, crossOrigin: true } as const;

export const readKeys = endpoint(
  {
    ...common,
    wire: "oauth",
    id: "oauth.keys",
    path: "/oauth2/jwks",
    summary: "Public keys",
    description:
      "The keys that sign access tokens (RFC 7517). A new key is published before its first use and stays until all tokens that it signed have expired.",
    replies: { 200: { description: "The keys.", body: jwks } },
  },
  async (ctx) => ({ status: 200, headers: { "cache-control": keysCaching }, body: await publicKeys(ctx) }),
);

/** A new key is published long before it signs, so keys may be kept for a while. */
const keysCaching = "public, max-age=300";

function metadataEndpoint(id: string, path: string, description: string): Endpoint {
  return endpoint(
    {
      ...common,
      // Outside that prefix the errors are those of the API.
      ...(path.startsWith(mountPath) && ({ wire: "oauth" } as const)),
      id,
      path,
      summary: "Metadata of the authorization server",
      description,
      replies: { 200: { description: "The metadata.", body: metadata } },
    },
    async (ctx) => ({
      status: 200,
      headers: { "cache-control": keysCaching },
      body: serverMetadata(ctx.publicUrl),
    }),
  );
}

export const metadataEndpoints: readonly Endpoint[] = [
  metadataEndpoint(
    "oauth.metadata",
    "/oauth2/.well-known/oauth-authorization-server",
    "RFC 8414. This path is below the issuer; many clients expect it here.",
  ),
  metadataEndpoint(
    "oauth.metadata_by_rfc",
    "/.well-known/oauth-authorization-server/oauth2",
    "The same document at the path that RFC 8414 defines for an issuer with a path.",
  ),
  metadataEndpoint(
    "oauth.metadata_openid",
    "/oauth2/.well-known/openid-configuration",
    "The same document for clients that read only this path (RFC 8414, section 5). There are no ID tokens.",
  ),
];

function serverMetadata(publicUrl: string) {
  const issuer = `${publicUrl}${mountPath}`;
  const proving = clientAuthMethods.filter((method) => method !== "none");
  return {
    issuer,
    authorization_endpoint: issuer + routes.authorization,
    token_endpoint: issuer + routes.token,
    device_authorization_endpoint: issuer + routes.device_authorization,
    revocation_endpoint: issuer + routes.revocation,
    introspection_endpoint: issuer + routes.introspection,
    jwks_uri: issuer + routes.jwks,
    service_documentation: `${publicUrl}/docs`,
    scopes_supported: Object.keys(oauthScopes),
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: [...grantTypes],
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: [...clientAuthMethods],
    token_endpoint_auth_signing_alg_values_supported: [...assertionAlgorithms],
    revocation_endpoint_auth_methods_supported: [...clientAuthMethods],
    revocation_endpoint_auth_signing_alg_values_supported: [...assertionAlgorithms],
    introspection_endpoint_auth_methods_supported: [...proving],
    introspection_endpoint_auth_signing_alg_values_supported: [...assertionAlgorithms],
    ui_locales_supported: ["tr", "en"],
    authorization_response_iss_parameter_supported: true,
  };
}
