/** Every operation of this domain, and the tags that group them in the API document. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import type { OpenapiTag } from "../../kernel/http/openapi.ts";
import { createTaxpayer } from "./create-taxpayer.ts";
import { getTaxpayer } from "./get-taxpayer.ts";
import { listTaxpayers } from "./list-taxpayers.ts";
import { updateTaxpayer } from "./update-taxpayer.ts";

export const taxpayerEndpoints: readonly Endpoint[] = [listTaxpayers, createTaxpayer, getTaxpayer, updateTaxpayer];

export const taxpayerTags: readonly OpenapiTag[] = [
  { name: "taxpayers", description: "The clients of an accounting office; each has a vault." },
];
