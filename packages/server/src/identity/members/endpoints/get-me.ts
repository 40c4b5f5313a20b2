/** `GET /v1/me`: the person who asks. */

import { findPerson } from "../../../accounts/index.ts";
import { endpoint } from "../../../kernel/http/endpoint.ts";
import { Problem } from "../../../kernel/problems.ts";
import { countRecoveryCodes } from "../../factors/index.ts";
import { personOf } from "../../sessions/index.ts";
import { meSchema, meShape } from "../shapes.ts";

export const getMe = endpoint(
  {
    id: "me.get",
    method: "GET",
    path: "/v1/me",
    tag: "me",
    summary: "Read your own data",
    description: "The person of the access token.",
    access: { kind: "person", scope: "account:read" },
    replies: { 200: { description: "Your data.", body: meSchema } },
    errors: ["not_found"],
  },
  async (ctx, { principal }) => {
    const { personId, accountId, scope } = personOf(principal);
    const body = await ctx.read(scope, async (tx) => {
      const person = await findPerson(tx, accountId, personId);
      if (person === undefined) throw new Problem("not_found");
      return meShape(person, await countRecoveryCodes(tx, personId));
    });
    return { status: 200, body };
  },
);
