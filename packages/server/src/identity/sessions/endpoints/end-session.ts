/** `DELETE /v1/sessions/{id}`: signed out there. */

import { endpoint } from "../../../kernel/http/endpoint.ts";
import { closed, uuid } from "../../../kernel/http/schema.ts";
import { Problem } from "../../../kernel/problems.ts";
import { personOf } from "../principal-person.ts";
import { sessionFacts } from "../shapes.ts";
import { lockOwnSession, revokeSession } from "../store.ts";

export const endSession = endpoint(
  {
    id: "sessions.end",
    method: "DELETE",
    path: "/v1/sessions/{id}",
    tag: "sessions",
    summary: "End a session",
    description: "Ends one of your sessions. Its access and refresh tokens are refused from now on.",
    access: { kind: "person", scope: "account:write" },
    params: closed({ id: uuid("Id of the session.") }),
    ifMatch: "optional",
    replies: { 204: { description: "It has ended.", empty: true } },
  },
  async (ctx, { principal, params, requireMatch }) => {
    const { personId, scope } = personOf(principal);
    await ctx.tx(scope, async (tx) => {
      const own = await lockOwnSession(tx, personId, params.id);
      if (own === undefined) throw new Problem("not_found");
      requireMatch(sessionFacts(own));
      if (!(await revokeSession(tx, params.id, "revoked"))) throw new Problem("not_found");
      tx.audit({ action: "session.ended", targets: [{ type: "session", id: params.id }], metadata: { by: "person" } });
    });
    return { status: 204 };
  },
);
