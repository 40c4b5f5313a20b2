/** `GET /docs…`: the pages and documents of `pages.ts`, through the same stages as every other request. */

import { type Endpoint, endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type } from "../../kernel/http/schema.ts";
import { Problem, type ProblemCode } from "../../kernel/problems.ts";
import type { DocsPage, DocsPages } from "../pages.ts";

const common = { method: "GET", tag: "docs", access: { kind: "public" } } as const;

/** The endpoints; the pages are made when the first is asked for. */
export function readDocs(pages: () => DocsPages): readonly Endpoint[] {
  const page = endpoint(
    {
      ...common,
      id: "docs.page",
      path: "/docs",
      summary: "Interactive documentation",
      description: "This document as a page, with a form to try every operation.",
      replies: { 200: { description: "The page.", content: ["text/html"] } },
    },
    async () => show(pages().page),
  );
  const json = endpoint(
    {
      ...common,
      id: "docs.json",
      path: "/docs/json",
      summary: "OpenAPI document as JSON",
      description: "The machine-readable description of this API, OpenAPI 3.1.",
      crossOrigin: true,
      replies: { 200: { description: "The document.", content: ["application/json"] } },
    },
    async () => show(pages().json),
  );
  const yaml = endpoint(
    {
      ...common,
      id: "docs.yaml",
      path: "/docs/yaml",
      summary: "OpenAPI document as YAML",
      description: "The same object as `/docs/json`.",
      crossOrigin: true,
      replies: { 200: { description: "The document.", content: ["application/yaml"] } },
    },
    async () => show(pages().yaml),
  );
  return [page, json, yaml, ...errorPages(pages), assets(pages)];
}

function errorPages(pages: () => DocsPages): readonly Endpoint[] {
  const list = endpoint(
    {
      ...common,
      id: "docs.errors",
      path: "/docs/errors",
      summary: "All error codes",
      description: "A page with every code that a problem can have.",
      replies: { 200: { description: "The page.", content: ["text/html"] } },
    },
    async () => show(pages().errorList),
  );
  const one = endpoint(
    {
      ...common,
      id: "docs.error",
      path: "/docs/errors/{code}",
      summary: "One error code",
      description: "The meaning of a code and what to do about it. The `type` of a problem is this URL.",
      params: closed({
        code: Type.String({ minLength: 1, maxLength: 64, pattern: "^[a-z_]+$", description: "The code." }),
      }),
      replies: { 200: { description: "The page.", content: ["text/html"] } },
    },
    async (_ctx, { params }) => show(pages().errors.get(params.code as ProblemCode)),
  );
  return [list, one];
}

function assets(pages: () => DocsPages): Endpoint {
  return endpoint(
    {
      ...common,
      id: "docs.asset",
      path: "/docs/assets/{name}",
      summary: "A file of the documentation pages",
      description: "Scripts, styles and icons; their names change with their content.",
      params: closed({
        name: Type.String({ minLength: 1, maxLength: 100, pattern: "^[a-zA-Z0-9.-]+$", description: "The file." }),
      }),
      replies: { 200: { description: "The file.", content: ["text/javascript", "text/css", "image/x-icon"] } },
    },
    async (_ctx, { params }) => show(pages().assets.get(params.name)),
  );
}

function show(page: DocsPage | undefined) {
  if (page === undefined) throw new Problem("not_found");
  const headers = { ...page.headers, "content-type": page.contentType, etag: page.etag };
  return { status: 200, headers, body: page.body } as const;
}
