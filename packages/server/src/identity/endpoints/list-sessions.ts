/** `GET /v1/sessions`: where a person is signed in. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { liveSessionsOf, type SessionRow } from "../sessions.ts";
import { sessionList } from "../shapes.ts";
import { personOf } from "../who.ts";

export const listSessions = endpoint(
  {
    id: "sessions.list",
    method: "GET",
    path: "/v1/sessions",
    tag: "sessions",
    summary: "List your sessions",
    description: "Where you are signed in, newest first; the last 100.",
    access: { kind: "person", scope: "account:read" },
    replies: { 200: { description: "Your sessions.", body: sessionList } },
  },
  async (ctx, { principal }) => {
    const { personId, scope } = personOf(principal);
    const rows = await ctx.tx(scope, (tx) => liveSessionsOf(tx, personId));
    return { status: 200, body: { data: rows.map((row) => sessionShape(row, principal.sessionId)) } };
  },
);

function sessionShape(row: SessionRow, currentId: string) {
  const ends = row.expires_at !== null && row.expires_at < row.idle_expires_at ? row.expires_at : row.idle_expires_at;
  return {
    id: row.id,
    kind: row.kind,
    client_id: row.client_id,
    current: row.id === currentId,
    created_at: row.created_at.toISOString(),
    last_used_at: row.last_used_at.toISOString(),
    expires_at: ends.toISOString(),
  };
}
