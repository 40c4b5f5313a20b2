/**
 * Applies retention to a vault, one vault at a time per job: acts whose 72 hours are over, mails about ceilings, then expiry.
 *
 * Expiry is decided twice: by the database, and by what is signed in the object store (chain and manifests). Only what both let go goes;
 * if their policies differ, or if the database lets something go that the store keeps, the job stops and staff see an error. Then the
 * chain gets the end of each snapshot's time, then the row changes, then the content is removed (`snapshots/removal.ts`). Every step
 * can be repeated.
 *
 * At most a tenth of a vault's snapshots go on one day, the oldest first. Those of a source that a person has deleted go at once.
 */

import { CatalogError, ChainMismatchError, FormatError, type Vault } from "@emanet/engine";
import { findAccount } from "../accounts/index.ts";
import type { Random } from "../kernel/clock.ts";
import type { ServicePorts } from "../kernel/domain-services.ts";
import { noPayload, PermanentJobError, retryAfter, task } from "../kernel/jobs/index.ts";
import type { RowAccess } from "../kernel/principal.ts";
import type { Transactions } from "../kernel/tx.ts";
import { unprojectSnapshot } from "../paths/index.ts";
import { removeSoon, setExpiryIn } from "../snapshots/index.ts";
import { ClocksDifferError, earliestTime } from "../vaults/index.ts";
import { dueActs } from "./act-store.ts";
import { carryOut } from "./carry-out.ts";
import { endUploadsOfDeleted } from "./deletions.ts";
import { mailAboutCeiling } from "./mail-about-ceiling.ts";
import { policiesOf, type VaultPolicies } from "./policy-store.ts";
import { type Decision, dayOf, decide, leftForToday, noticeEnd, startOfDay } from "./rules.ts";
import { signedDecisions } from "./signed-decisions.ts";
import {
  completedSnapshots,
  countForToday,
  expireSnapshots,
  noteApplied,
  setExpiry,
  type VaultSnapshot,
  vaultsToApply,
} from "./snapshot-store.ts";
import type { ApplyPayload, Steps } from "./steps.ts";

type Ports = ServicePorts & { readonly transactions: Transactions; readonly random: Random };

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
/** Ten thousand manifests from S3 take some minutes. */
const applyTimeoutMs = 2 * hourMs;
/** Jobs that one run enqueues; the next run takes the other vaults. */
const vaultsPerRun = 1000;
/** Days begin at midnight, and a policy may begin to hold at any time. */
const applyAfterMs = hourMs;
/** Snapshots that one transaction changes. */
const snapshotsPerStep = 100;

export const applyRetention = task<ApplyPayload, Ports>("retention.apply", {
  parse: parsePayload,
  retry: retryAfter(5 * minuteMs, hourMs),
  timeoutMs: applyTimeoutMs,
  priority: "low",
  async run({ accountId, vaultId }, { ports, signal, log, clock, progress }) {
    const now = await earliestTime({ clock, ports, signal }).catch((error: unknown) => {
      if (error instanceof ClocksDifferError) log.error("clocks_differ", { target_id: vaultId });
      throw error;
    });
    const access: RowAccess = { kind: "account", accountId };
    const context = { actor: { kind: "system" }, context: {}, signal } as const;
    const steps: Steps = {
      ...{ accountId, vaultId, signal, log, clock, now, random: ports.random },
      vault: await ports.services.vaults.open(accountId, vaultId),
      openVault: (id) => ports.services.vaults.open(accountId, id),
      run: (work) => ports.transactions.run(context, access, work),
      read: (work) => ports.transactions.read(context, access, work),
    };
    try {
      for (const act of await steps.read((tx) => dueActs(tx, accountId, vaultId, now))) await carryOut(steps, act);
      await steps.run((tx) => endUploadsOfDeleted(tx, accountId, vaultId));
      progress({ expired: await expire(steps) });
    } catch (error) {
      if (!(error instanceof ChainMismatchError) && !(error instanceof FormatError)) throw error;
      log.error("retention_refused", { target_id: vaultId });
      throw new PermanentJobError("retention_refused", { cause: error });
    }
    await steps.run((tx) => noteApplied(tx, vaultId));
  },
});

