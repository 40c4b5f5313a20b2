/** `GET /oauth2/.well-known/openid-configuration` */

import { metadataEndpoint } from "../metadata.ts";

export const getMetadataOpenid = metadataEndpoint(
  "oauth.metadata_openid",
  "/oauth2/.well-known/openid-configuration",
  "The same document for clients that read only this path (RFC 8414, section 5). There are no ID tokens.",
);
