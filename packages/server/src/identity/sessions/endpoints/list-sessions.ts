/** `GET /v1/sessions`: where a person is signed in. */

import { newestFirst, pageOf, pageQuery } from "../../../kernel/cursors.ts";
import { endpoint } from "../../../kernel/http/endpoint.ts";
import { closed } from "../../../kernel/http/schema.ts";
import { personOf } from "../principal-person.ts";
import { sessionSchema, sessionShape } from "../shapes.ts";
import { listLiveSessions } from "../store.ts";

export const listSessions = endpoint(
  {
    id: "sessions.list",
    method: "GET",
    path: "/v1/sessions",
    tag: "sessions",
    summary: "List your sessions",
    description: "Your sessions, newest first.",
    access: { kind: "person", scope: "account:read" },
    query: closed({ ...pageQuery, ...newestFirst.query }),
    replies: { 200: { description: "A page.", body: pageOf(sessionSchema, "SessionPage") } },
  },
  async (ctx, { principal, query }) => {
    const { personId, scope } = personOf(principal);
    const binding = { operation: "sessions.list", filters: [personId], sorting: newestFirst };
    const page = ctx.cursors.start(query, binding);
    const rows = await ctx.read(scope, (tx) => listLiveSessions(tx, personId, page));
    const item = (row: (typeof rows)[number]) => sessionShape(row, principal.sessionId);
    return { status: 200, body: ctx.cursors.page(rows, query, binding, item) };
  },
);
