/** `GET /v1/members/{id}`: one of them. */

import { findPerson, memberSchema, memberShape } from "../../../accounts/index.ts";
import { endpoint } from "../../../kernel/http/endpoint.ts";
import { rowAccessOf } from "../../../kernel/principal.ts";
import { Problem } from "../../../kernel/problems.ts";
import { memberId, reads } from "../members.ts";

export const getMember = endpoint(
  {
    id: "members.get",
    method: "GET",
    path: "/v1/members/{id}",
    tag: "members",
    summary: "Read a member",
    description: "One member of the account.",
    access: reads,
    params: memberId,
    replies: { 200: { description: "The member.", body: memberSchema } },
  },
  async (ctx, { principal, params }) => {
    const row = await ctx.read(rowAccessOf(principal), (tx) => findPerson(tx, principal.accountId, params.id));
    if (row === undefined || row.state === "removed") throw new Problem("not_found");
    return { status: 200, body: memberShape(row) };
  },
);
