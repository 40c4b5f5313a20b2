/**
 * The daily run of a vault: a slice of its packs is read and compared, what is damaged is healed if its content is stored elsewhere, and
 * scattered and mostly dead packs are written again. Every step can be repeated, and a run that was killed is done again by the next.
 */

import {
  ChainMismatchError,
  heal,
  IncompleteCatalogError,
  identityOf,
  packsToRewrite,
  recheckDamagedFrames,
  repack,
  rewriteManifests,
  rewritePacks,
  type ScrubReport,
  scrub,
  type Vault,
} from "@emanet/engine";
import type { ServicePorts } from "../kernel/domain-services.ts";
import { type JobContext, noPayload, PermanentJobError, retryAfter, task } from "../kernel/jobs/index.ts";
import type { RowAccess } from "../kernel/principal.ts";
import type { ReadTx, Transactions, Tx } from "../kernel/tx.ts";
import { removeSoon } from "../snapshots/index.ts";
import { isAmong, isRepackDue, scrubDays, sliceOf, slicesDue } from "./rules.ts";
import { findUpkeep, noteBegun, noteHeal, noteRepack, noteScrub, type UpkeepState, vaultsToKeepUp } from "./store.ts";

type Ports = ServicePorts & { readonly transactions: Transactions };

export interface UpkeepPayload {
  readonly accountId: string;
  readonly vaultId: string;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
/** A slice of 10 TB at 50 MB/s; what takes longer is done by the next run. */
const upkeepTimeoutMs = 3 * hourMs;
/** Jobs that one run enqueues; the next run takes the other vaults. So a few large vaults do not keep the others waiting. */
const vaultsPerRun = 200;
/** One run of a vault a day. */
const runAfterMs = 24 * hourMs;
/** Bytes that one run moves and rewrites: some minutes of one core. The next run does the rest. */
const repackBytesPerRun = 1024 ** 3;
/** A pack is rewritten for its own sake, whatever part of it is dead. */
const noDeadShare = 1;

interface Steps extends UpkeepPayload {
  readonly vault: Vault;
  readonly context: JobContext<Ports>;
  readonly run: <T>(work: (tx: Tx) => Promise<T>) => Promise<T>;
}

export const keepUpVault = task<UpkeepPayload, Ports>("upkeep.run_vault", {
  parse: parsePayload,
  retry: retryAfter(5 * minuteMs, hourMs),
  timeoutMs: upkeepTimeoutMs,
  priority: "low",
  async run({ accountId, vaultId }, context) {
    const { ports, signal, log, clock } = context;
    const access: RowAccess = { kind: "account", accountId };
    const act = { actor: { kind: "system" }, context: {}, signal } as const;
    const run = <T>(work: (tx: Tx) => Promise<T>) => ports.transactions.run(act, access, work);
    const state = await ports.transactions.read(act, access, (tx: ReadTx) => findUpkeep(tx, accountId, vaultId));
    if (state === undefined || state.upkeep_paused_at !== null) return;
    await run((tx) => noteBegun(tx, vaultId));
    const vault = await ports.services.vaults.open(accountId, vaultId);
    const steps: Steps = { accountId, vaultId, vault, context, run };
    try {
      await scrubSlices(steps, state);
      await healDamaged(steps);
      if (isRepackDue(state.repacked_at, state.changed_at, clock.now())) await repackVault(steps);
    } catch (error) {
      if (!(error instanceof IncompleteCatalogError) && !(error instanceof ChainMismatchError)) throw error;
      // Nothing was deleted. People must look at the vault; the next run tries again.
      log.error("upkeep_refused", { target_id: vaultId });
      throw new PermanentJobError("upkeep_refused", { cause: error });
    }
  },
});

async function scrubSlices(steps: Steps, state: UpkeepState): Promise<void> {
  const { vault, vaultId, context } = steps;
  const { ports, signal, log, clock, progress } = context;
  const count = slicesDue(state.scrubbed_at, clock.now());
  if (count === 0) return;
  const first = state.scrub_slice;
  const report = await counted(steps, "scrub", () =>
    scrub({
      ...vault,
      identity: identityOf(vault),
      select: (pack) => isAmong(sliceOf(pack), first, count),
      onProgress: ({ packs, bytes }) => {
        signal.throwIfAborted();
        progress({ packs, bytes });
      },
    }),
  );
  const { findings, manifests, chain, keys } = report;
  const found = findings.length + manifests.length + chain.length + keys.length;
  ports.services.upkeep.scrubbed(report.bytes, found);
  if (found > 0) log.error("scrub_findings", { target_id: vaultId, count: found });
  await repairFindings(vault, report);
  const endsRound = first + count >= scrubDays;
  const nextSlice = (first + count) % scrubDays;
  await steps.run((tx) => noteScrub(tx, vaultId, { nextSlice, endsRound, packs: report.packs, findings: found }));
}

/** Marks damaged frames, clears wrong marks, and writes again what is whole elsewhere. A damaged key object is left to people. */
async function repairFindings(vault: Vault, { findings, intactFrames, manifests }: ScrubReport): Promise<void> {
  const damaged = findings.flatMap(({ frames }) => frames);
  if (damaged.length > 0) await vault.catalog.setDamaged(damaged, true);
  await recheckDamagedFrames(vault, intactFrames);
  if (manifests.length > 0) await rewriteManifests(vault, manifests);
  const packs = packsToRewrite(findings);
  if (packs.length > 0) await rewritePacks(vault, noDeadShare, { damagedPacks: packs });
}

async function healDamaged(steps: Steps): Promise<void> {
  const { vault, vaultId, context } = steps;
  const isDamaged = (await vault.catalog.damagedFrames()).length > 0;
  const report = isDamaged ? await counted(steps, "heal", () => heal(vault)) : { healed: [], stillDamaged: [] };
  context.ports.services.upkeep.healed(report.healed.length);
  const result = { healed: report.healed.length, damaged: report.stillDamaged.length };
  await steps.run((tx) => noteHeal(tx, vaultId, result));
}

async function repackVault(steps: Steps): Promise<void> {
  const { accountId, vault, vaultId, context } = steps;
  const { ports, signal, progress } = context;
  const report = await counted(steps, "repack", () =>
    repack(
      vault,
      ({ framesRead, segments, packs }) => {
        signal.throwIfAborted();
        progress({ frames: framesRead, segments, packs });
      },
      { pool: ports.services.snapshots.readPool, maxBytes: repackBytesPerRun },
    ),
  );
  await steps.run(async (tx) => {
    await noteRepack(tx, vaultId, report.rewrittenPacks.length);
    // What was moved is in the old packs too, until a prune deletes them.
    if (report.segments > 0) await removeSoon(tx, accountId, vaultId);
  });
}

async function counted<T>({ context }: Steps, step: "scrub" | "heal" | "repack", work: () => Promise<T>): Promise<T> {
  const { upkeep } = context.ports.services;
  try {
    const result = await work();
    upkeep.ran(step, "done");
    return result;
  } catch (error) {
    upkeep.ran(step, "failed");
    throw error;
  }
}

function parsePayload(payload: unknown): UpkeepPayload {
  const { accountId, vaultId } = (payload ?? {}) as Record<string, unknown>;
  if (typeof accountId !== "string" || typeof vaultId !== "string")
    throw new TypeError("the payload must name an account and a vault");
  return { accountId, vaultId };
}

/** Enqueues the daily run of the vaults that wait longest. */
export const findVaultsToKeepUp = task<Readonly<Record<string, never>>, Ports>("upkeep.find_vaults", {
  parse: noPayload,
  retry: retryAfter(),
  async run(_payload, { ports, signal }) {
    const context = { actor: { kind: "system" }, context: {}, signal } as const;
    await ports.transactions.run(context, { kind: "system" }, async (tx) => {
      const since = new Date(tx.now.getTime() - runAfterMs);
      for (const { account_id: accountId, vault_id: vaultId } of await vaultsToKeepUp(tx, since, vaultsPerRun))
        await tx.job({
          ...{ task: keepUpVault, payload: { accountId, vaultId }, key: vaultId },
          exclusiveKey: `upkeep ${vaultId}`,
        });
    });
  },
});
