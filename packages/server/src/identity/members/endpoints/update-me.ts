/** `PATCH /v1/me`: another name or language. Phone, password and second factor have operations of their own. */

import { findPerson, languageSchema, lockPerson, oneLinePattern, updatePerson } from "../../../accounts/index.ts";
import { endpoint } from "../../../kernel/http/endpoint.ts";
import { closed, Type, text } from "../../../kernel/http/schema.ts";
import { Problem } from "../../../kernel/problems.ts";
import { countRecoveryCodes } from "../../factors/index.ts";
import { personOf } from "../../sessions/index.ts";
import { meSchema, meShape } from "../shapes.ts";

export const updateMe = endpoint(
  {
    id: "me.update",
    method: "PATCH",
    path: "/v1/me",
    tag: "me",
    summary: "Change your name or language",
    description: "Phone, password and second factor have separate operations, which need a fresh code.",
    access: { kind: "person", scope: "account:write" },
    body: closed(
      {
        full_name: Type.Optional(text(200, { pattern: oneLinePattern, description: "Your name." })),
        language: Type.Optional(languageSchema),
      },
      { title: "MeChange" },
    ),
    ifMatch: "optional",
    replies: { 200: { description: "Your data.", body: meSchema } },
    errors: ["not_found"],
  },
  async (ctx, { principal, body, requireMatch }) => {
    const { personId, accountId, scope } = personOf(principal);
    const changed = await ctx.tx(scope, async (tx) => {
      const before = await lockPerson(tx, accountId, personId);
      if (before === undefined) throw new Problem("not_found");
      const codes = await countRecoveryCodes(tx, personId);
      requireMatch(meShape(before, codes));
      await updatePerson(tx, accountId, personId, body);
      const fields = Object.keys(body).sort().join(" ");
      tx.audit({ action: "person.changed", targets: [{ type: "person", id: personId }], metadata: { fields } });
      const after = await findPerson(tx, accountId, personId);
      return meShape(after ?? before, codes);
    });
    return { status: 200, body: changed };
  },
);
