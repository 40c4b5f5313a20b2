/** `POST /v1/members/{id}/erase`: the personal data of a former member leaves. */

import { erasePerson, lockPerson } from "../../accounts/index.ts";
import { eraseFactors } from "../../identity/index.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, uuid } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import { erasedName } from "../identities.ts";
import { eraseIdentity } from "../identity-store.ts";

export const eraseMember = endpoint(
  {
    id: "members.erase",
    method: "POST",
    path: "/v1/members/{id}/erase",
    tag: "members",
    summary: "Erase a former member",
    description: [
      "For requests under KVKK and GDPR. Deletes name, e-mail address, phone number and factors of a member who was removed before. What they did stays",
      "in the audit trail under an id, with `erased` in place of the name; its hashes do not change. It cannot be undone. Only by an owner.",
      "A second call changes nothing. 409 for somebody who is still a member.",
    ].join(" "),
    access: { kind: "account", scope: "account:write", roles: ["owner"] },
    stepUp: true,
    whileSuspended: true,
    params: closed({ id: uuid("Id of the former member.") }),
    replies: { 204: { description: "Erased.", empty: true } },
    errors: ["state_conflict"],
  },
  async (ctx, { principal, params }) => {
    const { accountId } = principal;
    await ctx.tx(rowAccessOf(principal), async (tx) => {
      const person = await lockPerson(tx, accountId, params.id);
      if (person === undefined) throw new Problem("not_found");
      if (person.state !== "removed") throw new Problem("state_conflict");
      if (!(await eraseIdentity(tx, person.id, accountId))) return;
      await erasePerson(tx, accountId, person.id, erasedName);
      await eraseFactors(tx, person.id);
      tx.audit({ action: "member.erased", targets: [{ type: "person", id: person.id }] });
    });
    return { status: 204 };
  },
);
