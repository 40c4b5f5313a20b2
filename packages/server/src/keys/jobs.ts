/** The rotation of signing keys, as a task that runs by the clock. */

import type { Random } from "../kernel/clock.ts";
import { noPayload, recurring, retryAfter, task } from "../kernel/jobs/task.ts";
import type { Secrets } from "../kernel/secrets.ts";
import type { Transactions } from "../kernel/tx.ts";
import { rotate } from "./signing-keys.ts";

interface Ports {
  readonly transactions: Transactions;
  readonly secrets: Secrets;
  readonly random: Random;
}

export const rotateSigningKeys = task<Readonly<Record<string, never>>, Ports>("keys.rotate", {
  parse: noPayload,
  retry: retryAfter(60_000, 600_000),
  run: async (_payload, { ports, signal }) => {
    const context = { actor: { kind: "system" }, context: {}, signal } as const;
    await ports.transactions.run(context, { kind: "platform" }, (tx) => rotate(tx, ports));
  },
});

const hourMs = 60 * 60 * 1000;

export const keyRecurrences = [recurring(rotateSigningKeys, { everyMs: hourMs })];
