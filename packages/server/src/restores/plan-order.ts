/** Finds the items that an order with paths may read, before its agent is told of it. */

import { type Bitmap, reachOfPaths } from "@emanet/engine";
import type { ServicePorts } from "../kernel/domain-services.ts";
import { retryAfter, task } from "../kernel/jobs/index.ts";
import type { RowAccess } from "../kernel/principal.ts";
import type { Transactions, Tx } from "../kernel/tx.ts";
import { engineId, partsOf } from "../snapshots/index.ts";
import { endOpenRestore } from "./lifecycle.ts";
import { setPlan } from "./order-store.ts";
import { type RestorePayload, restorePayload } from "./restore-payload.ts";
import { isSnapshotGone } from "./rules.ts";
import { findRestore, insertWarnings, lockRestore, notePart, type RestoreRecord } from "./store.ts";
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
    if (restore?.state !== "pending" || restore.planned_at !== null || isSnapshotGone(restore)) return;
    const plan = await planOf(ports, restore, signal);
    await run(async (tx) => {
      const now = await lockRestore(tx, accountId, restoreId);
      if (now?.state !== "pending") return;
      if (plan.kind === "readable") await setPlan(tx, accountId, restoreId, plan.reach.encode());
      else {
        const code = "entries_unreadable";
        const warnings = plan.paths.map((path, number) => ({ number, path, code }) as const);
        await insertWarnings(tx, accountId, restoreId, warnings);
        await notePart(tx, accountId, restoreId, {
          ...{ bytesRestored: 0, filesRestored: 0, warningCount: warnings.length, leftOutNodes: [] },
        });
        await endOpenRestore(tx, { ...now, job_id: null }, { state: "failed", code: "content_damaged" });
      }
    });
  },
});

/** The items that may be read; or the paths that cannot be reached, because a directory above them cannot be read. */
type Plan =
  | { readonly kind: "readable"; readonly reach: Bitmap }
  | { readonly kind: "unreadable"; readonly paths: readonly Buffer[] };

async function planOf(ports: Ports, restore: RestoreRecord, signal: AbortSignal): Promise<Plan> {
  const paths = restore.paths ?? [];
  const reach = await reachOf(ports, restore, paths, signal);
  if (reach !== null) return { kind: "readable", reach };
  const unreadable: Buffer[] = [];
  for (const path of paths) if ((await reachOf(ports, restore, [path], signal)) === null) unreadable.push(path);
  return { kind: "unreadable", paths: unreadable };
}

/** Null when a path cannot be reached. What is damaged below a path, the agent finds and reports. */
async function reachOf(
  { services }: Ports,
  restore: RestoreRecord,
  paths: readonly Buffer[],
  signal: AbortSignal,
): Promise<Bitmap | null> {
  const vault = await services.vaults.open(restore.account_id, restore.vault_id);
  const row = await vault.catalog.snapshot(engineId(restore.snapshot_id));
  if (row === null) throw new Error("a completed snapshot that the catalog does not have");
  const { frames } = services.snapshots.readers.own(vault);
  try {
    return await reachOfPaths(frames, {
      root: { ordinal: row.rootOrdinal, id: row.rootId },
      paths: paths.map((path) => [...partsOf(path)]),
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
