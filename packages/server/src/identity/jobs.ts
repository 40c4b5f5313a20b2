/** Upkeep of sign-in: deletes expired rows, in batches, so that no statement locks many rows for long. */

import { noPayload, retryAfter, task } from "../kernel/jobs/task.ts";
import type { Transactions, Tx } from "../kernel/tx.ts";
import { batchSize, deleteOld } from "./store.ts";

const dayMs = 24 * 60 * 60 * 1000;

/** Ended sessions are kept this long: the list of a person's sessions, and an old refresh token that still names one. */
const endedSessionsKeptMs = 30 * dayMs;

export const purgeIdentity = task<Readonly<Record<string, never>>, { readonly transactions: Transactions }>(
  "identity.purge",
  {
    parse: noPayload,
    retry: retryAfter(),
    run: async (_payload, { ports, signal, clock }) => {
      const context = { actor: { kind: "system" }, context: {}, signal } as const;
      const before = (ms: number) => new Date(clock.now().getTime() - ms);
      const steps: ((tx: Tx) => Promise<number>)[] = [
        (tx) => deleteOld(tx, "sessions", "id", "idle_expires_at", before(endedSessionsKeptMs)),
        (tx) => deleteOld(tx, "otp_challenges", "id", "expires_at", before(dayMs)),
        (tx) => deleteOld(tx, "links", "id", "expires_at", before(30 * dayMs)),
        (tx) => deleteOld(tx, "attempts", "id", "updated_at", before(2 * dayMs)),
        (tx) => deleteOld(tx, "invitations", "id", "sent_at", before(2 * dayMs)),
        (tx) => deleteOld(tx, "phone_messages", "ctid", "sent_at", before(2 * dayMs)),
      ];
      for (const step of steps) {
        let gone = batchSize;
        while (gone === batchSize) gone = await ports.transactions.run(context, { kind: "system" }, (tx) => step(tx));
      }
    },
  },
);
