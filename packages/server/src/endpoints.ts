/**
 * The list of everything that can be called. A new endpoint is a line here; the router, the OpenAPI document, the docs
 * pages and the tests follow from it.
 */

import { submitApplication } from "./applications/endpoints/submit-application.ts";
import { docsEndpoints } from "./docs/endpoints/read-docs.ts";
import { docsPages } from "./docs/index.ts";
import { checkLive } from "./health/endpoints/check-live.ts";
import { checkReady } from "./health/endpoints/check-ready.ts";
import type { EventType } from "./kernel/events.ts";
import type { Endpoint } from "./kernel/http/endpoint.ts";
import { type JsonObject, type OpenapiTag, openapiDocument } from "./kernel/http/openapi.ts";
import { version } from "./version.ts";

export const endpoints: readonly Endpoint[] = [
  submitApplication,
  checkLive,
  checkReady,
  ...docsEndpoints(once(() => docsPages({ openapi: apiDocument() }))),
];

/** Every event that an account can be told of. */
export const events: readonly EventType[] = [];

export const tags: readonly OpenapiTag[] = [
  { name: "applications", description: "Becoming a customer." },
  { name: "docs", description: "This document, and pages about it." },
  { name: "health", description: "For supervisors and load balancers." },
];

/** The OpenAPI document of this release. */
export function apiDocument(): JsonObject {
  return openapiDocument(endpoints, events, tags, version);
}

/** The documentation describes the endpoints and is served by some of them: it is made when it is first asked for. */
function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
