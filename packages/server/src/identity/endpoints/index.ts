/** Every operation of this domain, and the tags that group them in the API document. Each part lists its own. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import type { OpenapiTag } from "../../kernel/http/openapi.ts";
import { enrolmentEndpoints, enrolmentTags } from "../enrolment/endpoints/index.ts";
import { memberEndpoints, memberTags } from "../members/endpoints/index.ts";
import { recoveryEndpoints } from "../recovery/endpoints/index.ts";
import { sessionEndpoints, sessionTags } from "../sessions/endpoints/index.ts";

export const identityEndpoints: readonly Endpoint[] = [
  ...memberEndpoints,
  ...enrolmentEndpoints,
  ...sessionEndpoints,
  ...recoveryEndpoints,
];

export const identityTags: readonly OpenapiTag[] = [...memberTags, ...enrolmentTags, ...sessionTags];
