/** Removes what is older than the contract keeps. */

import { noPayload, recurring, retryAfter, task } from "../kernel/jobs/task.ts";
import type { Transactions } from "../kernel/tx.ts";
import { removeEvents } from "./event-store.ts";

const dayMs = 24 * 60 * 60 * 1000;

/** The contract's thirty days. */
export const eventsKeptMs = 30 * dayMs;

/** Some milliseconds of work per transaction. */
const removedAtOnce = 1_000;

const removeOldEvents = task<unknown, { readonly transactions: Transactions }>("webhooks.remove_old_events", {
  parse: noPayload,
  retry: retryAfter(),
  priority: "low",
  run: async (_payload, { ports, clock, signal }) => {
    const context = { actor: { kind: "system" }, context: {}, signal } as const;
    const before = new Date(clock.now().getTime() - eventsKeptMs);
    let removed = removedAtOnce;
    while (removed === removedAtOnce && !signal.aborted) {
      removed = await ports.transactions.run(context, { kind: "system" }, (tx) =>
        removeEvents(tx, before, removedAtOnce),
      );
    }
  },
});

export const webhookRecurrences = [recurring(removeOldEvents, { everyMs: dayMs / 24 })];
