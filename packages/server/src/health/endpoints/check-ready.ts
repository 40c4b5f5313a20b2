/** `GET /health/ready`: requests will be served. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { health, healthy } from "../shapes.ts";
import { pingDatabase } from "../store.ts";

/** Load balancers ask every few seconds and take a slow answer for a no. */
const readyDeadlineMs = 3_000;

export const checkReady = endpoint(
  {
    id: "health.ready",
    method: "GET",
    path: "/health/ready",
    tag: "health",
    summary: "Can requests be served?",
    description: "Checks the database. 503 `unavailable` while the database does not answer.",
    access: { kind: "public" },
    replies: { 200: { description: "Requests are served.", body: health } },
    deadlineMs: readyDeadlineMs,
  },
  async (ctx) => {
    await ctx.read({ kind: "platform" }, pingDatabase);
    return { status: 200, body: healthy };
  },
);
