/** Every operation of this domain, and the tags that group them in the API document. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import type { OpenapiTag } from "../../kernel/http/openapi.ts";
import { authorizeEndpoints } from "./authorize.ts";
import { authorizeDevice } from "./authorize-device.ts";
import { codeEndpoints } from "./enter-code.ts";
import { interactionEndpoints } from "./interact.ts";
import { introspectToken } from "./introspect-token.ts";
import { issueToken } from "./issue-token.ts";
import { metadataEndpoints, readKeys } from "./read-metadata.ts";
import { revokeToken } from "./revoke-token.ts";

export const oauthEndpoints: readonly Endpoint[] = [
  issueToken,
  revokeToken,
  introspectToken,
  authorizeDevice,
  ...authorizeEndpoints,
  ...codeEndpoints,
  ...interactionEndpoints,
  readKeys,
  ...metadataEndpoints,
];

export const oauthTags: readonly OpenapiTag[] = [
  { name: "oauth", description: "OAuth 2.0: access for programs, and the pages on which people grant it." },
];
