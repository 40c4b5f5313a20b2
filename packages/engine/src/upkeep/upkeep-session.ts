/**
 * A session of upkeep: repack, rewriting and heal write their frames through it.
 *
 * It seals in the main thread and signs with the key of the authority. Only the authority may write frames and records of
 * other sessions again; a rebuild accepts them from no other writer. The caller registers everything in one step at the end. If
 * it does not, the uploaded packs are orphans, and prune deletes them.
 */

import type { FrameRow, UploadUnit } from "../catalog/catalog.ts";
import { beginClaimedUpload } from "../catalog/claim-session.ts";
import type { BlockList } from "../format/block-list.ts";
import { encodeBlockList } from "../format/block-list.ts";
import type { CompressionLevel, FrameKind } from "../format/frame.ts";
import { frameNumber, openFrame, readFrameHeader } from "../format/frame.ts";
import type { MetadataItem } from "../format/metadata-items.ts";
import { frameKey, sessionBinding, startSession } from "../format/session-header.ts";
import { frameRows, packRows } from "../packing/catalog-rows.ts";
import { mainThreadSealer } from "../packing/frame-sealer.ts";
import { MetadataWriter } from "../packing/metadata-writer.ts";
import type { DurablePack } from "../packing/pack-uploader.ts";
import { PackUploader } from "../packing/pack-uploader.ts";
import type { Vault } from "../vault.ts";

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
  /** The key of block ids, for callers that check what they write. */
  readonly blockIdKey: Uint8Array;
  /** Seals a frame and adds it to a pack. `check` gets the plain bytes of the sealed frame, opened again. */
  putFrame(
    kind: FrameKind,
    frame: number,
    generation: number,
    plain: Uint8Array,
    level: CompressionLevel,
    check?: (opened: Uint8Array) => void,
  ): void;
  /** Adds a metadata item; returns the number of its metadata frame. */
  putRecord(item: MetadataItem): number;
  /** Waits until the upload of packs has caught up. */
  waitForSpace(): Promise<void>;
  /** Uploads everything and returns the packs. */
  flush(): Promise<{ readonly packs: readonly DurablePack[]; readonly header: Uint8Array }>;
}

/** Runs `work` with a new session, and ends its upload afterwards. */
export async function withUpkeepSession<T>(vault: Vault, work: (session: UpkeepSession) => Promise<T>): Promise<T> {
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
  const session: UpkeepSession = {
    upload,
    session: start.session,
    nextFrame,
    putFrame: (kind, frame, generation, plain, level, check) => {
      const sealed = sealer.seal(kind, frame, generation, plain, level);
      if (check !== undefined) {
        const key = frameKey(open.contentKey, readFrameHeader(sealed));
        check(openFrame(sealed, key, sessionBinding(open.header)));
      }
      uploader.add(kind, frame, generation, sealed);
    },
    blockIdKey: vault.keys.blockIdKey,
    putRecord: (item) => meta.add("records", item).frame,
    waitForSpace: () => uploader.waitForSpace(),
    flush: async () => {
      meta.flush("records");
      await uploader.drain();
      return { packs: uploader.takeDurable(), header: open.header.bytes };
    },
  };
  try {
    return await work(session);
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
