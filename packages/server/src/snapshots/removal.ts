/**
 * Removal: what has been deleted for 72 hours, and what uploads left that ended without a snapshot.
 *
 * A recurring task finds the vaults; a job per vault, one at a time, does the work:
 * 1. The rows of deleted snapshots get `removed_at`. This commit decides: before it a snapshot can be undeleted, after it the
 *    content goes. So a removal and an undelete at the same time cannot both happen, whatever the clocks of their processes say.
 *    Expired snapshots have it already.
 * 2. The engine deletes the snapshots: chain, catalog, manifest. The chain must say that their time is over (`chain-expiry.ts`). A
 *    hold or a lock that only the chain has stops this too.
 * 3. The engine prunes the vault, a bounded number of packs per run. The bytes of each pack leave the vault's `stored_bytes` in the
 *    transaction in which the catalog forgets the pack.
 * 4. The rows get `pruned_at`, once nothing is left.
 * The time is the earliest of three clocks, and a difference between them ends the run (`earliestTime`). Every step can be repeated. A run that ended in between is continued by the next one.
 */

import {
  allSnapshots,
  CatalogError,
  ChainMismatchError,
  deleteSnapshot,
  IncompleteCatalogError,
  prune,
  signedRetention,
  type Vault,
} from "@emanet/engine";
import type { ServicePorts } from "../kernel/domain-services.ts";
import { noPayload, PermanentJobError, retryAfter, task } from "../kernel/jobs/index.ts";
import type { Log } from "../kernel/log.ts";
import type { RowAccess } from "../kernel/principal.ts";
import type { ReadTx, Transactions, Tx } from "../kernel/tx.ts";
import { ClocksDifferError, earliestTime } from "../vaults/index.ts";
import { mayGo, setExpiryIn } from "./chain-expiry.ts";
import { engineId, snapshotIdOf } from "./engine-id.ts";
import { targetsOf } from "./lifecycle.ts";
import {
  beginRemovals,
  endedAmong,
  notePruned,
  openRemovals,
  type Removal,
  stopRemoval,
  vaultsToPrune,
} from "./removal-store.ts";
import { endedKeptMs } from "./rules.ts";

type Ports = ServicePorts & { readonly transactions: Transactions };

