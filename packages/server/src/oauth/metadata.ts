/** The metadata of RFC 8414: one document, served in each place where clients look for it. */

import { oauthScopes } from "../declarations.ts";
import { type Endpoint, endpoint } from "../kernel/http/endpoint.ts";
import { mountPath } from "./call-library.ts";
import { assertionAlgorithms, clientAuthMethods, routes } from "./provider.ts";
import { grantTypes, metadata } from "./shapes.ts";

export const discoveryOperation = {
  method: "GET",
  tag: "oauth",
  access: { kind: "public" },
  crossOrigin: true,
} as const;

/** A new key is published long before it signs, so keys may be kept for a while. */
export const keysCaching = "public, max-age=300";

export function metadataEndpoint(id: string, path: string, description: string): Endpoint {
  return endpoint(
    {
      ...discoveryOperation,
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
