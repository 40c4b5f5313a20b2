/** `GET /.well-known/oauth-authorization-server/oauth2` */

import { metadataEndpoint } from "../metadata.ts";

export const getMetadataByRfc = metadataEndpoint(
  "oauth.metadata_by_rfc",
  "/.well-known/oauth-authorization-server/oauth2",
  "The same document at the path that RFC 8414 defines for an issuer with a path.",
);
