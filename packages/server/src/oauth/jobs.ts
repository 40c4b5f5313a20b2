/** Deletes expired rows. They are kept for some time, so that a late program gets the answer "expired". */

import { noPayload, recurring, retryAfter, task } from "../kernel/jobs/index.ts";
import type { Transactions } from "../kernel/tx.ts";
import { purgeArtifacts, purgeFailures } from "./store.ts";
import { triesWindowMs } from "./user-codes.ts";

/** A device that slept longer than the code's ten minutes still gets the answer that it has expired. */
const expiredKeptMs = 24 * 60 * 60 * 1000;

/** Rows per statement: locks stay short, and a few statements delete the rows of a long pause. */
const purgeBatch = 1_000;

export const purgeOauth = task<Readonly<Record<string, never>>, { readonly transactions: Transactions }>(
  "oauth.purge",
  {
    parse: noPayload,
    retry: retryAfter(60_000),
    run: async (_payload, { ports, clock, log, signal }) => {
      const now = clock.now().getTime();
      const context = { actor: { kind: "system" }, context: {}, signal } as const;
      const platform = { kind: "platform" } as const;
      const before = new Date(now - expiredKeptMs);
      let total = 0;
      for (let purged = purgeBatch; purged === purgeBatch; total += purged) {
        purged = await ports.transactions.run(context, platform, (tx) => purgeArtifacts(tx, before, purgeBatch));
      }
      await ports.transactions.run(context, platform, (tx) => purgeFailures(tx, new Date(now - triesWindowMs)));
      if (total > 0) log.info("oauth_purged", { count: total });
    },
  },
);

const hourMs = 60 * 60 * 1000;

export const oauthRecurrences = [recurring(purgeOauth, { everyMs: hourMs })];