interface PrunePayload {
  readonly accountId: string;
  readonly vaultId: string;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** Of one run. Each is a record in the chain of its vault and a few statements. */
const removalsPerRun = 500;
/** Packs of 16 MiB: 64 GiB a run. Marking takes longer than their deletion then. */
const packsPerRun = 4096;
/** Ids that are compared in one statement. */
const idsPerPage = 1000;
/** Marking a vault of terabytes takes minutes, and deleting objects of S3 some of them more. */
const pruneTimeoutMs = 2 * hourMs;
/** Jobs that one run enqueues; the next run takes the other vaults. */
const vaultsPerRun = 1000;

export const pruneVault = task<PrunePayload, Ports>("snapshots.prune_vault", {
  parse: parsePayload,
  retry: retryAfter(5 * minuteMs, hourMs),
  timeoutMs: pruneTimeoutMs,
  priority: "low",
  async run({ accountId, vaultId }, { ports, signal, log, clock }) {
    const now = await earliestTime({ clock, ports, signal }).catch((error: unknown) => {
      if (error instanceof ClocksDifferError) log.error("clocks_differ", { target_id: vaultId });
      throw error;
    });
    const access: RowAccess = { kind: "account", accountId };
    const context = { actor: { kind: "system" }, context: {}, signal } as const;
    const steps: Steps = {
      ...{ accountId, vaultId, signal, log, now, vault: await ports.services.vaults.open(accountId, vaultId) },
      run: (work) => ports.transactions.run(context, access, work),
      read: (work) => ports.transactions.read(context, access, work),
    };
    await steps.run((tx) => beginRemovals(tx, { accountId, vaultId, now }, removalsPerRun));
    const removals = await steps.read((tx) => openRemovals(tx, accountId, vaultId, removalsPerRun));
    try {
      for (const removal of removals) await remove(steps, removal);
      await deleteEnded(steps);
      const report = await prune(steps.vault, { maxPacks: packsPerRun, signal });
      // An upload that ended between its manifest and its row: prune has added the row, and nobody was told of it.
      if (report.recoveredSnapshots.length > 0) await deleteEnded(steps);
      ports.services.snapshots.counts.pruned(report.freedBytes);
      const isDone = report.leftPacks === 0 && report.recoveredSnapshots.length === 0;
      if (isDone && removals.length < removalsPerRun)
        await steps.run((tx) => notePruned(tx, accountId, vaultId, { removals, begunAt: now }));
    } catch (error) {
      if (!(error instanceof IncompleteCatalogError) && !(error instanceof ChainMismatchError)) throw error;
      // Nothing was deleted. People must look at the vault; the next run tries again.
      log.error("prune_refused", { target_id: vaultId });
      throw new PermanentJobError("prune_refused", { cause: error });
    }
  },
});

interface Steps extends PrunePayload {
  readonly vault: Vault;
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly now: Date;
  readonly run: <T>(work: (tx: Tx) => Promise<T>) => Promise<T>;
  readonly read: <T>(work: (tx: ReadTx) => Promise<T>) => Promise<T>;
}

/** Deletes a snapshot in the engine. */
async function remove(steps: Steps, { id, source_id: sourceId }: Removal): Promise<void> {
  const { accountId, run, log } = steps;
  if (!(await mayGo(steps.vault, id, steps.now))) {
    // Somebody has changed the row: the service writes the chain first.
    log.error("removal_refused", { target_id: id });
    return;
  }
  try {
    if (!(await deleteInEngine(steps, engineId(id)))) return;
    await run(async (tx) => tx.audit({ action: "snapshot.removed", targets: targetsOf(id, sourceId) }));
  } catch (error) {
    const isRetained = error instanceof CatalogError && error.code === "retained";
    if (!isRetained && !(error instanceof ChainMismatchError)) throw error;
    log.error("removal_refused", { target_id: id });
    await run((tx) => stopRemoval(tx, accountId, id));
    if (!isRetained) throw error;
  }
}

/**
 * Deletes snapshots of the catalog whose uploads have failed or were canceled. The chain has them as completed: a process ended between
 * manifest and row. Somebody who changes rows could make a good snapshot look like that, so the chain gets a notice first, staff see
 * an error in the log, and it goes two weeks later, by a prune for that time.
 */
async function deleteEnded(steps: Steps): Promise<void> {
  const { vault, accountId, vaultId, read, run } = steps;
  const known: string[] = [];
  for await (const { id } of allSnapshots(vault.catalog)) known.push(snapshotIdOf(id));
  for (let at = 0; at < known.length; at += idsPerPage) {
    const page = known.slice(at, at + idsPerPage);
    for (const id of await read((tx) => endedAmong(tx, accountId, vaultId, page))) {
      if (await mayGo(vault, id, steps.now)) await deleteInEngine(steps, engineId(id));
      else if ((await signedRetention(vault, engineId(id)))?.expiresAt === null) {
        steps.log.error("ended_upload_has_snapshot", { target_id: id });
        const goesAt = new Date(steps.now.getTime() + endedKeptMs);
        // Before the notice: a process that ends in between must not leave it without a prune.
        await run(async (tx) => tx.job(pruneOfEnded(steps, id, goesAt)));
        await setExpiryIn(vault, id, goesAt, { reason: "its upload ended", by: pruneVault.name });
      }
    }
  }
}

/** False if it is not there: an upload that ended without a snapshot has none, and an earlier run may have deleted it. */
async function deleteInEngine({ vault, signal }: Steps, id: string): Promise<boolean> {
  signal.throwIfAborted();
  try {
    await deleteSnapshot(vault, id, { by: pruneVault.name });
    return true;
  } catch (error) {
    if (error instanceof CatalogError && error.code === "unknown_snapshot") return false;
    throw error;
  }
}

function parsePayload(payload: unknown): PrunePayload {
  const { accountId, vaultId } = (payload ?? {}) as Record<string, unknown>;
  if (typeof accountId !== "string" || typeof vaultId !== "string")
    throw new TypeError("the payload must name an account and a vault");
  return { accountId, vaultId };
}

/** Enqueues a prune of every vault that needs one. */
export const findVaultsToPrune = task<Readonly<Record<string, never>>, Ports>("snapshots.find_vaults_to_prune", {
  parse: noPayload,
  retry: retryAfter(),
  async run(_payload, { ports, signal }) {
    const context = { actor: { kind: "system" }, context: {}, signal } as const;
    await ports.transactions.run(context, { kind: "system" }, async (tx) => {
      for (const { account_id: accountId, vault_id: vaultId } of await vaultsToPrune(tx, vaultsPerRun))
        await tx.job(pruneOf({ accountId, vaultId }));
    });
  },
});

function pruneOf(payload: PrunePayload) {
  return { task: pruneVault, payload, key: payload.vaultId, exclusiveKey: `upkeep ${payload.vaultId}` };
}

/** For a vault that gets no other snapshot, and so no other prune. The earliest of three clocks decides, so it comes a little later. */
function pruneOfEnded({ accountId, vaultId }: PrunePayload, id: string, goesAt: Date) {
  const runAt = new Date(goesAt.getTime() + hourMs);
  return { ...pruneOf({ accountId, vaultId }), key: `ended ${id}`, runAt };
}

/** Snapshots have expired: their content is removed as soon as a worker is free. */
export async function removeSoon(tx: Tx, accountId: string, vaultId: string): Promise<void> {
  await tx.job(pruneOf({ accountId, vaultId }));
}

/** By then the upload has ended in the catalog too, and pins nothing. */
const afterFullMs = minuteMs;

/** An upload has ended because its vault is full: what it left must not keep the vault full for three days. */
export async function pruneFullVault(tx: Tx, accountId: string, vaultId: string): Promise<void> {
  await tx.job({ ...pruneOf({ accountId, vaultId }), runAt: new Date(tx.now.getTime() + afterFullMs) });
}
