/**
 * A cutting worker: reads the files of a job into the cutter's memory, cuts and hashes them, sends portions, appends new
 * blocks to frames and seals full frames. Runs in a thread (`cut-worker-thread.ts`), or in the main thread
 * (with zero threads).
 *
 * Invariants: a buffer is written to only while it is free. It becomes free when its portion was answered with `append`.
 * A session has one `FrameBuilder` per worker, so its sealing counters never repeat.
 *
 * Several uploads share a worker. Each has its own jobs, buffers and cutter, so one whose answers do not come (a store that
 * hangs) holds its own memory only, and the others go on. The worker cuts their portions in turn.
 *
 * Memory of one upload in one worker, at most: two buffers of 8 MiB, four of 4 MiB, three frames of 2 MiB and a bit: 40 MiB. With a lookahead of two twice
 * as many buffers: 72 MiB. And 4 MiB for what is left over between two buffers.
 * Memory that was not written to costs nothing: an upload whose answers come at once uses one buffer of each kind.
 */

import { asBuffer, sameBytes } from "../format/bytes.ts";
import { frameIdOf } from "../format/frame.ts";
import { blockIdLength, digestLength, fileHash, idLength, keyBlockIds, segmentId } from "../format/hash.ts";
import { textKey } from "../format/session-header.ts";
import { isIncompressible } from "../packing/compressibility.ts";
import type { PortionBlocks } from "../packing/frame-builder.ts";
import { FrameBuilder, frameBufferBytes } from "../packing/frame-builder.ts";
import type { FrameAppend } from "../packing/frame-class.ts";
import { SharedFrameBuffers } from "../packing/shared-frame-buffers.ts";
import type { CutJob, FileOutcome, FileRange, FromWorker, Portion, ToWorker, WorkerSession } from "./cut-messages.ts";
import { maxSegmentBytes, stripeBytes } from "./cutter/cut-limits.ts";
import type { BlockSizes } from "./cutter/cutter.ts";
import { CutBlocks, Cutter, coarseBlocks, cutSegments, fineBlocks } from "./cutter/cutter.ts";
import { EmbeddedTextCache } from "./cutter/embedded-text-cache.ts";
import { embeddedTexts } from "./cutter/embedded-texts.ts";
import { codeOf, LastFile, openRange, type RangeFile, readWhole } from "./file-range.ts";
import { buffersPerUpload, FreeBuffers } from "./free-buffers.ts";

/** A buffer holds two of the largest segments. At most one of them is left over from before, so half of it is newly read. */
export const workerBufferBytes = 2 * maxSegmentBytes;

/** Bytes that are read, cut and hashed before more are read: few enough to stay in the core's cache. */
const readStepBytes = 512 * 1024;

/** The first bytes of a file. A sample from their middle decides the block sizes. Every striped file is longer. */
const sampledStartBytes = 64 * 1024;

/** One frame is sealed while the store reads the others. */
const sharedFrameBuffers = 3;

/**
 * An upload that read more does not leave its cutter for the next one: its buffers hold memory. Making one takes longer than
 * cutting the files of a small upload.
 */
const mostBytesOfSpare = 4 * 1024 * 1024;

// Indexes into `frameClasses`.
const classPage = 0;
const classCompressible = 1;
const classIncompressible = 2;

export class CutWorker {
  readonly #send: (message: FromWorker, transfer: ArrayBuffer[]) => void;
  readonly #sessions = new Map<number, WorkerState>();
  /** Of the last small upload. */
  #spare: SpareCutter | null = null;
  #lastPortion = 0;

  constructor(send: (message: FromWorker, transfer: ArrayBuffer[]) => void) {
    this.#send = send;
  }

