/** Upkeep of download links: old rows are deleted, in batches. */

import { noPayload, recurring, retryAfter, task } from "../kernel/jobs/index.ts";
import type { Transactions } from "../kernel/tx.ts";
import { deleteOldLinks, purgeBatchSize } from "./store.ts";

const hourMs = 60 * 60 * 1000;

export const purgeLinks = task<Readonly<Record<string, never>>, { readonly transactions: Transactions }>(
  "downloads.purge",
  {
    parse: noPayload,
    retry: retryAfter(),
    async run(_payload, { ports, signal }) {
      const context = { actor: { kind: "system" }, context: {}, signal } as const;
      let gone = purgeBatchSize;
      while (gone === purgeBatchSize) gone = await ports.transactions.run(context, { kind: "system" }, deleteOldLinks);
    },
  },
);

export const downloadRecurrences = [recurring(purgeLinks, { everyMs: hourMs })];
