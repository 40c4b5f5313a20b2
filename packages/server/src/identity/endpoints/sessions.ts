/** `/v1/sessions`: where a person is signed in, and how to end it. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, uuid } from "../../kernel/http/schema.ts";
import { Problem } from "../../kernel/problems.ts";
import { liveSessionsOf, revokeSession, type SessionRow } from "../sessions.ts";
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

export const endSession = endpoint(
  {
    id: "sessions.end",
    method: "DELETE",
    path: "/v1/sessions/{id}",
    tag: "sessions",
    summary: "End a session",
    description: "Signs one of your sessions out: its access and refresh tokens are refused from now on.",
    access: { kind: "person", scope: "account:write" },
    params: closed({ id: uuid("Id of the session.") }),
    replies: { 204: { description: "It has ended.", empty: true } },
  },
  async (ctx, { principal, params }) => {
    const { personId, scope } = personOf(principal);
    await ctx.tx(scope, async (tx) => {
      const own = (await liveSessionsOf(tx, personId)).some((row) => row.id === params.id);
      if (!own || !(await revokeSession(tx, params.id, "revoked"))) throw new Problem("not_found");
      tx.audit({ action: "session.ended", targets: [{ type: "session", id: params.id }], metadata: { by: "person" } });
    });
    return { status: 204 };
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
