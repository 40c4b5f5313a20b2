/**
 * The message with a code, as a job. The request that asked for it does the same work whether or not there is anybody to
 * send to; everything that depends on the person (phone, account's settings, caps) is looked at here.
 */

import { findAccount, findPerson } from "../../accounts/index.ts";
import type { Random } from "../../kernel/clock.ts";
import { retryAfter, task } from "../../kernel/jobs/task.ts";
import type { Secrets } from "../../kernel/secrets.ts";
import type { Transactions, Tx } from "../../kernel/tx.ts";
import { sendMessage, smsMessage } from "../../messages/index.ts";
import { challengeSeconds, mayUseSms } from "./challenges.ts";
import { countPhoneMessage, findChallenge } from "./store.ts";

interface CodePayload {
  readonly challenge_id: string;
  readonly code: string;
}

interface CodePorts {
  readonly transactions: Transactions;
  readonly random: Random;
  readonly secrets: Secrets;
}

/** Not repeated for long: a code is good for five minutes. */
const retries = retryAfter(1_000, 5_000, 30_000, 60_000);

export const sendCode = task<CodePayload, CodePorts>("identity.send_code", {
  parse: (payload) => {
    const { challenge_id, code } = payload as Partial<CodePayload>;
    if (typeof challenge_id !== "string" || typeof code !== "string") throw new TypeError("no challenge");
    return { challenge_id, code };
  },
  sealed: true,
  retry: retries,
  run: async ({ challenge_id: id, code }, { ports, signal }) => {
    const context = { actor: { kind: "system" }, context: {}, signal } as const;
    await ports.transactions.run(context, { kind: "system" }, (tx) => deliver(tx, ports, id, code));
  },
});

async function deliver(tx: Tx, { random, secrets }: CodePorts, challengeId: string, code: string): Promise<void> {
  const challenge = await findChallenge(tx, challengeId);
  if (challenge === undefined || challenge.person_id === null || challenge.expires_at <= tx.now) return;
  const person = await findPerson(tx, challenge.account_id, challenge.person_id);
  const account = challenge.account_id === null ? undefined : await findAccount(tx, challenge.account_id);
  if (person === undefined || account === undefined || person.state === "removed") return;
  const asFactor = mayUseSms(person, account) ? person.phone : null;
  const to = challenge.purpose === "phone" ? challenge.phone : asFactor;
  if (to === null || !(await countPhoneMessage(tx, secrets, to))) return;
  const values = { code, minutes: String(challengeSeconds / 60) };
  const { language } = person;
  const message = { id: random.uuid(), to, language, expiresAt: challenge.expires_at } as const;
  await tx.job({ task: sendMessage, payload: smsMessage({ ...message, template: "otp_code", values }) });
}
