/** Background work of vaults: late backups are reported. */

import { noPayload, recurring, retryAfter, task } from "../kernel/jobs/index.ts";
import type { Transactions } from "../kernel/tx.ts";
import { sourceOverdue } from "./events.ts";
import { noteOverdue, overdueSources } from "./overdue-store.ts";

const minuteMs = 60_000;

/** Sources of one run; the next run takes the others. */
const sourcesPerRun = 1000;

/** Emits `source.overdue` for every source whose snapshot has not come in time: once, until a good snapshot has come. */
export const reportOverdue = task<Readonly<Record<string, never>>, { readonly transactions: Transactions }>(
  "vaults.report_overdue",
  {
    parse: noPayload,
    retry: retryAfter(),
    async run(_payload, { ports: { transactions }, signal }) {
      const context = { actor: { kind: "system" }, context: {}, signal } as const;
      const found = await transactions.read(context, { kind: "system" }, (tx) => overdueSources(tx, sourcesPerRun));
      for (const { id, account_id: accountId } of found) {
        signal.throwIfAborted();
        await transactions.run(context, { kind: "account", accountId }, async (tx) => {
          const source = await noteOverdue(tx, accountId, id);
          if (source === undefined) return;
          const { last_snapshot_id, vault_id: vaultId } = source;
          const fields = { source_id: id, last_snapshot_id, expected_at: source.expected_at.toISOString() };
          tx.emit(sourceOverdue, fields, { vaultId });
        });
      }
    },
  },
);

export const vaultRecurrences = [recurring(reportOverdue, { everyMs: minuteMs })];
