/** Background work: completions whose process died go on, and what is left of ended snapshots is removed. */

import { CatalogError } from "@emanet/engine";
import type { Random } from "../kernel/clock.ts";
import type { ServicePorts } from "../kernel/domain-services.ts";
import { noPayload, retryAfter, task } from "../kernel/jobs/index.ts";
import type { RowAccess } from "../kernel/principal.ts";
import type { ReadTx, Transactions } from "../kernel/tx.ts";
import { findSnapshot, parseSnapshotPayload } from "../snapshots/index.ts";
import { completeClaimed } from "./complete.ts";
import {
  claimCompletion,
  findEnded,
  findUncompleted,
  listSessions,
  noteRemoved,
  removeSome,
  type SnapshotOfVault,
} from "./store.ts";

type Ports = ServicePorts & { readonly transactions: Transactions; readonly random: Random };

const minuteMs = 60_000;

/** A tree of 20 million files, with time for a slow store. */
const completeTimeoutMs = 6 * 60 * minuteMs;

/** Snapshots that one run takes at most; the next run takes the others. */
const snapshotsPerRun = 200;

/** Rows that one transaction removes: some ten milliseconds. */
const rowsPerStep = 5_000;

const endless = new AbortController().signal;

/** Goes on with a completion that no process has. */
export const completeSnapshot = task<ReturnType<typeof parseSnapshotPayload>, Ports>("files.complete", {
  parse: parseSnapshotPayload,
  // The recurring task below enqueues it again.
  retry: retryAfter(),
  timeoutMs: completeTimeoutMs,
  priority: "low",
  async run({ accountId, snapshotId }, { ports, log }) {
    const { services, transactions, random } = ports;
    const access: RowAccess = { kind: "account", accountId };
    const context = { actor: { kind: "system" }, context: {}, signal: endless } as const;
    const record = await transactions.run(context, access, async (tx) => {
      const found = await findSnapshot(tx, accountId, snapshotId);
      return found !== undefined && (await claimCompletion(tx, found)) ? found : null;
    });
    if (record !== null) await completeClaimed({ services, random, log, context }, record);
  },
});

/** Finds completions that no process has, and removes what is left of snapshots that have ended. */
export const settleFiles = task<Readonly<Record<string, never>>, Ports>("files.settle", {
  parse: noPayload,
  retry: retryAfter(),
  async run(_payload, { ports, signal }) {
    const context = { actor: { kind: "system" }, context: {}, signal } as const;
    const find = (which: (tx: ReadTx, limit: number) => Promise<readonly SnapshotOfVault[]>) =>
      ports.transactions.read(context, { kind: "system" }, (tx) => which(tx, snapshotsPerRun));
    for (const { id, account_id: accountId, vault_id: vaultId } of await find(findUncompleted)) {
      const payload = { accountId, vaultId, snapshotId: id };
      await ports.transactions.run(context, { kind: "account", accountId }, (tx) =>
        tx.job({ task: completeSnapshot, payload, key: id }),
      );
    }
    for (const ended of await find(findEnded)) {
      signal.throwIfAborted();
      await remove(ports, ended, signal);
    }
  },
});

/** Ends the uploads of a snapshot in the catalog, then removes its rows. Whatever is interrupted is done by the next run. */
async function remove(ports: Ports, snapshot: SnapshotOfVault, signal: AbortSignal): Promise<void> {
  const { services, transactions } = ports;
  const { id, account_id: accountId, vault_id: vaultId } = snapshot;
  const access: RowAccess = { kind: "account", accountId };
  const context = { actor: { kind: "system" }, context: {}, signal } as const;
  await services.files.close(id);
  const vault = await services.vaults.open(accountId, vaultId);
  for (const upload of await transactions.read(context, access, (tx) => listSessions(tx, id))) {
    await vault.catalog.endUpload(upload).catch((error: unknown) => {
      // It has ended already, or never began.
      if (!(error instanceof CatalogError)) throw error;
    });
  }
  while (await transactions.run(context, access, (tx) => removeSome(tx, id, rowsPerStep))) signal.throwIfAborted();
  await transactions.run(context, access, (tx) => noteRemoved(tx, snapshot));
}
