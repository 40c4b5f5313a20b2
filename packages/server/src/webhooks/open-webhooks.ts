/** What webhooks keep open while the service runs. */

import type { Log } from "../kernel/log.ts";
import type { Transactions } from "../kernel/tx.ts";
import { EventWaits } from "./event-waits.ts";

export interface WebhookServices {
  readonly waits: EventWaits;
}

declare module "../kernel/domain-services.ts" {
  interface Services {
    readonly webhooks: WebhookServices;
  }
}

export interface WebhookParts {
  readonly transactions: Transactions;
  readonly log: Log;
}

export function openWebhooks({ transactions, log }: WebhookParts): WebhookServices {
  return { waits: new EventWaits(transactions, log) };
}
