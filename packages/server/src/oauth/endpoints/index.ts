/** Every operation of this domain, and the tags that group them in the API document. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import type { OpenapiTag } from "../../kernel/http/openapi.ts";
import { actOnInteraction } from "./act-on-interaction.ts";
import { authorize } from "./authorize.ts";
import { authorizeDevice } from "./authorize-device.ts";
import { enterCode } from "./enter-code.ts";
import { getKeys } from "./get-keys.ts";
import { getMetadata } from "./get-metadata.ts";
import { getMetadataByRfc } from "./get-metadata-by-rfc.ts";
import { getMetadataOpenid } from "./get-metadata-openid.ts";
import { getStyle } from "./get-style.ts";
import { introspectToken } from "./introspect-token.ts";
import { issueToken } from "./issue-token.ts";
import { resumeAuthorization } from "./resume-authorization.ts";
import { resumeDevice } from "./resume-device.ts";
import { revokeToken } from "./revoke-token.ts";
import { showCodeForm } from "./show-code-form.ts";
import { showInteraction } from "./show-interaction.ts";

export const oauthEndpoints: readonly Endpoint[] = [
  issueToken,
  revokeToken,
  introspectToken,
  authorizeDevice,
  authorize,
  resumeAuthorization,
  getStyle,
  showCodeForm,
  enterCode,
  resumeDevice,
  showInteraction,
  actOnInteraction,
  getKeys,
  getMetadata,
  getMetadataByRfc,
  getMetadataOpenid,
];

export const oauthTags: readonly OpenapiTag[] = [
  { name: "oauth", description: "OAuth 2.0: access for programs, and the pages on which people grant it." },
];
