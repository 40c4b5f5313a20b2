/** `GET /assets/{name}`: scripts, styles, fonts and images of the web application. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type } from "../../kernel/http/schema.ts";
import { Problem } from "../../kernel/problems.ts";
import { builtDashboard } from "../built-files.ts";

/** A year, the longest time in RFC 9111; the name changes with the content. */
const forever = "public, max-age=31536000, immutable";

export const getFile = endpoint(
  {
    id: "dashboard.file",
    method: "GET",
    path: "/assets/{name}",
    tag: "docs",
    summary: "A file of the dashboard",
    description: "Scripts, styles, fonts and images; their names change with their content.",
    access: { kind: "public" },
    params: closed({
      name: Type.String({ minLength: 1, maxLength: 100, pattern: "^[a-zA-Z0-9._-]+$", description: "The file." }),
    }),
    replies: {
      200: { description: "The file.", content: ["text/javascript", "text/css", "image/svg+xml", "font/woff2"] },
    },
  },
  async (_ctx, { params }) => {
    const file = builtDashboard()?.files.get(params.name);
    if (file === undefined) throw new Problem("not_found");
    const headers = { "content-type": file.contentType, "cache-control": forever };
    return { status: 200, headers, body: file.body } as const;
  },
);
