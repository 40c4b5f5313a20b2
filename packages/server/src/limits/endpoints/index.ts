/** Every operation of this domain, and the tags that group them in the API document. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import type { OpenapiTag } from "../../kernel/http/openapi.ts";
import { listRateLimitRequests } from "./list-rate-limit-requests.ts";
import { listRateLimits } from "./list-rate-limits.ts";
import { requestRateLimit } from "./request-rate-limit.ts";

export const limitEndpoints: readonly Endpoint[] = [listRateLimits, requestRateLimit, listRateLimitRequests];

export const limitTags: readonly OpenapiTag[] = [
  { name: "rate-limits", description: "The limits of an account and what is left of them." },
];
