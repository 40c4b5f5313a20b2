/**
 * A session of upkeep: repack, rewriting and heal write their frames through it. The authority is its writer: only the
 * authority may write frames and records of other sessions again, and a rebuild accepts them from no other writer.
 *
 * The workers of a pool seal data frames. Without a pool, the main thread does. The caller registers everything in one step
 * at the end. If it does not, the uploaded packs are orphans, and prune deletes them.
 */

import type { FrameRow, UploadUnit } from "../catalog/catalog.ts";
import { beginClaimedUpload } from "../catalog/claim-session.ts";
import type { BlockList } from "../format/block-list.ts";
import { encodeBlockList } from "../format/block-list.ts";
import type { CompressionLevel, FrameKind } from "../format/frame.ts";
import { frameNumber } from "../format/frame.ts";
import type { MetadataItem } from "../format/metadata-items.ts";
import { startSession } from "../format/session-header.ts";
import { frameRows, packRows } from "../packing/catalog-rows.ts";
import { mainThreadSealer } from "../packing/frame-sealer.ts";
import { MetadataWriter } from "../packing/metadata-writer.ts";
import type { DurablePack } from "../packing/pack-uploader.ts";
import { PackUploader } from "../packing/pack-uploader.ts";
import type { Vault } from "../vault.ts";
import type { RestoreWorkerPool } from "../workers/restore-worker-pool.ts";
import { SealQueue } from "./seal-queue.ts";

/** Each session is one small step of upkeep. One that takes longer than this has crashed. */
const upkeepLeaseMs = 30 * 60_000;

/** As a backup's (`defaultUploadSettings`). */
const packBytes = 16 * 1024 * 1024;

/** One more than a backup's: nothing is registered before the end, so no unit gets longer by it. */
const packsInFlight = 2;

export interface UpkeepSession {
  readonly upload: string;
  readonly session: number;
  /** Returns the number of a new frame. A rewritten frame keeps its number. */
  nextFrame(): number;
  /** Seals a frame and adds it to a pack. The sealed frame is not opened and compared again. */
  putFrame(kind: FrameKind, frame: number, generation: number, plain: Uint8Array, level: CompressionLevel): void;
  /** Seals blocks with their block list, checks the sealed frame, and adds it to a pack. */
  putBlocks(frame: number, generation: number, blocks: Uint8Array, blockList: BlockList): void;
  /** Adds a metadata item; returns the number of its metadata frame. */
  putRecord(item: MetadataItem): number;
  /** Waits until the workers and the upload of packs can take more frames. */
  waitForSpace(): Promise<void>;
  /** Uploads everything and returns the packs. */
  flush(): Promise<{ readonly packs: readonly DurablePack[]; readonly header: Uint8Array }>;
}

/** Runs `work` with a new session, and ends its upload afterwards. */
export async function withUpkeepSession<T>(
  vault: Vault,
  work: (session: UpkeepSession) => Promise<T>,
  pool: RestoreWorkerPool | null = null,
): Promise<T> {
  const { ctx, catalog, store, names, authority: writer } = vault;
  const upload = `upkeep ${Buffer.from(ctx.random(16)).toString("hex")}`;
  const leaseUntil = ctx.now() + upkeepLeaseMs;
  const start = await beginClaimedUpload(vault, { upload, owner: "upkeep", leaseUntil, base: null });
  const open = startSession(ctx, vault.keys, writer, start);
  const uploader = new PackUploader({
    kind: "data",
    header: open.header,
    signer: writer,
    packBytes,
    packsInFlight,
    random: (length) => ctx.random(length),
    put: (name, body) => store.put(names.pack(name), body),
  });
  let n = 1;
  const nextFrame = () => frameNumber(start.session, n++);
  const sealer = mainThreadSealer(open);
  const meta = new MetadataWriter(sealer, nextFrame, (frame, bytes) => uploader.add("meta", frame, 0, bytes));
  const queue = new SealQueue(pool);
  const session: UpkeepSession = {
    upload,
    session: start.session,
    nextFrame,
    putFrame: (kind, frame, generation, plain, level) =>
      uploader.add(kind, frame, generation, sealer.seal(kind, frame, generation, plain, level)),
    putBlocks: (frame, generation, blocks, blockList) => {
      const seal = sealer.nextSeal("data", frame, generation);
      const { blockIdKey } = vault.keys;
      queue.push({ seal, blocks, blockList, blockIdKey }, (sealed) => uploader.add("data", frame, generation, sealed));
    },
    putRecord: (item) => meta.add("records", item).frame,
    waitForSpace: async () => {
      await queue.waitForSpace();
      await uploader.waitForSpace();
    },
    flush: async () => {
      await queue.drain();
      meta.flush("records");
      await uploader.drain();
      return { packs: uploader.takeDurable(), header: open.header.bytes };
    },
  };
  try {
    const result = await work(session);
    await queue.drain();
    return result;
  } finally {
    await uploader.abandon();
    await catalog.endUpload(upload);
  }
}

/** The rows of frames that were uploaded. `records` has the block list of every data frame. */
export function rowsOf(
  session: UpkeepSession,
  packs: readonly DurablePack[],
  records: ReadonlyMap<number, { readonly recordFrame: number; readonly blockList: BlockList }>,
): FrameRow[] {
  return frameRows(session.session, packs, (frame) => {
    const own = records.get(frame);
    return own && { recordFrame: own.recordFrame, blockList: encodeBlockList(own.blockList) };
  });
}

/** A unit that registers packs and nothing else; the caller adds frames and items. */
export function packsUnit(session: UpkeepSession, packs: readonly DurablePack[], header: Uint8Array): UploadUnit {
  return {
    packs: packRows(session.session, packs),
    header,
    frames: [],
    items: [],
    hooks: [],
    follows: [],
  };
}
