/**
 * Background work of snapshots: completed ones are read back and compared, and uploads that nobody continues are ended.
 */

import { verifySnapshots } from "@emanet/engine";
import type { Random } from "../kernel/clock.ts";
import type { ServicePorts } from "../kernel/domain-services.ts";
import { noPayload, retryAfter, task } from "../kernel/jobs/index.ts";
import type { RowAccess } from "../kernel/principal.ts";
import type { ReadTx, Transactions, Tx } from "../kernel/tx.ts";
import { noteVerification } from "../vaults/index.ts";
import { engineId } from "./engine-id.ts";
import { endUpload } from "./lifecycle.ts";
import { mailAboutVerification } from "./mail-about-verification.ts";
import { parseSnapshotPayload } from "./release-upload.ts";
import type { FailureCode } from "./rules.ts";
import {
  abandonedUploads,
  deadUploads,
  findSnapshot,
  type OpenUpload,
  type SnapshotRecord,
  setVerification,
} from "./store.ts";

type Ports = ServicePorts & { readonly transactions: Transactions };
type VerifyPorts = Ports & { readonly random: Random; readonly staffEmail: string };

export interface VerifyPayload {
  readonly accountId: string;
  readonly vaultId: string;
  readonly snapshotId: string;
  /** A person asked for it: also what was read back before is read again. */
  readonly isWhole?: boolean;
}

function parseVerifyPayload(payload: unknown): VerifyPayload {
  const { isWhole } = (payload ?? {}) as Record<string, unknown>;
  return { ...parseSnapshotPayload(payload), ...(isWhole === true && { isWhole }) };
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** A store that is away for a day delays a verification, and does not end it. */
const verifyRetries = retryAfter(5 * minuteMs, hourMs, 4 * hourMs, 12 * hourMs);

/** A terabyte at 40 MB/s; what takes longer begins again with what was not verified. */
const verifyTimeoutMs = 8 * hourMs;

/**
 * Reads a snapshot back from the object store and compares it: its whole tree, and the content that was not read back for an
 * earlier snapshot. Nights share most of their content, so a night costs what it has added. Upkeep reads all content again
 * and again (scrub).
 */
export const verifySnapshot = task<VerifyPayload, VerifyPorts>("snapshots.verify", {
  parse: parseVerifyPayload,
  retry: verifyRetries,
  timeoutMs: verifyTimeoutMs,
  priority: "low",
  async run({ accountId, vaultId, snapshotId, isWhole = false }, { ports, signal, log, progress }) {
    const { services, transactions } = ports;
    const access: RowAccess = { kind: "account", accountId };
    const context = { actor: { kind: "system" }, context: {}, signal } as const;
    const record = await transactions.read(context, access, (tx) => findSnapshot(tx, accountId, snapshotId));
    if (record?.status !== "completed") return;
    const vault = await services.vaults.open(accountId, vaultId);
    const row = await vault.catalog.snapshot(engineId(snapshotId));
    if (row === null) return;
    const { findings, files, damagedFrames } = await verifySnapshots({
      ...{ vault, snapshots: [row], pool: services.snapshots.readPool },
      readData: isWhole || "unverified",
      onProgress: (counts) => {
        signal.throwIfAborted();
        progress(counts);
      },
    });
    if (damagedFrames.length > 0) await vault.catalog.setDamaged(damagedFrames, true);
    const isRight = findings.length === 0;
    await transactions.run(context, access, async (tx) => {
      await setVerification(tx, accountId, snapshotId, isRight);
      if (!isRight) await reportFailure(tx, ports, record);
      await noteVerification(tx, vaultId, { files, failed: findings.length });
    });
    services.snapshots.counts.verified(isRight);
    if (!isRight) log.error("verification_failed", { target_id: snapshotId, count: findings.length });
  },
});

async function reportFailure(tx: Tx, ports: VerifyPorts, record: SnapshotRecord): Promise<void> {
  const { created_by_kind: type, created_by_id: id } = record;
  const targets = [
    { type: "snapshot", id: record.id },
    { type: type === "client" ? "oauth_client" : type, id },
  ];
  tx.audit({ action: "snapshot.verification_failed", targets, outcome: "failure" });
  await mailAboutVerification(tx, ports, record);
}

/** Uploads that one run ends at most; the next run takes the others. */
const uploadsPerRun = 500;

/** Ends uploads in one call whose process died, and uploads that are idle or open for too long. */
export const endUploads = task<Readonly<Record<string, never>>, Ports>("snapshots.end_uploads", {
  parse: noPayload,
  retry: retryAfter(),
  async run(_payload, { ports, signal, log }) {
    const context = { actor: { kind: "system" }, context: {}, signal } as const;
    const find = (which: (tx: ReadTx, limit: number) => Promise<readonly OpenUpload[]>) =>
      ports.transactions.read(context, { kind: "system" }, (tx) => which(tx, uploadsPerRun));
    const ended = [
      ...(await find(deadUploads)).map((upload) => ({ upload, code: "upload_interrupted" as const })),
      ...(await find(abandonedUploads)).map((upload) => ({ upload, code: "upload_abandoned" as const })),
    ];
    for (const { upload, code } of ended) {
      signal.throwIfAborted();
      const access: RowAccess = { kind: "account", accountId: upload.account_id };
      await ports.transactions.run(context, access, (tx) => endOpen(tx, upload.id, code));
    }
    if (ended.length > 0) log.info("uploads_ended", { count: ended.length });
  },
});

function endOpen(tx: Tx, id: string, code: FailureCode): Promise<boolean> {
  return endUpload(tx, id, { state: "failed", code, reason: null });
}

/** Removes parts of objects that killed processes were writing: they are a week old, so a day more does not matter. */
export const removeLeftovers = task<Readonly<Record<string, never>>, Ports>("snapshots.remove_leftovers", {
  parse: noPayload,
  retry: retryAfter(),
  run: (_payload, { ports }) => ports.services.vaults.removeLeftovers(),
});
