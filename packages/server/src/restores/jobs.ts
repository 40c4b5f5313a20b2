/** Background work of restores: they are prepared, and those whose snapshot or time has ended are ended. */

import type { FrameVersion } from "@emanet/engine";
import { findAgent } from "../agents/index.ts";
import type { ServicePorts } from "../kernel/domain-services.ts";
import { jobStatus, noPayload, retryAfter, task } from "../kernel/jobs/index.ts";
import type { Log } from "../kernel/log.ts";
import type { RowAccess } from "../kernel/principal.ts";
import type { ReadTx, Transactions, Tx } from "../kernel/tx.ts";
import { openTree } from "../snapshots/index.ts";
import { layoutOf, layoutVersion } from "./layouts.ts";
import { completePrepared, endOpenRestore } from "./lifecycle.ts";
import { isOrder } from "./order-store.ts";
import { absentAt } from "./orders.ts";
import { allParts, deleteOldParts, insertPart } from "./part-store.ts";
import { type PreparedArchive, prepareArchive } from "./prepare.ts";
import { type RestorePayload, restorePayload } from "./restore-payload.ts";
import { type FailureCode, isSnapshotGone } from "./rules.ts";
import {
  findRestore,
  formatOf,
  insertWarnings,
  lockRestore,
  notePart,
  noteProgress,
  openRestores,
  type PartResult,
  type RestoreRecord,
  type RestoreWarning,
  startRestore,
  unreadableDirectories,
} from "./store.ts";
import { isDamage } from "./tree-of-restore.ts";

type Ports = ServicePorts & { readonly transactions: Transactions };

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** A store that is away for half a day delays a restore, and does not end it. What was read is not read again. */
const prepareRetries = retryAfter(5_000, minuteMs, 5 * minuteMs, hourMs, 4 * hourMs, 8 * hourMs);

/** A terabyte at 50 MB/s; what takes longer goes on in the next attempt. */
const prepareTimeoutMs = 6 * hourMs;

/** People watch it. A write for every file would cost more than reading the file. */
const progressMs = 2_000;

export const prepareRestore = task<RestorePayload, Ports>("restores.prepare", {
  parse: restorePayload,
  retry: prepareRetries,
  timeoutMs: prepareTimeoutMs,
  async run({ accountId, restoreId }, { ports, signal, log, clock }) {
    const access: RowAccess = { kind: "account", accountId };
    const context = { actor: { kind: "system" }, context: {}, signal } as const;
    const steps: Steps = {
      ...{ accountId, restoreId, ports, signal, log },
      now: () => clock.now().getTime(),
      run: (work) => ports.transactions.run(context, access, work),
      read: (work) => ports.transactions.read(context, access, work),
    };
    await steps.run((tx) => startRestore(tx, accountId, restoreId));
    const restore = await steps.read((tx) => findRestore(tx, accountId, restoreId));
    if (restore?.state !== "running") return;
    try {
      await prepare(steps, restore);
    } catch (error) {
      if (error instanceof RestoreEnded) return;
      if (!isDamage(error)) throw error;
      // The tree itself cannot be read from its root, or not to one of the paths.
      await failDamaged(steps, [{ number: restore.warning_count, path: Buffer.alloc(0), code: "entries_unreadable" }]);
    }
  },
});

interface Steps extends RestorePayload {
  readonly ports: Ports;
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly now: () => number;
  readonly run: <T>(work: (tx: Tx) => Promise<T>) => Promise<T>;
  readonly read: <T>(work: (tx: ReadTx) => Promise<T>) => Promise<T>;
}

/** Somebody ended the restore while it was prepared. */
class RestoreEnded extends Error {}

async function prepare(steps: Steps, restore: RestoreRecord): Promise<void> {
  const { accountId, restoreId, ports, run, read, signal } = steps;
  const { services } = ports;
  const { vault, root } = await openTree(services, { ...restore, id: restore.snapshot_id });
  const reader = services.snapshots.readers.checking(vault);
  /** By their numbers: each file in a frame reports it. */
  const damagedFrames = new Map<number, FrameVersion>();
  const format = formatOf(restore);
  const prepared = await prepareArchive({
    tree: { reader, root, format, paths: restore.paths },
    layout: layoutOf(format),
    parts: await read((tx) => allParts(tx, accountId, restoreId)),
    done: {
      ...{ warningCount: restore.warning_count, leftOutNodes: restore.left_out_nodes },
      unreadable: await read((tx) => unreadableDirectories(tx, accountId, restoreId)),
    },
    signal,
    onProgress: progressWriter(steps),
    onDamagedFrame: (version) => damagedFrames.set(version.frame, version),
    onPart: ({ row, warnings, ...result }) =>
      run(async (tx) => {
        await lockRunning(tx, steps);
        await insertPart(tx, accountId, restoreId, row);
        await noteResult(tx, steps, warnings, result);
      }),
  });
  if (damagedFrames.size > 0) await vault.catalog.setDamaged([...damagedFrames.values()], true);
  if (prepared.warningCount > 0 && restore.on_damage === "fail") await failDamaged(steps, prepared.warnings);
  else await complete(steps, prepared);
}

