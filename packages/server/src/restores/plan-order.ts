/** Finds the items that an order with paths may read, before its agent is told of it. */

import { reachOfPaths } from "@emanet/engine";
import type { ServicePorts } from "../kernel/domain-services.ts";
import { retryAfter, task } from "../kernel/jobs/index.ts";
import type { RowAccess } from "../kernel/principal.ts";
import type { Transactions, Tx } from "../kernel/tx.ts";
import { engineId, partsOf } from "../snapshots/index.ts";
import { endOpenRestore } from "./lifecycle.ts";
import { setPlan } from "./order-store.ts";
import { type RestorePayload, restorePayload } from "./restore-payload.ts";
import { findRestore, lockRestore, type RestoreRecord } from "./store.ts";
import { isDamage } from "./tree-of-restore.ts";

type Ports = ServicePorts & { readonly transactions: Transactions };

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** A store that is away for some hours delays the order; it waits for a day in any case. */
const planRetries = retryAfter(5_000, minuteMs, 5 * minuteMs, hourMs, 4 * hourMs, 8 * hourMs);

/** A tree of ten million files takes minutes. */
const planTimeoutMs = hourMs;

export const planOrder = task<RestorePayload, Ports>("restores.plan_order", {
  parse: restorePayload,
  retry: planRetries,
  timeoutMs: planTimeoutMs,
  async run({ accountId, restoreId }, { ports, signal }) {
    const access: RowAccess = { kind: "account", accountId };
    const context = { actor: { kind: "system" }, context: {}, signal } as const;
    const run = <T>(work: (tx: Tx) => Promise<T>) => ports.transactions.run(context, access, work);
    const restore = await ports.transactions.read(context, access, (tx) => findRestore(tx, accountId, restoreId));
    if (restore?.state !== "pending" || restore.planned_at !== null || restore.snapshot_state === "deleted") return;
    const reach = await reachOf(ports, restore, signal);
    await run(async (tx) => {
      const now = await lockRestore(tx, accountId, restoreId);
      if (now?.state !== "pending") return;
      if (reach !== null) await setPlan(tx, accountId, restoreId, reach.encode());
      // The tree cannot be read to one of the paths.
      else await endOpenRestore(tx, { ...now, job_id: null }, { state: "failed", code: "content_damaged" });
    });
  },
});

/** Null when a path cannot be reached. What is damaged below a path, the agent finds and reports. */
async function reachOf({ services }: Ports, restore: RestoreRecord, signal: AbortSignal) {
  const vault = await services.vaults.open(restore.account_id, restore.vault_id);
  const row = await vault.catalog.snapshot(engineId(restore.snapshot_id));
  if (row === null) throw new Error("a completed snapshot that the catalog does not have");
  const { frames } = services.snapshots.readers.own(vault);
  try {
    return await reachOfPaths(frames, {
      root: { ordinal: row.rootOrdinal, id: row.rootId },
      paths: (restore.paths ?? []).map((path) => [...partsOf(path)]),
      onUnreadable(_ordinal, error) {
        if (!isDamage(error)) throw error;
      },
      signal,
    });
  } catch (error) {
    if (!isDamage(error)) throw error;
    return null;
  }
}