  handle(message: ToWorker): void {
    switch (message.type) {
      case "open":
        this.#open(message.session);
        return;
      case "cut": {
        const state = this.#sessions.get(message.clientId);
        if (state !== undefined) state.queue = state.queue.then(() => this.#run(state, message.job));
        return;
      }
      case "append":
        this.#append(message.clientId, message.portion, message.appends);
        return;
      case "close":
        this.#close(message.clientId);
    }
  }

  #open(session: WorkerSession): void {
    const { clientId } = session;
    const frameBuffers = new SharedFrameBuffers(sharedFrameBuffers, frameBufferBytes);
    const allocate = (length: number) => frameBuffers.allocate(length);
    const frames = new FrameBuilder(session, allocate, (n, bytes) => {
      const { buffer } = bytes;
      const message = { type: "sealed", clientId, n, bytes, frameId: frameIdOf(bytes) } as const;
      this.#send(message, buffer instanceof ArrayBuffer ? [buffer] : []);
    });
    this.#sessions.set(clientId, {
      session,
      frames,
      texts: new EmbeddedTextCache(textKey(session.contentKey, session.worker)),
      buffers: new FreeBuffers(session.lookahead),
      portions: new Map(),
      cutter: null,
      bytesRead: 0,
      rest: null,
      queue: Promise.resolve(),
    });
  }

  /** Ends a session. A job that waits for a buffer ends too. */
  #close(clientId: number): void {
    const state = this.#sessions.get(clientId);
    if (state === undefined) return;
    state.buffers.close();
    this.#sessions.delete(clientId);
    // Not before its last job has ended, which may still write to the buffers.
    void state.queue.then(() => {
      const { cutter, bytesRead, session } = state;
      const { cutterKey: key, lookahead } = session;
      if (cutter !== null && bytesRead <= mostBytesOfSpare) this.#spare = { cutter, key, lookahead };
    });
  }

  /** The cutter of a session: with its first job it gets the spare one, or a new one. */
  #cutterOf(state: WorkerState): Cutter {
    if (state.cutter !== null) return state.cutter;
    const { cutterKey: key, lookahead } = state.session;
    const spare = this.#spare?.lookahead === lookahead ? this.#spare : null;
    this.#spare = null;
    if (spare !== null && !sameBytes(spare.key, key)) spare.cutter.rekey(key);
    state.cutter = spare?.cutter ?? new Cutter(key, workerBufferBytes, buffersPerUpload(lookahead));
    return state.cutter;
  }

  async #run(state: WorkerState, job: CutJob): Promise<void> {
    const { clientId } = state.session;
    if (!this.#sessions.has(clientId)) return;
    try {
      if (job.kind === "bundle") await this.#cutBundle(state, job.job, job.files);
      else await this.#cutStripe(state, job);
    } catch (error) {
      this.#send({ type: "failed", clientId, job: job.job, message: codeOf(error) }, []);
    }
  }

  async #cutBundle(state: WorkerState, job: number, files: readonly FileRange[]): Promise<void> {
    const { session, texts, buffers } = state;
    const cutter = this.#cutterOf(state);
    const index = await buffers.take("bundle");
    if (index === null) return;
    const buffer = cutter.buffer(index);
    const list = new CutBlocks(512);
    const fileClasses: number[] = [];
    const outcomes: FileOutcome[] = [];
    let at = 0;
    const opened = new LastFile();
    try {
      for (const file of files) {
        const read = readWhole(file, opened, buffer, at);
        const before = list.count;
        const bytes = buffer.subarray(at, at + read.bytes);
        const fileClass = isIncompressible(bytes) ? classIncompressible : classCompressible;
        let cutTo = at;
        const isText = fileClass === classCompressible;
        for (const { from, to } of isText ? embeddedTexts(asBuffer(buffer), at, at + read.bytes) : []) {
          this.#cutBlocks(cutter, index, cutTo, from, list);
          texts.add(buffer.subarray(from, to), list, () => this.#cutBlocks(cutter, index, from, to, list));
          cutTo = to;
        }
        this.#cutBlocks(cutter, index, cutTo, at + read.bytes, list);
        fileClasses.push(fileClass);
        outcomes.push({ ...read, blocks: list.count - before });
        at += read.bytes;
        state.bytesRead += read.bytes;
      }
    } finally {
      opened.close();
    }
    const ids = keyBlockIds(session.blockIdKey, list.digests.subarray(0, list.count * digestLength));
    const hashes = fileHashes(ids, list.lengths, outcomes);
    const segments = list.count === 0 ? new Uint32Array(0) : Uint32Array.of(list.count);
    this.#sendPortion(state, index, {
      job,
      list,
      ids,
      segments,
      classes: blockClasses(fileClasses, outcomes, list.count),
      outcomes,
      hashes,
      last: true,
    });
  }

  async #cutStripe(state: WorkerState, job: StripeJob): Promise<void> {
    const { session, buffers } = state;
    const cutter = this.#cutterOf(state);
    const taken = await buffers.take("stripe");
    if (taken === null) return;
    let index = taken;
    let reader: RangeFile | null = null;
    try {
      reader = openRange(job.file);
      const list = new CutBlocks(2048);
      let sizes = fineBlocks;
      let filled = 0;
      let cutTo = 0;
      for (;;) {
        const buffer = cutter.buffer(index);
        while (filled < buffer.length && !reader.ended) {
          const read = reader.read(buffer.subarray(0, filled + readStepBytes), filled);
          filled += read;
          state.bytesRead += read;
          if (reader.bytesRead === filled && list.count === 0) sizes = blockSizesFor(job, buffer.subarray(0, filled));
          const bufferAt = reader.bytesRead - filled;
          cutTo = this.#cutPortion(cutter, index, job, sizes, bufferAt, cutTo, filled, reader.ended, list);
        }
        const final = reader.ended;
        const ids = keyBlockIds(session.blockIdKey, list.digests.subarray(0, list.count * digestLength));
        const segments = cutSegments(ids, list.lengths, list.count, final, sizes);
        const blocks = segments.reduce((total, count) => total + count, 0);
        const bytes = sum(list.lengths, blocks);
        const classes = new Uint8Array(blocks).fill(stripeClass(job, buffer.subarray(0, filled)));
        const outcomes = final ? [reader.finish()] : [];
        // The bytes of an unfinished segment. The portion is sent before there is another buffer for them, so that it does not wait for one.
        const rest = restOf(state, buffer.subarray(bytes, filled));
        const sent = index;
        index = -1;
        this.#sendPortion(state, sent, {
          job: job.job,
          list,
          ids,
          segments,
          classes,
          outcomes,
          hashes: noHashes,
          last: final,
        });
        if (final) return;
        const next = await buffers.take("stripe");
        if (next === null) return;
        index = next;
        cutter.buffer(index).set(rest);
        list.drop(blocks);
        filled -= bytes;
        cutTo -= bytes;
      }
    } catch (error) {
      this.#sendFailedPortion(session, job.job, codeOf(error));
    } finally {
      if (index >= 0) buffers.release(index);
      reader?.close();
    }
  }

  /** Ends a stripe whose file cannot be read: an empty last portion with the error. */
  #sendFailedPortion(session: WorkerSession, job: number, error: string): void {
    const empty = {
      ids: new Uint8Array(0),
      lengths: new Uint32Array(0),
      zeros: new Uint8Array(0),
      segments: new Uint32Array(0),
      segmentIds: new Uint8Array(0),
      classes: new Uint8Array(0),
      hashes: noHashes,
    };
    const portion = {
      job,
      portion: ++this.#lastPortion,
      ...empty,
      outcomes: [{ blocks: 0, bytes: 0, error, changed: false }],
      last: true,
    };
    this.#send({ type: "portion", clientId: session.clientId, portion }, []);
  }

  /**
   * Cuts [cutTo, filled) of a buffer as far as block ends are certain. `bufferAt` is the offset of the buffer's first
   * byte in the stripe. Returns where the last block ends.
   */
  #cutPortion(
    cutter: Cutter,
    index: number,
    job: StripeJob,
    sizes: BlockSizes,
    bufferAt: number,
    cutTo: number,
    filled: number,
    final: boolean,
    list: CutBlocks,
  ): number {
    if (job.pageLayout === null)
      return this.#push(cutter, index, cutTo, cutter.cut(index, cutTo, filled, final, sizes), list);
    const { pageBytes, phase } = job.pageLayout;
    const position = job.at + bufferAt + cutTo;
    const before = (((position - phase) % pageBytes) + pageBytes) % pageBytes;
    return this.#push(cutter, index, cutTo, cutter.pages(cutTo, filled, pageBytes, before, final), list);
  }

  #cutBlocks(cutter: Cutter, index: number, from: number, to: number, list: CutBlocks): void {
    this.#push(cutter, index, from, cutter.cut(index, from, to, true), list);
  }

  /** Adds blocks with these ends to the list; returns where the last one ends. */
  #push(cutter: Cutter, index: number, from: number, ends: Uint32Array, list: CutBlocks): number {
    list.push(cutter.buffer(index), from, ends, ends.length, (start, end) => cutter.isZero(index, start, end));
    return ends.at(-1) ?? from;
  }

  #sendPortion(state: WorkerState, buffer: number, cut: CutPortion): void {
    const { session } = state;
    const blocks = cut.segments.reduce((total, count) => total + count, 0);
    const portion = ++this.#lastPortion;
    const lengths = cut.list.lengths.slice(0, blocks);
    const starts = new Uint32Array(blocks);
    for (let i = 1; i < blocks; i++) starts[i] = (starts[i - 1] ?? 0) + (lengths[i - 1] ?? 0);
    const ids = new Uint8Array(cut.ids.subarray(0, blocks * blockIdLength));
    // The session was closed while this was cut: there will be no `append`.
    if (!this.#sessions.has(session.clientId)) return;
    const bytes = this.#cutterOf(state).buffer(buffer);
    state.portions.set(portion, { buffer, bytes, starts, lengths, ids });
    const message: Portion = {
      job: cut.job,
      portion,
      ids,
      lengths,
      zeros: cut.list.zeros.slice(0, blocks),
      segments: cut.segments,
      segmentIds: segmentIdsOf(ids, lengths, cut.segments),
      classes: cut.classes,
      outcomes: cut.outcomes,
      hashes: cut.hashes,
      last: cut.last,
    };
    this.#send({ type: "portion", clientId: session.clientId, portion: message }, []);
  }

  #append(clientId: number, number: number, appends: readonly FrameAppend[]): void {
    const state = this.#sessions.get(clientId);
    if (state === undefined) return;
    const portion = state.portions.get(number);
    for (const append of appends) state.frames.append(append, portion ?? noBlocks);
    if (portion === undefined) return;
    state.portions.delete(number);
    state.buffers.release(portion.buffer);
  }
}

