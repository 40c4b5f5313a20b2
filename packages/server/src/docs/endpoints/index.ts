/** Every operation of this domain, and the tags that group them in the API document. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import type { JsonObject, OpenapiTag } from "../../kernel/http/openapi.ts";
import { type DocsPages, docsPages } from "../pages.ts";
import { getAsset } from "./get-asset.ts";
import { getError } from "./get-error.ts";
import { getErrors } from "./get-errors.ts";
import { getGuide } from "./get-guide.ts";
import { getJson } from "./get-json.ts";
import { getPage } from "./get-page.ts";
import { getReader } from "./get-reader.ts";
import { getYaml } from "./get-yaml.ts";

/**
 * The pages show the document of all endpoints, these included, with the origin of the service. So they are made at the
 * first request. An origin does not change while a service runs.
 */
export function docsEndpoints(apiDocument: (origin: string) => JsonObject): readonly Endpoint[] {
  let made: { readonly origin: string; readonly pages: DocsPages } | undefined;
  const pages = (origin: string) => {
    if (made?.origin !== origin) made = { origin, pages: docsPages({ openapi: apiDocument(origin) }) };
    return made.pages;
  };
  return [
    getPage(pages),
    getReader(pages),
    getJson(pages),
    getYaml(pages),
    getErrors(pages),
    getError(pages),
    getGuide(pages),
    getAsset(pages),
  ];
}

export const docsTags: readonly OpenapiTag[] = [
  { name: "docs", description: "This document and the documentation pages." },
];
