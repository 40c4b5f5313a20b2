/** Mails owners when the time has come at which a hold was to be looked at again. The hold itself does not change. */

import { listOwnersAnd } from "../accounts/index.ts";
import type { Random } from "../kernel/clock.ts";
import { noPayload, retryAfter, task } from "../kernel/jobs/index.ts";
import type { Transactions } from "../kernel/tx.ts";
import { mailMessage, sendMessage } from "../messages/index.ts";
import { holdsToReview, noteReviewMailed } from "./snapshot-store.ts";

interface Ports {
  readonly transactions: Transactions;
  readonly random: Random;
}

/** Of one run; the next one takes the others. */
const holdsPerRun = 500;

export const mailReviews = task<Readonly<Record<string, never>>, Ports>("retention.mail_reviews", {
  parse: noPayload,
  retry: retryAfter(),
  async run(_payload, { ports, signal }) {
    const context = { actor: { kind: "system" }, context: {}, signal } as const;
    const due = await ports.transactions.read(context, { kind: "system" }, (tx) => holdsToReview(tx, holdsPerRun));
    for (const { id, account_id: accountId, hold_reason: reason } of due) {
      signal.throwIfAborted();
      await ports.transactions.run(context, { kind: "account", accountId }, async (tx) => {
        if (!(await noteReviewMailed(tx, accountId, id))) return;
        for (const { role, state, email: to, language } of await listOwnersAnd(tx, accountId, [])) {
          if (role !== "owner" || state !== "active") continue;
          const values = { snapshot_id: id, reason: reason ?? "" };
          const payload = mailMessage({ id: ports.random.uuid(), to, language, template: "hold_review", values });
          await tx.job({ task: sendMessage, payload });
        }
      });
    }
  },
});
