/** Every operation of this domain, and the tags that group them in the API document. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import type { OpenapiTag } from "../../kernel/http/openapi.ts";
import { moveClock } from "./move-clock.ts";

export const sandboxEndpoints: readonly Endpoint[] = [moveClock];

export const sandboxTags: readonly OpenapiTag[] = [
  { name: "sandbox", description: "For tests, in profile sandbox only." },
];
