/** Every operation of this domain, and the tags that group them in the API document. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import type { JsonObject, OpenapiTag } from "../../kernel/http/openapi.ts";
import { type DocsPages, docsPages } from "../pages.ts";
import { getAsset } from "./get-asset.ts";
import { getError } from "./get-error.ts";
import { getErrors } from "./get-errors.ts";
import { getJson } from "./get-json.ts";
import { getPage } from "./get-page.ts";
import { getYaml } from "./get-yaml.ts";

/** The pages show the document of all endpoints, these included. So they are made at the first request. */
export function docsEndpoints(apiDocument: () => JsonObject): readonly Endpoint[] {
  let made: DocsPages | undefined;
  const pages = () => {
    made ??= docsPages({ openapi: apiDocument() });
    return made;
  };
  return [getPage(pages), getJson(pages), getYaml(pages), getErrors(pages), getError(pages), getAsset(pages)];
}

export const docsTags: readonly OpenapiTag[] = [
  { name: "docs", description: "This document and the documentation pages." },
];
