/** The operations of the read protocol, in the order of the document. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import type { OpenapiTag } from "../../kernel/http/openapi.ts";
import { readOperations } from "../read-operations.ts";
import { readPack } from "./read-pack.ts";

export const readEndpoints: readonly Endpoint[] = [...readOperations, readPack];

export const readTags: readonly OpenapiTag[] = [
  { name: "reads", description: "Read snapshots as sealed frames, for agents." },
];
