/** `GET /health/live`: the process runs. Looks at nothing else: a supervisor must not restart it for its database. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { health, healthy } from "../shapes.ts";

export const checkLive = endpoint(
  {
    id: "health.live",
    method: "GET",
    path: "/health/live",
    tag: "health",
    summary: "Is the process running?",
    description: "Answers as long as the process runs, also when the database is not available.",
    access: { kind: "public" },
    replies: { 200: { description: "It runs.", body: health } },
  },
  async () => ({ status: 200, body: healthy }),
);