/** The restore, locked, if it still runs. A deleted snapshot ends it. */
async function lockRunning(tx: Tx, { accountId, restoreId }: Steps): Promise<RestoreRecord> {
  const restore = await lockRestore(tx, accountId, restoreId);
  if (restore?.state !== "running" || isSnapshotGone(restore)) throw new RestoreEnded();
  return restore;
}

async function noteResult(
  tx: Tx,
  { accountId, restoreId }: Steps,
  warnings: readonly RestoreWarning[],
  result: PartResult,
): Promise<void> {
  await insertWarnings(tx, accountId, restoreId, warnings);
  await notePart(tx, accountId, restoreId, result);
}

/** Stores how far it is, every two seconds. */
function progressWriter({ accountId, restoreId, run, now }: Steps) {
  let writtenAt = now();
  return async (bytesRestored: number, filesRestored: number) => {
    if (now() - writtenAt < progressMs) return;
    writtenAt = now();
    await run((tx) => noteProgress(tx, accountId, restoreId, { bytesRestored, filesRestored }));
  };
}

async function complete(steps: Steps, { totals, warnings, ...result }: PreparedArchive): Promise<void> {
  await steps.run(async (tx) => {
    const restore = await lockRunning(tx, steps);
    await noteResult(tx, steps, warnings, result);
    const end = layoutOf(formatOf(restore)).endOf(totals);
    const archiveBytes = totals.memberBytes + totals.directoryBytes + end.length;
    await completePrepared(tx, restore, { layout: layoutVersion, ...totals, archiveBytes }, result);
  });
}

async function failDamaged(steps: Steps, warnings: readonly RestoreWarning[]): Promise<void> {
  const { accountId, restoreId, run, log } = steps;
  await run(async (tx) => {
    const restore = await lockRunning(tx, steps);
    const warningCount = Math.max(restore.warning_count, ...warnings.map(({ number }) => number + 1));
    await noteResult(tx, steps, warnings, {
      ...{ bytesRestored: restore.bytes_restored, filesRestored: restore.files_restored },
      ...{ warningCount, leftOutNodes: restore.left_out_nodes },
    });
    await endOpenRestore(tx, { ...restore, job_id: null }, { state: "failed", code: "content_damaged" });
  });
  log.error("restore_damaged", { target_id: restoreId, account_id: accountId });
}

/** Open restores that one run looks at; the next run takes the others. */
const restoresPerRun = 1000;
/** Rows that one statement deletes. */
const partsPerStatement = 1000;

/** Ends restores whose snapshot was deleted, whose job has failed or whose agent is absent or revoked, and deletes the parts of those that are over. */
export const endRestores = task<Readonly<Record<string, never>>, Ports>("restores.end", {
  parse: noPayload,
  retry: retryAfter(),
  async run(_payload, { ports, signal }) {
    const context = { actor: { kind: "system" }, context: {}, signal } as const;
    const { transactions } = ports;
    for (const open of await transactions.read(context, { kind: "system" }, (tx) => openRestores(tx, restoresPerRun))) {
      signal.throwIfAborted();
      const access: RowAccess = { kind: "account", accountId: open.account_id };
      await transactions.run(context, access, async (tx) => {
        const restore = await lockRestore(tx, open.account_id, open.id);
        const code = restore && (await endOf(tx, restore));
        if (restore !== undefined && code !== undefined && code !== null)
          await endOpenRestore(tx, restore, { state: "failed", code });
      });
    }
    let gone = partsPerStatement;
    while (gone === partsPerStatement)
      gone = await transactions.run(context, { kind: "system" }, (tx) => deleteOldParts(tx, partsPerStatement));
  },
});

/** Why an open restore cannot go on; null: it can. */
async function endOf(tx: Tx, restore: RestoreRecord): Promise<FailureCode | null> {
  if (isSnapshotGone(restore)) return "snapshot_deleted";
  if (isOrder(restore)) {
    const agent = await findAgent(tx, restore.account_id, restore.agent_id);
    if (!agent?.vault_ids.includes(restore.vault_id)) return "agent_revoked";
    if (absentAt(restore) <= tx.now) return "agent_absent";
    if (restore.planned_at !== null) return null;
  }
  const job = restore.job_id === null ? undefined : await jobStatus(tx, restore.job_id);
  return job === undefined || job.state === "failed" ? "internal" : null;
}
