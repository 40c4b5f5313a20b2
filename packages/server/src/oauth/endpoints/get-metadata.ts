/** `GET /oauth2/.well-known/oauth-authorization-server` */

import { metadataEndpoint } from "../metadata.ts";

export const getMetadata = metadataEndpoint(
  "oauth.metadata",
  "/oauth2/.well-known/oauth-authorization-server",
  "RFC 8414. This path is below the issuer; many clients expect it here.",
);
