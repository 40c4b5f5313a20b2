/** The mail with the link to a new password, as a job: whether the address is known makes no difference to who asks. */

import { findPersonByEmail, lockPerson } from "../../accounts/index.ts";
import type { Random } from "../../kernel/clock.ts";
import { retryAfter, task } from "../../kernel/jobs/task.ts";
import type { Secrets } from "../../kernel/secrets.ts";
import type { Transactions } from "../../kernel/tx.ts";
import { mailMessage, sendMessage } from "../../messages/index.ts";
import { countLiveLinks, makeLink } from "../enrolment/index.ts";

interface ResetPorts {
  readonly transactions: Transactions;
  readonly random: Random;
  readonly secrets: Secrets;
  readonly publicUrl: () => string;
}

/** The contract's three. A fourth request within the hour sends no mail: three valid links are in the mailbox. */
const liveResetLinks = 3;

export const mailPasswordReset = task<{ readonly email_key: string }, ResetPorts>("identity.mail_password_reset", {
  parse: (payload) => {
    const { email_key } = payload as { email_key?: unknown };
    if (typeof email_key !== "string") throw new TypeError("no address");
    return { email_key };
  },
  sealed: true,
  retry: retryAfter(1_000, 10_000, 60_000),
  run: async ({ email_key: emailKey }, { ports, signal }) => {
    const context = { actor: { kind: "system" }, context: {}, signal } as const;
    await ports.transactions.run(context, { kind: "system" }, async (tx) => {
      const person = await findPersonByEmail(tx, emailKey);
      if (person === undefined || person.state !== "active") return;
      const { id: personId, account_id: accountId, email: to, language } = person;
      // One at a time per person, so that requests at once do not count past each other.
      await lockPerson(tx, accountId, personId);
      if ((await countLiveLinks(tx, personId, "password_reset")) >= liveResetLinks) return;
      const sources = { random: ports.random, secrets: ports.secrets, publicUrl: ports.publicUrl() };
      const link = await makeLink(tx, sources, { purpose: "password_reset", accountId, personId });
      const mail = { id: ports.random.uuid(), to, language };
      await tx.job({
        task: sendMessage,
        payload: mailMessage({ ...mail, template: "password_reset", values: { link } }),
      });
    });
  },
});
