/** `GET /v1/sessions/{id}`: one place where a person is signed in. */

import { etagOf } from "../../../kernel/http/conditional.ts";
import { endpoint } from "../../../kernel/http/endpoint.ts";
import { closed, uuid } from "../../../kernel/http/schema.ts";
import { Problem } from "../../../kernel/problems.ts";
import { personOf } from "../principal-person.ts";
import { sessionFacts, sessionSchema, sessionShape } from "../shapes.ts";
import { findOwnSession } from "../store.ts";

export const getSession = endpoint(
  {
    id: "sessions.get",
    method: "GET",
    path: "/v1/sessions/{id}",
    tag: "sessions",
    summary: "Read one of your sessions",
    description:
      "The ETag changes when the session is used. The field `current` depends on the caller and does not change the ETag.",
    access: { kind: "person", scope: "account:read" },
    params: closed({ id: uuid("Id of the session.") }),
    replies: { 200: { description: "The session.", body: sessionSchema } },
  },
  async (ctx, { principal, params }) => {
    const { personId, scope } = personOf(principal);
    const row = await ctx.read(scope, (tx) => findOwnSession(tx, personId, params.id));
    if (row === undefined) throw new Problem("not_found");
    return {
      status: 200,
      body: sessionShape(row, principal.sessionId),
      headers: { ETag: etagOf(sessionFacts(row)) },
    };
  },
);
