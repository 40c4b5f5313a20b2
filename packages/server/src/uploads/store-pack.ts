/** Stores a pack: counted in the quota first, received whole into memory or the spool, then put into the object store. */

import { answerPack, CatalogError, type UploadTarget } from "@emanet/engine";
import type { SpoolFile } from "../archives/index.ts";
import { holdUpload } from "../catalog/index.ts";
import type { Ctx } from "../kernel/http/endpoint.ts";
import type { Upload } from "../kernel/http/upload.ts";
import { Problem } from "../kernel/problems.ts";
import { reserveBytes } from "../vaults/index.ts";
import type { OpenUpload } from "./open-upload.ts";
import { release } from "./quota-listeners.ts";
import { changeReserved } from "./store.ts";

/** Stores the body as a pack and returns the answer. */
export async function storePack(
  ctx: Ctx,
  upload: OpenUpload,
  target: UploadTarget,
  name: string,
  body: Upload,
): Promise<Buffer> {
  const { record, vault, run, settle } = upload;
  const size = body.announcedBytes;
  // Without its size a pack could be counted only after it came.
  if (size === null) throw new Problem("invalid_header");
  ctx.services.snapshots.spool.check(record.account_id, size);
  // A repeated pack is not counted again. Of two at the same moment both are, until the upload ends.
  const isStored = (await vault.store.stat(vault.names.pack(name))) !== null;
  if (!isStored) await run((tx) => reserve(tx, record, size));
  try {
    return await receive(ctx, upload, body, size, (chunks) => answerPack(target, name, chunks));
  } catch (error) {
    if (!isStored) await settle((tx) => release(tx, record.vault_id, record.id, size));
    throw error;
  }
}

type Store = (chunks: AsyncIterable<Uint8Array>) => Promise<Buffer>;
type Tx = Parameters<typeof reserveBytes>[0];

/** While the upload is held it cannot end, so its end releases what is reserved here, also when this process is killed now. */
async function reserve(tx: Tx, record: OpenUpload["record"], size: number): Promise<void> {
  if (!(await holdUpload(tx, record.vault_id, record.id))) throw new CatalogError("unknown_upload", record.id);
  await changeReserved(tx, record.id, size);
  await reserveBytes(tx, record.vault_id, size);
}

/** A slow client fills memory or the spool, and holds no connection to the object store. */
async function receive(ctx: Ctx, { record }: OpenUpload, body: Upload, size: number, store: Store): Promise<Buffer> {
  const { spool, packMemory, counts } = ctx.services.snapshots;
  const memory = packMemory.take(record.account_id, size);
  if (memory === null) return receiveInSpool(ctx, await spool.create(record.account_id, "pack"), body, store);
  let isStored = false;
  try {
    for await (const chunk of body.chunks()) {
      counts.received(chunk.length);
      memory.append(chunk);
    }
    const answer = await store(memory.chunks());
    isStored = true;
    return answer;
  } finally {
    memory.release(isStored);
  }
}

async function receiveInSpool(ctx: Ctx, file: SpoolFile, body: Upload, store: Store): Promise<Buffer> {
  try {
    for await (const chunk of body.chunks()) {
      ctx.services.snapshots.counts.received(chunk.length);
      await file.append(chunk);
    }
    await file.flush();
    ctx.progressed();
    return await store(file.chunks());
  } finally {
    await file.remove();
  }
}
