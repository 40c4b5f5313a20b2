/** Deletes old bans of addresses: an address is personal data, and old bans are not needed. */

import { noPayload, recurring, retryAfter, task } from "../kernel/jobs/index.ts";
import type { Transactions } from "../kernel/tx.ts";
import { deleteOldAddressBans } from "./ban-store.ts";
import { addressMemoryMs } from "./rules.ts";

export const purgeBans = task<Readonly<Record<string, never>>, { readonly transactions: Transactions }>("bans.purge", {
  parse: noPayload,
  retry: retryAfter(),
  run: async (_payload, { ports, signal, log }) => {
    const context = { actor: { kind: "system" }, context: {}, signal } as const;
    const gone = await ports.transactions.run(context, { kind: "platform" }, (tx) =>
      deleteOldAddressBans(tx, new Date(tx.now.getTime() - addressMemoryMs)),
    );
    if (gone > 0) log.info("bans_purged", { count: gone });
  },
});

const dayMs = 24 * 60 * 60 * 1000;

export const limitRecurrences = [recurring(purgeBans, { everyMs: dayMs })];
