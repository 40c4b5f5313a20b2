/** The mails about a webhook that does not answer: its owners, and the member in whose name it sends. */

import { listOwnersAnd } from "../accounts/index.ts";
import type { Random } from "../kernel/clock.ts";
import type { Tx } from "../kernel/tx.ts";
import { mailMessage, sendMessage } from "../messages/index.ts";
import type { NoticedWebhook } from "./delivery-store.ts";
import { targetOf } from "./operations.ts";

export type WebhookNotice = "warning" | "delivery_failed" | "gone" | "creator_lost_access";

/** With row access to all: writes the audit record of a disabled webhook too. */
export async function mailAboutWebhook(
  tx: Tx,
  random: Random,
  webhook: NoticedWebhook,
  notice: WebhookNotice,
): Promise<void> {
  const { id, account_id: accountId, url, description, member_id: memberId } = webhook;
  await tx.within({ kind: "account", accountId }, async (inner) => {
    if (notice !== "warning") {
      inner.audit({ action: "webhook.disabled", targets: targetOf(id), metadata: { reason: notice } });
    }
    const template = notice === "warning" ? "webhook_warning" : "webhook_disabled";
    // The host alone: the path and the query of an address often have a secret.
    const values = {
      webhook_id: id,
      host: new URL(url).host,
      name: description ?? "",
      reason: notice,
      at: tx.now.toISOString(),
    };
    for (const person of await listOwnersAnd(inner, accountId, memberId === null ? [] : [memberId])) {
      if (person.state !== "active") continue;
      const { email: to, language } = person;
      const payload = mailMessage({ id: random.uuid(), to, language, template, values });
      await inner.job({ task: sendMessage, payload });
    }
  });
}
