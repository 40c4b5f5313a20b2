/** Every operation of this domain, and the tags that group them in the API document. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import type { OpenapiTag } from "../../kernel/http/openapi.ts";
import { checkLive } from "./check-live.ts";
import { checkReady } from "./check-ready.ts";

export const healthEndpoints: readonly Endpoint[] = [checkLive, checkReady];

export const healthTags: readonly OpenapiTag[] = [
  { name: "health", description: "For supervisors and load balancers." },
];
