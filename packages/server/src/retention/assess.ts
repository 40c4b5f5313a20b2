/**
 * Compares a new snapshot with the one before it of its source. One that lost or changed most files is suspicious: encrypted by an
 * attacker, or uploaded from an empty folder. It counts for no rule, and nothing of its source expires until a person accepts it.
 */

import { DamageError, diffTrees, FormatError } from "@emanet/engine";
import { listOwnersAnd } from "../accounts/index.ts";
import type { Random } from "../kernel/clock.ts";
import type { ServicePorts, Services } from "../kernel/domain-services.ts";
import { noPayload, retryAfter, task } from "../kernel/jobs/index.ts";
import type { RowAccess } from "../kernel/principal.ts";
import type { Transactions, Tx } from "../kernel/tx.ts";
import { mailMessage, sendMessage } from "../messages/index.ts";
import { openTree, parseSnapshotPayload } from "../snapshots/index.ts";
import { recordSuspicion } from "./chain.ts";
import { sourceSuspicious } from "./events.ts";
import { isSuspicious } from "./rules.ts";
import {
  findForAssessment,
  type Suspicion,
  setAssessment,
  snapshotBefore,
  type Unassessed,
  unassessedSnapshots,
} from "./snapshot-store.ts";

type Ports = ServicePorts & { readonly transactions: Transactions; readonly random: Random };

export interface AssessPayload {
  readonly accountId: string;
  readonly vaultId: string;
  readonly snapshotId: string;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
/** Ten million changed files; until then the source stays frozen. */
const assessTimeoutMs = 2 * hourMs;
/** Jobs that one run enqueues; the next run takes the others. */
const snapshotsPerRun = 1000;

export const assessSnapshot = task<AssessPayload, Ports>("retention.assess_snapshot", {
  parse: parseSnapshotPayload,
  retry: retryAfter(minuteMs, 5 * minuteMs, hourMs),
  timeoutMs: assessTimeoutMs,
  priority: "low",
  async run({ accountId, snapshotId }, { ports, signal }) {
    const { transactions, services } = ports;
    const access: RowAccess = { kind: "account", accountId };
    const context = { actor: { kind: "system" }, context: {}, signal } as const;
    const found = await transactions.read(context, access, async (tx) => {
      const snapshot = await findForAssessment(tx, accountId, snapshotId);
      return snapshot && { snapshot, before: await snapshotBefore(tx, snapshot) };
    });
    if (found?.snapshot.state !== "completed" || found.snapshot.assessed_at !== null) return;
    const { snapshot, before } = found;
    const suspicion = before === undefined ? null : await compare(services, snapshot, before, signal);
    // The chain first: a suspicion that only the database has could be taken away there.
    if (suspicion !== null) {
      const vault = await services.vaults.open(accountId, snapshot.vault_id);
      await recordSuspicion(vault, snapshotId, true, assessSnapshot.name);
    }
    await transactions.run(context, access, async (tx) => {
      if (!(await setAssessment(tx, accountId, snapshotId, suspicion)) || suspicion === null) return;
      await tellAboutSuspicion(tx, ports.random, snapshot, suspicion);
    });
  },
});

/** Null: nothing is wrong. A tree that cannot be read counts as lost. */
async function compare(
  services: Services,
  snapshot: Unassessed,
  before: { readonly id: string; readonly file_count: number },
  signal: AbortSignal,
): Promise<Suspicion | null> {
  const { root, vault } = await openTree(services, snapshot);
  const old = await openTree(services, { ...snapshot, id: before.id });
  const { frames } = services.snapshots.readers.own(vault);
  let lost = 0;
  let changed = 0;
  try {
    for await (const change of diffTrees(frames, old.root.root, root.root)) {
      signal.throwIfAborted();
      if (change.kind === "removed" && change.before.type === "file") lost++;
      else if (change.kind === "changed" && change.before.type === "file" && change.after.type === "file")
        changed += isSameContent(change.before, change.after) ? 0 : 1;
    }
  } catch (error) {
    if (!(error instanceof DamageError) && !(error instanceof FormatError)) throw error;
    lost = before.file_count;
  }
  return isSuspicious(before.file_count, lost, changed) ? { lost, changed } : null;
}

function isSameContent(a: { readonly hash: Uint8Array }, b: { readonly hash: Uint8Array }): boolean {
  return Buffer.compare(a.hash, b.hash) === 0;
}

async function tellAboutSuspicion(tx: Tx, random: Random, snapshot: Unassessed, found: Suspicion): Promise<void> {
  const { id, source_id: sourceId, vault_id: vaultId, account_id: accountId } = snapshot;
  tx.emit(sourceSuspicious, { source_id: sourceId, snapshot_id: id, ...found }, { vaultId });
  const targets = [
    { type: "snapshot", id },
    { type: "source", id: sourceId },
  ];
  tx.audit({ action: "snapshot.suspicious", targets, metadata: { ...found } });
  const counts = { lost: String(found.lost), changed: String(found.changed) };
  for (const { role, state, email: to, language } of await listOwnersAnd(tx, accountId, [])) {
    if (role !== "owner" || state !== "active") continue;
    const values = { snapshot_id: id, source_id: sourceId, ...counts };
    const payload = mailMessage({ id: random.uuid(), to, language, template: "source_suspicious", values });
    await tx.job({ task: sendMessage, payload });
  }
}

export async function enqueueAssessment(tx: Tx, payload: AssessPayload): Promise<void> {
  await tx.job({ task: assessSnapshot, payload, key: payload.snapshotId });
}

/** Enqueues a job for snapshots whose job has failed, and for those from before this task. */
export const findUnassessed = task<Readonly<Record<string, never>>, Ports>("retention.find_unassessed", {
  parse: noPayload,
  retry: retryAfter(),
  async run(_payload, { ports, signal }) {
    const context = { actor: { kind: "system" }, context: {}, signal } as const;
    await ports.transactions.run(context, { kind: "system" }, async (tx) => {
      for (const { id, account_id: accountId, vault_id: vaultId } of await unassessedSnapshots(tx, snapshotsPerRun))
        await enqueueAssessment(tx, { accountId, vaultId, snapshotId: id });
    });
  },
});
