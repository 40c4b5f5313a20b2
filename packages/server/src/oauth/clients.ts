/** Converts a client to the metadata that the library expects. */

import type { AdapterPayload } from "./oidc-provider.ts";
import type { ClientGrant, OauthClient } from "./ports.ts";

const grantTypes: Readonly<Record<ClientGrant, string>> = {
  client_credentials: "client_credentials",
  device_code: "urn:ietf:params:oauth:grant-type:device_code",
  authorization_code: "authorization_code",
};

/** A placeholder for the secret that the library expects. The real ones are hashed; the domain `accounts` compares them. */
const secretPlaceholder = "kept-elsewhere";

export function clientMetadata(client: OauthClient): AdapterPayload {
  // A client without authentication gets no token in its own name.
  const grants = client.grants.filter((grant) => grant !== "client_credentials" || client.authentication !== "none");
  const hasPeople = grants.some((grant) => grant !== "client_credentials");
  const usesCode = client.grants.includes("authorization_code");
  return {
    client_id: client.id,
    client_name: client.name,
    // Loopback redirects with any port (RFC 8252) are only for programs on a person's machine, which have no secret.
    application_type: client.authentication === "none" ? "native" : "web",
    grant_types: [...grants.map((grant) => grantTypes[grant]), ...(hasPeople ? ["refresh_token"] : [])],
    response_types: usesCode ? ["code"] : [],
    redirect_uris: usesCode ? [...client.redirectUris] : [],
    scope: client.scopes.join(" "),
    ...authentication(client),
  } as AdapterPayload;
}

function authentication({ authentication, keys }: OauthClient): Readonly<Record<string, unknown>> {
  switch (authentication) {
    case "secret":
      return { token_endpoint_auth_method: "client_secret_basic", client_secret: secretPlaceholder };
    case "key":
      return { token_endpoint_auth_method: "private_key_jwt", jwks: { keys } };
    case "none":
      return { token_endpoint_auth_method: "none" };
  }
}
