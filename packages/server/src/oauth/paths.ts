/** Where the OAuth server is. */

import type { OauthPath } from "../kernel/http/path-rules.ts";

export const oauthPath: OauthPath = {
  prefix: "/oauth2/",
  description:
    "Access token (RFC9068) by OAuth 2.0, issued and checked by the rules of RFC8725. Metadata: `/oauth2/.well-known/oauth-authorization-server`. Agents use the device flow (`POST /oauth2/device_authorization`).",
  tokenUrl: "/oauth2/token",
  authorizationUrl: "/oauth2/authorize",
};