/** Returns how many have expired. */
async function expire(steps: Steps): Promise<number> {
  const { vaultId, accountId, now, read, vault, log } = steps;
  const { account, policies, snapshots, today } = await read(async (tx) => ({
    account: await findAccount(tx, accountId),
    policies: await policiesOf(tx, vaultId),
    snapshots: await completedSnapshots(tx, { vaultId, sourceId: null }),
    today: await countForToday(tx, vaultId, new Date(startOfDay(dayOf(now.getTime())))),
  }));
  const decisions = decideAll(snapshots, policies, now);
  await mailNotices(steps, snapshots, policies, decisions);
  // A closed account is read until it is erased: rules remove nothing of it, only what a person has deleted goes.
  const goes = account?.state === "closed" ? (one: VaultSnapshot) => one.isDeleted : () => true;
  const going = snapshots.filter((one) => decisions.get(one.id)?.cause !== null && goes(one));
  if (going.length === 0) return 0;
  const signed = await signedDecisions(steps, policies, snapshots);
  const agreed = going.filter(({ id }) => signed.get(id)?.cause !== null && signed.has(id));
  // The database lets something go that the store keeps. Somebody may have changed rows.
  for (const { id } of going) if (!agreed.some((one) => one.id === id)) log.error("expiry_refused", { target_id: id });
  const [deleted = [], others = []] = [true, false].map((is) => agreed.filter((one) => one.isDeleted === is));
  const oldestFirst = [...others].sort((a, b) => a.completedAt - b.completedAt);
  const left = [...deleted, ...oldestFirst.slice(0, leftForToday(today.total, today.goneToday))];
  let count = 0;
  for (let at = 0; at < left.length; at += snapshotsPerStep) {
    const ids: string[] = [];
    for (const { id } of left.slice(at, at + snapshotsPerStep)) {
      steps.signal.throwIfAborted();
      if (await endInChain(vault, id, now, decisions.get(id)?.cause ?? "policy")) ids.push(id);
    }
    count += await steps.run(async (tx) => {
      const expired = await expireSnapshots(tx, accountId, ids, now);
      for (const { id, source_id: sourceId } of expired) {
        await unprojectSnapshot(tx, { id, accountId, vaultId });
        const targets = [
          { type: "snapshot", id },
          { type: "source", id: sourceId },
        ];
        tx.audit({ action: "snapshot.expired", targets, metadata: { cause: decisions.get(id)?.cause ?? "policy" } });
      }
      if (expired.length > 0) await removeSoon(tx, accountId, vaultId);
      return expired.length;
    });
  }
  return count;
}

/** Returns false where a hold or a lock came meanwhile. */
async function endInChain(vault: Vault, id: string, now: Date, reason: string): Promise<boolean> {
  try {
    await setExpiryIn(vault, id, now, { reason, by: applyRetention.name });
    return true;
  } catch (error) {
    if (error instanceof CatalogError && error.code === "retained") return false;
    throw error;
  }
}

export function decideAll(
  snapshots: readonly VaultSnapshot[],
  policies: Pick<VaultPolicies, "for">,
  now: Date,
): ReadonlyMap<string, Decision> {
  const decisions = new Map<string, Decision>();
  for (const [sourceId, ofSource] of Map.groupBy(snapshots, (one) => one.sourceId))
    for (const decision of decide(ofSource, policies.for(sourceId), now.getTime()))
      decisions.set(decision.id, decision);
  return decisions;
}

/** Mails owners about snapshots that a ceiling will remove, and notes when; takes back what another policy has made wrong. */
async function mailNotices(
  steps: Steps,
  snapshots: readonly VaultSnapshot[],
  policies: VaultPolicies,
  decisions: ReadonlyMap<string, Decision>,
): Promise<void> {
  const { accountId, vault, now, run } = steps;
  const byTask = { reason: "ceiling", by: applyRetention.name };
  for (const { id } of snapshots.filter((one) => decisions.get(one.id)?.isNoticeStale === true)) {
    await setExpiryIn(vault, id, null, byTask);
    await run((tx) => setExpiry(tx, accountId, id, null));
  }
  const due = snapshots.filter(({ id }) => decisions.get(id)?.isNoticeDue === true);
  for (const [sourceId, ofSource] of Map.groupBy(due, (one) => one.sourceId)) {
    const ceiling = policies.for(sourceId).ceiling_days ?? 0;
    const goes = ofSource.map(({ id, completedAt }) => ({
      id,
      at: new Date(noticeEnd(completedAt, ceiling, now.getTime())),
    }));
    for (const { id, at } of goes) await setExpiryIn(vault, id, at, byTask);
    await run(async (tx) => {
      for (const { id, at } of goes) await setExpiry(tx, accountId, id, at);
      const first = new Date(Math.min(...goes.map(({ at }) => at.getTime())));
      await mailAboutCeiling(tx, steps.random, { accountId, sourceId, count: goes.length, first });
    });
  }
}

function parsePayload(payload: unknown): ApplyPayload {
  const { accountId, vaultId } = (payload ?? {}) as Record<string, unknown>;
  if (typeof accountId !== "string" || typeof vaultId !== "string")
    throw new TypeError("the payload must name an account and a vault");
  return { accountId, vaultId };
}

/** Enqueues a job for every vault with an act whose time has come, and once an hour for every vault with a policy. */
export const findVaultsToApply = task<Readonly<Record<string, never>>, Ports>("retention.find_vaults_to_apply", {
  parse: noPayload,
  retry: retryAfter(),
  async run(_payload, { ports, signal }) {
    const context = { actor: { kind: "system" }, context: {}, signal } as const;
    await ports.transactions.run(context, { kind: "system" }, async (tx) => {
      const since = new Date(tx.now.getTime() - applyAfterMs);
      for (const { account_id: accountId, vault_id: vaultId } of await vaultsToApply(tx, since, vaultsPerRun))
        await tx.job({
          ...{ task: applyRetention, payload: { accountId, vaultId }, key: vaultId },
          exclusiveKey: `upkeep ${vaultId}`,
        });
    });
  },
});
