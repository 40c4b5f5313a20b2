/** `PATCH /v1/account`: its name, its language, and codes by SMS. */

import { requireFreshPerson } from "../../kernel/http/access.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type, text } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import { accountSchema, accountShape, languageSchema, oneLinePattern } from "../shapes.ts";
import { findAccount, lockAccount, updateAccount } from "../store.ts";

export const updateAccountSettings = endpoint(
  {
    id: "account.update",
    method: "PATCH",
    path: "/v1/account",
    tag: "account",
    summary: "Change the account",
    description:
      "Changes the name, the language, and whether SMS codes may be used to sign in. Owners only. To change `sms_sign_in` you must be a person with a fresh second factor.",
    access: { kind: "account", scope: "account:write", roles: ["owner"] },
    body: closed(
      {
        name: Type.Optional(text(200, { pattern: oneLinePattern, description: "Name of the office or company." })),
        language: Type.Optional(languageSchema),
        sms_sign_in: Type.Optional(Type.Boolean({ description: "SMS codes can replace the authenticator." })),
      },
      { title: "AccountChange" },
    ),
    ifMatch: "optional",
    replies: { 200: { description: "The account.", body: accountSchema } },
    errors: ["not_found", "step_up_required"],
  },
  async (ctx, { principal, body, requireMatch }) => {
    const { accountId } = principal;
    // Decides how people sign in; name and language are no security settings.
    if (body.sms_sign_in !== undefined) requireFreshPerson(principal, ctx.clock.now());
    const after = await ctx.tx(rowAccessOf(principal), async (tx) => {
      const before = await lockAccount(tx, accountId);
      if (before === undefined) throw new Problem("not_found");
      requireMatch(accountShape(before));
      await updateAccount(tx, accountId, body);
      const fields = Object.keys(body).sort().join(" ");
      tx.audit({ action: "account.changed", targets: [{ type: "account", id: accountId }], metadata: { fields } });
      return (await findAccount(tx, accountId)) ?? before;
    });
    return { status: 200, body: accountShape(after) };
  },
);
