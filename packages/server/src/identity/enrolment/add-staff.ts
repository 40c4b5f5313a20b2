/** New staff: made by a command on the machine, never by a request. They enrol with a link, like everybody. */

import { findPerson, findPersonByEmail, insertPerson } from "../../accounts/index.ts";
import { foldEmail } from "../../identifiers/index.ts";
import type { Random } from "../../kernel/clock.ts";
import type { Secrets } from "../../kernel/secrets.ts";
import { StartError } from "../../kernel/start-error.ts";
import type { Transactions, TxContext } from "../../kernel/tx.ts";
import { makeLink } from "./store.ts";

interface Sources {
  readonly transactions: Transactions;
  readonly random: Random;
  readonly secrets: Secrets;
  readonly publicUrl: string;
}

/** Makes a staff member and gives back the link with which they set password and authenticator. */
export async function addStaff(sources: Sources, email: string, fullName: string): Promise<string> {
  const context: TxContext = { actor: { kind: "system" }, context: {}, signal: new AbortController().signal };
  return sources.transactions.run(context, { kind: "platform" }, async (tx) => {
    const id = sources.random.uuid();
    const emailKey = foldEmail(email);
    const holder = await tx.within({ kind: "system" }, (all) => findPersonByEmail(all, emailKey));
    const made =
      holder === undefined &&
      (await insertPerson(tx, {
        id,
        accountId: null,
        role: "staff",
        state: "invited",
        email,
        emailKey,
        fullName,
        phone: null,
        language: "tr",
        invitedBy: null,
      }));
    const person = made ? await findPerson(tx, null, id) : undefined;
    if (person === undefined) throw new StartError("staff_exists", "This e-mail address is already in use.");
    tx.audit({ action: "staff.added", targets: [{ type: "person", id }] });
    return makeLink(tx, sources, { purpose: "enrolment", accountId: null, personId: id });
  });
}
