/** `/v1/me`: the person who asks. Phone, password and second factor have endpoints of their own. */

import {
  findPerson,
  languageSchema,
  lockPerson,
  oneLinePattern,
  type PersonRow,
  updatePerson,
} from "../../accounts/index.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type, text } from "../../kernel/http/schema.ts";
import { Problem } from "../../kernel/problems.ts";
import { countRecoveryCodes } from "../credentials.ts";
import { maskedPhone, meSchema } from "../shapes.ts";
import { personOf } from "../who.ts";

export const getMe = endpoint(
  {
    id: "me.get",
    method: "GET",
    path: "/v1/me",
    tag: "me",
    summary: "Read yourself",
    description: "Who the access token stands for.",
    access: { kind: "person", scope: "account:read" },
    replies: { 200: { description: "You.", body: meSchema } },
    errors: ["not_found"],
  },
  async (ctx, { principal }) => {
    const { personId, accountId, scope } = personOf(principal);
    const body = await ctx.tx(scope, async (tx) => {
      const person = await findPerson(tx, accountId, personId);
      if (person === undefined) throw new Problem("not_found");
      return meShape(person, await countRecoveryCodes(tx, personId));
    });
    return { status: 200, body };
  },
);

export const updateMe = endpoint(
  {
    id: "me.update",
    method: "PATCH",
    path: "/v1/me",
    tag: "me",
    summary: "Change your name or language",
    description: "Phone, password and second factor have operations of their own, which ask for a fresh code.",
    access: { kind: "person", scope: "account:write" },
    body: closed(
      {
        full_name: Type.Optional(text(200, { pattern: oneLinePattern, description: "Your name." })),
        language: Type.Optional(languageSchema),
      },
      { title: "MeChange" },
    ),
    ifMatch: "optional",
    replies: { 200: { description: "You.", body: meSchema } },
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

function meShape(row: PersonRow, recoveryCodesLeft: number) {
  return {
    id: row.id,
    account_id: row.account_id,
    role: row.role,
    email: row.email,
    full_name: row.full_name,
    language: row.language,
    phone: maskedPhone(row.phone),
    phone_verified: row.phone_verified_at !== null,
    recovery_codes_left: recoveryCodesLeft,
    version: row.version,
  };
}
