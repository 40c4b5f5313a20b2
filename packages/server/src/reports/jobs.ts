/** The task that notes what is stored in each vault, day by day. */

import { noPayload, recurring, retryAfter, task } from "../kernel/jobs/index.ts";
import type { Transactions } from "../kernel/tx.ts";
import { dayOf } from "./istanbul-days.ts";
import { recordUsage as writeUsage } from "./usage-store.ts";

/** What is stored in the last minutes of a day counts for the next one. */
const recordEveryMs = 10 * 60_000;

export const recordUsage = task<Readonly<Record<string, never>>, { readonly transactions: Transactions }>(
  "reports.record_usage",
  {
    parse: noPayload,
    retry: retryAfter(),
    async run(_payload, { ports, signal }) {
      const context = { actor: { kind: "system" }, context: {}, signal } as const;
      await ports.transactions.run(context, { kind: "system" }, (tx) => writeUsage(tx, dayOf(tx.now)));
    },
  },
);

export const reportRecurrences = [recurring(recordUsage, { everyMs: recordEveryMs })];
