/** From the body of a request to a completed snapshot: spool, cut, store, commit. */

import { createHash, timingSafeEqual } from "node:crypto";
import { LocalTarget, OutdatedKeysError, recheckDamagedFrames, runBackup, writerKeys } from "@emanet/engine";
import { maxFileBytes, type ReceivedArchive, receiveFile, receiveTar, receiveZip } from "../archives/index.ts";
import type { Ctx } from "../kernel/http/endpoint.ts";
import { Problem } from "../kernel/problems.ts";
import { writerName } from "../vaults/index.ts";
import { engineId } from "./engine-id.ts";
import { withTwinWarnings } from "./name-twins.ts";
import { type StartedUpload, seesStorage } from "./new-upload.ts";

/** So often an upload that waits for a place tells the kernel that it is not stuck. */
const waitingBeatMs = 5_000;

/** Stores an upload. When it resolves, the snapshot is completed. */
export async function storeUpload(ctx: Ctx, upload: StartedUpload, signal: AbortSignal): Promise<void> {
  const { snapshots } = ctx.services;
  const received = await receiveBody(ctx, upload, signal);
  try {
    const waiting = setInterval(() => ctx.progressed(), waitingBeatMs);
    await snapshots.backups
      .run(upload.principal.accountId, signal, () => {
        clearInterval(waiting);
        return backUp(ctx, upload, received, signal);
      })
      .finally(() => clearInterval(waiting));
  } finally {
    await received.remove();
  }
}

/** Writes the body to the spool and checks its structure and its digest. */
async function receiveBody(ctx: Ctx, upload: StartedUpload, signal: AbortSignal): Promise<ReceivedArchive> {
  const { body, digest, principal } = upload;
  const { spool, readPool } = ctx.services.snapshots;
  const options = { spool, owner: principal.accountId, maxBytes: maxFileBytes, signal };
  const chunks = checked(ctx, upload.chunks, digest);
  if (body.kind === "tar") return receiveTar(chunks, { ...options, encoding: body.encoding });
  if (body.kind === "zip") {
    const terms = { encoding: body.encoding, inflater: readPool, onProgress: () => ctx.progressed() };
    return receiveZip(chunks, { ...options, ...terms });
  }
  const mtimeMs = body.mtimeMs ?? ctx.clock.now().getTime();
  return receiveFile(chunks, { ...options, path: body.path, mode: body.mode, mtimeMs });
}

/** The same chunks, counted. Fails at the end of a body that has another digest than its client said. */
async function* checked(ctx: Ctx, chunks: AsyncIterable<Buffer>, digest: Buffer | null): AsyncGenerator<Buffer> {
  const { counts } = ctx.services.snapshots;
  const hash = digest === null ? null : createHash("sha256");
  for await (const chunk of chunks) {
    counts.received(chunk.length);
    hash?.update(chunk);
    yield chunk;
  }
  if (hash === null || digest === null) return;
  if (!timingSafeEqual(hash.digest(), digest)) throw new Problem("content_mismatch");
}

/** If the keys of the vault were rotated at this moment, nothing of the source was read yet: it begins again with the new keys. */
async function backUp(ctx: Ctx, upload: StartedUpload, source: ReceivedArchive, signal: AbortSignal): Promise<void> {
  for (let attempt = 1; ; attempt++)
    try {
      return await backUpOnce(ctx, upload, source, signal);
    } catch (error) {
      if (!(error instanceof OutdatedKeysError) || attempt >= maxKeyAttempts) throw error;
      ctx.services.vaults.forget(upload.principal.accountId, upload.target.vault.id);
    }
}

/** Nobody rotates keys several times within the milliseconds between opening a vault and beginning an upload. */
const maxKeyAttempts = 5;

/** Cuts and stores what was received. The commit of the catalog completes the snapshot. */
async function backUpOnce(
  ctx: Ctx,
  upload: StartedUpload,
  source: ReceivedArchive,
  signal: AbortSignal,
): Promise<void> {
  const { id, principal, target, wanted, parentId, context } = upload;
  const { vaults, snapshots } = ctx.services;
  const vault = await vaults.open(principal.accountId, target.vault.id, context);
  const owner = writerName(target.writer);
  const { snapshot } = await runBackup({
    ...{ ctx: vault.ctx, keys: writerKeys(vault.keys), signer: vault.authority, pool: snapshots.cutPool },
    ...{ source: withTwinWarnings(source), sourceName: target.source.id, owner, signal, snapshotId: engineId(id) },
    target: new LocalTarget({
      ...{ access: vault, upload: id, owner, authority: vault.authority },
      scope: seesStorage(principal) ? "vault" : "lineage",
      recheck: () => recheckDamagedFrames(vault),
    }),
    details: {
      taxpayer: wanted.taxpayer_id,
      label: wanted.label,
      trigger: upload.trigger,
      externalReference: wanted.external_reference,
      metadata: wanted.metadata === undefined ? undefined : JSON.stringify(wanted.metadata),
      parent: parentId === null ? undefined : engineId(parentId),
    },
    onProgress: () => ctx.progressed(),
  });
  snapshots.counts.stored(snapshot.storedBytes);
}
