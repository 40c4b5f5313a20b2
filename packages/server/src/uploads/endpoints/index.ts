/** Every operation of this domain, and the tag that groups them in the API document. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import type { OpenapiTag } from "../../kernel/http/openapi.ts";
import { messageOperations } from "../message-operations.ts";
import { putPack } from "./put-pack.ts";

export const uploadEndpoints: readonly Endpoint[] = [...messageOperations, putPack];

export const uploadTags: readonly OpenapiTag[] = [
  { name: "uploads", description: "The upload protocol of agents: only what the vault does not have is sent." },
];