/** What a worker keeps of one upload. */
interface WorkerState {
  readonly session: WorkerSession;
  readonly frames: FrameBuilder;
  readonly texts: EmbeddedTextCache;
  readonly buffers: FreeBuffers;
  readonly portions: Map<number, PortionBlocks & { readonly buffer: number }>;
  /** Made with the first job. */
  cutter: Cutter | null;
  bytesRead: number;
  /** Between two buffers: what a portion leaves over. Made with the first stripe of several portions. */
  rest: Buffer | null;
  /** Ends when the last job is cut. */
  queue: Promise<void>;
}

/** A cutter that no upload uses, with the gear table of this key and the buffers of this lookahead. */
interface SpareCutter {
  readonly cutter: Cutter;
  readonly key: Uint8Array;
  readonly lookahead: number;
}

interface CutPortion {
  readonly job: number;
  readonly list: CutBlocks;
  readonly ids: Uint8Array;
  readonly segments: Uint32Array;
  readonly classes: Uint8Array;
  readonly outcomes: readonly FileOutcome[];
  readonly hashes: Uint8Array;
  readonly last: boolean;
}

const noHashes = new Uint8Array(0);

/** A copy of bytes that a portion leaves over: about a segment at most. Valid until the next one. */
function restOf(state: WorkerState, bytes: Uint8Array): Uint8Array {
  if (bytes.length === 0) return bytes;
  state.rest ??= Buffer.allocUnsafeSlow(workerBufferBytes);
  state.rest.set(bytes);
  return state.rest.subarray(0, bytes.length);
}

