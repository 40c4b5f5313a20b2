/** Every operation of this domain, and the tags that group them in the API document. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import type { JsonObject, OpenapiTag } from "../../kernel/http/openapi.ts";
import { type DocsPages, docsPages } from "../pages.ts";
import { readDocs } from "./read-docs.ts";

/** The pages show the document of all endpoints, these included. So they are made at the first request. */
export function docsEndpoints(apiDocument: () => JsonObject): readonly Endpoint[] {
  let made: DocsPages | undefined;
  const pages = () => {
    made ??= docsPages({ openapi: apiDocument() });
    return made;
  };
  return readDocs(pages);
}

export const docsTags: readonly OpenapiTag[] = [
  { name: "docs", description: "This document and the documentation pages." },
];
