/**
 * A session of the service's own: relaying, rewriting and healing write through it. It seals in this thread, with the
 * authority's own key, and registers everything at the end in one step.
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
import { pipelineSealer } from "../packing/frame-sealer.ts";
import { MetadataWriter } from "../packing/metadata-writer.ts";
import type { DurablePack } from "../packing/pack-uploader.ts";
import { PackUploader } from "../packing/pack-uploader.ts";
import type { Vault } from "../vault.ts";

/** Upkeep works in small steps; one that is silent for longer has died. */
const upkeepLeaseMs = 30 * 60_000;

/** As a backup's (`defaultUploadSettings`). */
const packBytes = 16 * 1024 * 1024;

/** One more than a backup's: nothing is registered before the end, so no unit gets longer by it. */
const packsInFlight = 2;

export interface UpkeepSession {
  readonly upload: string;
  readonly session: number;
  /** Numbers for frames that are new; rewritten ones keep theirs. */
  nextFrame(): number;
  putFrame(kind: FrameKind, frame: number, generation: number, plain: Uint8Array, level: CompressionLevel): void;
  putRecord(item: MetadataItem): number;
  room(): Promise<void>;
  /** Makes everything durable and says where it is. */
  settle(): Promise<{ readonly packs: readonly DurablePack[]; readonly header: Uint8Array }>;
}

/** Runs `work` with a session; the upload ends in any case. */
export async function withUpkeepSession<T>(vault: Vault, work: (session: UpkeepSession) => Promise<T>): Promise<T> {
  // Only the authority may rewrite what others wrote: rebuild takes such frames and records from nobody else.
  const { ctx, catalog, store, names, authority: writer } = vault;
  const upload = `upkeep ${Buffer.from(ctx.random(16)).toString("hex")}`;
  const leaseUntil = ctx.now() + upkeepLeaseMs;
  const start = await beginClaimedUpload(vault, { upload, owner: "upkeep", leaseUntil, base: null });
  const open = startSession(ctx, vault.keys, writer, start);
  const line = new PackUploader({
    header: open.header,
    signer: writer,
    packBytes,
    packsInFlight,
    random: (length) => ctx.random(length),
    put: (name, body) => store.put(names.pack(name), body),
  });
  let n = 1;
  const nextFrame = () => frameNumber(start.session, n++);
  const sealer = pipelineSealer(open);
  const meta = new MetadataWriter(sealer, nextFrame, (frame, bytes) => line.add("meta", frame, 0, bytes));
  const session: UpkeepSession = {
    upload,
    session: start.session,
    nextFrame,
    putFrame: (kind, frame, generation, plain, level) =>
      line.add(kind, frame, generation, sealer.seal(kind, frame, generation, plain, level)),
    putRecord: (item) => meta.add("records", item).frame,
    room: () => line.waitForSpace(),
    settle: async () => {
      meta.flush("records");
      await line.drain();
      return { packs: line.takeDurable(), header: open.header.bytes };
    },
  };
  try {
    return await work(session);
  } finally {
    await line.abandon();
    await catalog.endUpload(upload);
  }
}

/** The rows of frames that were just made durable. `records` has the block list of every data frame. */
export function rowsOf(
  session: UpkeepSession,
  packs: readonly DurablePack[],
  records: ReadonlyMap<number, { readonly record: number; readonly blockList: BlockList }>,
): FrameRow[] {
  return frameRows(session.session, packs, (frame) => {
    const own = records.get(frame);
    return own && { record: own.record, blockList: encodeBlockList(own.blockList) };
  });
}

/** A unit of nothing but packs. */
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