type StripeJob = CutJob & { readonly kind: "stripe" };

/**
 * Chooses the block sizes by a sample near the file's start, so that a file that grew or changed is cut like before. Only
 * files of a single stripe get coarse blocks: a larger incompressible file may be an encrypted disk, which changes sector
 * by sector.
 */
function blockSizesFor({ file, at, pageLayout }: StripeJob, start: Uint8Array): BlockSizes {
  if (pageLayout !== null || at > 0 || file.length >= stripeBytes) return fineBlocks;
  return isIncompressible(start.subarray(0, sampledStartBytes)) ? coarseBlocks : fineBlocks;
}

function stripeClass({ pageLayout }: StripeJob, bytes: Uint8Array): number {
  if (pageLayout !== null) return classPage;
  return isIncompressible(bytes) ? classIncompressible : classCompressible;
}

/** The class of every block of a bundle: the class of its file. */
function blockClasses(fileClasses: readonly number[], outcomes: readonly FileOutcome[], count: number): Uint8Array {
  const classes = new Uint8Array(count);
  let first = 0;
  for (const [i, { blocks }] of outcomes.entries()) {
    classes.fill(fileClasses[i] ?? classCompressible, first, first + blocks);
    first += blocks;
  }
  return classes;
}

/** The hash of every file of a bundle: computed as if the file were a segment by itself. */
function fileHashes(ids: Uint8Array, lengths: Uint32Array, outcomes: readonly FileOutcome[]): Uint8Array {
  const hashes = Buffer.alloc(outcomes.length * idLength);
  let first = 0;
  for (const [i, { blocks, bytes }] of outcomes.entries()) {
    const own = ids.subarray(first * blockIdLength, (first + blocks) * blockIdLength);
    const segments = blocks === 0 ? [] : [segmentId(own, lengths.subarray(first, first + blocks))];
    hashes.set(fileHash(bytes, segments), i * idLength);
    first += blocks;
  }
  return hashes;
}

/** For `append` messages that only seal. */
const noBlocks: PortionBlocks = {
  bytes: new Uint8Array(0),
  starts: new Uint32Array(0),
  lengths: new Uint32Array(0),
  ids: new Uint8Array(0),
};

function segmentIdsOf(ids: Uint8Array, lengths: Uint32Array, segments: Uint32Array): Uint8Array {
  const all = Buffer.alloc(segments.length * 32);
  let at = 0;
  for (const [index, count] of segments.entries()) {
    const id = segmentId(
      ids.subarray(at * blockIdLength, (at + count) * blockIdLength),
      lengths.subarray(at, at + count),
    );
    all.set(id, index * 32);
    at += count;
  }
  return all;
}

function sum(lengths: Uint32Array, count: number): number {
  let total = 0;
  for (let i = 0; i < count; i++) total += lengths[i] ?? 0;
  return total;
}
