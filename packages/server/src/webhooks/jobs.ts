/** Removes what is older than the contract keeps. */

import { noPayload, recurring, retryAfter, task } from "../kernel/jobs/task.ts";
import type { Transactions, Tx } from "../kernel/tx.ts";
import { removeDeliveries, removeWebhooks } from "./delivery-store.ts";
import { removeEvents } from "./event-store.ts";

const dayMs = 24 * 60 * 60 * 1000;

/** The contract's thirty days. */
export const eventsKeptMs = 30 * dayMs;

/** Figures are shown for 48 hours. */
const hoursKeptMs = 3 * dayMs;

/** Some milliseconds of work per transaction. */
const removedAtOnce = 1_000;

const removeOldEvents = task<unknown, { readonly transactions: Transactions }>("webhooks.remove_old_events", {
  parse: noPayload,
  retry: retryAfter(),
  priority: "low",
  run: async (_payload, { ports, clock, signal }) => {
    const context = { actor: { kind: "system" }, context: {}, signal } as const;
    const before = new Date(clock.now().getTime() - eventsKeptMs);
    const run = <T>(work: (tx: Tx) => Promise<T>) => ports.transactions.run(context, { kind: "system" }, work);
    for (const remove of [removeDeliveries, removeEvents]) {
      let removed = removedAtOnce;
      while (removed === removedAtOnce && !signal.aborted)
        removed = await run((tx) => remove(tx, before, removedAtOnce));
    }
    await run((tx) => removeWebhooks(tx, new Date(tx.now.getTime() - hoursKeptMs)));
  },
});

export const webhookRecurrences = [recurring(removeOldEvents, { everyMs: dayMs / 24 })];
