/**
 * What a cutting worker does, apart from being a thread: reads jobs into the cutter's memory, cuts and hashes them,
 * offers portions, and builds and seals frames from the blocks it is told to take. Runs in a worker thread
 * (`cut-thread.ts`) or in the pipeline's own thread (tests, tiny backups).
 *
 * Invariants: a buffer is written only while it is free; it is free again when its portion was taken. Frame counters of
 * a session never repeat, so no nonce does.
 */

import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { stripeBytes } from "../backup/bundles.ts";
import { asBuffer } from "../format/bytes.ts";
import { frameIdOf } from "../format/frame.ts";
import { blockIdLength, digestLength, fileHash, idLength, keyBlockIds, segmentId } from "../format/hash.ts";
import type { HeldBlocks } from "../packing/frame-builder.ts";
import { FrameBuilder, frameBufferBytes } from "../packing/frame-builder.ts";
import type { FileStat } from "../source/source.ts";
import { fileStatOf, readFlags, sameFileStat } from "../source/source.ts";
import type { FileOutcome, FileRange, FromWorker, Job, Portion, ToWorker, WorkerSession } from "./cut-messages.ts";
import type { BlockSizes } from "./cutter/cutter.ts";
import { CutBlocks, Cutter, coarseBlocks, cutSegments, fineBlocks } from "./cutter/cutter.ts";
import { isDense } from "./cutter/density.ts";
import { embeddedTexts } from "./cutter/embedded.ts";
import { KnownTexts } from "./cutter/known-texts.ts";
import { maxSegmentBytes } from "./cutter/segment-length.ts";
import { FrameAreas } from "./frame-areas.ts";

/** One buffer: two of the largest segments, so that at least half of each filling is new. */
export const workerBufferBytes = 2 * maxSegmentBytes;

/** Two buffers: one is cut while the other waits to be taken. */
const workerBuffers = 2;

/** Bytes that are read, cut and hashed before more are read: few enough to stay in a core's own cache meanwhile. */
const readStepBytes = 512 * 1024;

/** What is judged of a file to tell how it is cut; a sample from the middle of it. Every large file is longer. */
const judgedBytes = 64 * 1024;

/** One frame is sealed while others are on their way to the store. */
const frameAreaCount = 3;

const classPage = 0;
const classText = 1;
const classDense = 2;

export class CutWorker {
  readonly #send: (message: FromWorker, transfer: ArrayBuffer[]) => void;
  readonly #sessions = new Map<number, OpenSession>();
  readonly #free: number[] = [];
  readonly #held = new Map<number, HeldBlocks & { readonly buffer: number; readonly route: number }>();
  readonly #waiting: (() => void)[] = [];
  readonly #outbox = new FrameAreas(frameAreaCount, frameBufferBytes);
  #cutter: Cutter | null = null;
  #cutterOf = -1;
  #portions = 0;
  #queue: Promise<void> = Promise.resolve();

  constructor(send: (message: FromWorker, transfer: ArrayBuffer[]) => void) {
    this.#send = send;
    for (let i = 0; i < workerBuffers; i++) this.#free.push(i);
  }

  handle(message: ToWorker): void {
    switch (message.type) {
      case "open":
        this.#open(message.session);
        return;
      case "cut":
        this.#queue = this.#queue.then(() => this.#run(message.route, message.job));
        return;
      case "take":
        this.#take(message.route, message.portion, message.ops);
        return;
      case "close":
        this.#sessions.delete(message.route);
        for (const [portion, held] of this.#held) if (held.route === message.route) this.#release(portion, held.buffer);
    }
  }

  #open(session: WorkerSession): void {
    const { route } = session;
    const room = (length: number) => this.#outbox.room(length);
    const shop = new FrameBuilder(session, room, (n, bytes) => {
      const { buffer } = bytes;
      const message = { type: "sealed", route, n, bytes, frameId: frameIdOf(bytes) } as const;
      this.#send(message, buffer instanceof ArrayBuffer ? [buffer] : []);
    });
    this.#sessions.set(route, { session, shop, texts: new KnownTexts(session.key) });
  }

  async #run(route: number, job: Job): Promise<void> {
    const known = this.#sessions.get(route);
    if (known === undefined) return;
    try {
      if (job.kind === "bundle") await this.#bundle(known, job.job, job.files);
      else await this.#stripe(known.session, job);
    } catch (error) {
      this.#send({ type: "failed", route, job: job.job, message: codeOf(error) }, []);
    }
  }

  async #bundle({ session, texts }: OpenSession, job: number, files: readonly FileRange[]): Promise<void> {
    const cutter = this.#cutterFor(session);
    const index = await this.#freeBuffer();
    const buffer = cutter.buffer(index);
    const list = new CutBlocks(512);
    const kinds: number[] = [];
    const outcomes: FileOutcome[] = [];
    let at = 0;
    for (const file of files) {
      const read = readWhole(file, buffer, at);
      const before = list.count;
      const kind = isDense(buffer.subarray(at, at + read.bytes)) ? classDense : classText;
      let cutTo = at;
      for (const { from, to } of kind === classDense ? [] : embeddedTexts(asBuffer(buffer), at, at + read.bytes)) {
        this.#cutBlocks(cutter, index, cutTo, from, list);
        texts.add(buffer.subarray(from, to), list, () => this.#cutBlocks(cutter, index, from, to, list));
        cutTo = to;
      }
      this.#cutBlocks(cutter, index, cutTo, at + read.bytes, list);
      kinds.push(kind);
      outcomes.push({ ...read, blocks: list.count - before });
      at += read.bytes;
    }
    const ids = keyBlockIds(session.blockIdKey, list.digests.subarray(0, list.count * digestLength));
    const hashes = partHashes(ids, list.lengths, outcomes);
    const segments = list.count === 0 ? new Uint32Array(0) : Uint32Array.of(list.count);
    this.#offer(session, index, {
      job,
      list,
      ids,
      segments,
      classes: classesOf(kinds, outcomes, list.count),
      outcomes,
      hashes,
      last: true,
    });
  }

  async #stripe(session: WorkerSession, job: Job & { kind: "stripe" }): Promise<void> {
    const cutter = this.#cutterFor(session);
    let index = await this.#freeBuffer();
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
          filled += reader.read(buffer.subarray(0, filled + readStepBytes), filled);
          if (reader.done === filled && list.count === 0) sizes = sizesFor(job, buffer.subarray(0, filled));
          cutTo = this.#cutPortion(cutter, index, job, sizes, reader.done - filled, cutTo, filled, reader.ended, list);
        }
        const final = reader.ended;
        const ids = keyBlockIds(session.blockIdKey, list.digests.subarray(0, list.count * digestLength));
        const segments = cutSegments(ids, list.lengths, list.count, final, sizes);
        const blocks = segments.reduce((total, count) => total + count, 0);
        const bytes = sum(list.lengths, blocks);
        const kind = job.shape !== null ? classPage : isDense(buffer.subarray(0, filled)) ? classDense : classText;
        const classes = new Uint8Array(blocks).fill(kind);
        const outcomes = final ? [reader.finish()] : [];
        const next = final ? -1 : await this.#freeBuffer();
        if (!final) cutter.buffer(next).set(buffer.subarray(bytes, filled));
        const offered = index;
        index = next;
        this.#offer(session, offered, {
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
        list.drop(blocks);
        filled -= bytes;
        cutTo -= bytes;
      }
    } catch (error) {
      this.#offerFailure(session, job.job, codeOf(error));
    } finally {
      if (index >= 0) this.#release(0, index);
      reader?.close();
    }
  }

  /** Ends a job whose file cannot be read: an empty last portion that says why. */
  #offerFailure(session: WorkerSession, job: number, error: string): void {
    const nothing = {
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
      portion: ++this.#portions,
      ...nothing,
      outcomes: [{ blocks: 0, bytes: 0, error, changed: false }],
      last: true,
    };
    this.#send({ type: "portion", route: session.route, portion }, []);
  }

  /** Cuts what can be decided of [cutTo, filled); `bufferAt` is the stripe offset of the buffer's first byte. */
  #cutPortion(
    cutter: Cutter,
    index: number,
    job: Job & { kind: "stripe" },
    sizes: BlockSizes,
    bufferAt: number,
    cutTo: number,
    filled: number,
    final: boolean,
    list: CutBlocks,
  ): number {
    if (job.shape === null)
      return this.#push(cutter, index, cutTo, cutter.cut(index, cutTo, filled, final, sizes), list);
    const { pageBytes, phase } = job.shape;
    const position = job.at + bufferAt + cutTo;
    const beyond = (((position - phase) % pageBytes) + pageBytes) % pageBytes;
    return this.#push(cutter, index, cutTo, cutter.pages(cutTo, filled, pageBytes, beyond, final), list);
  }

  #cutBlocks(cutter: Cutter, index: number, from: number, to: number, list: CutBlocks): void {
    this.#push(cutter, index, from, cutter.cut(index, from, to, true), list);
  }

  /** Adds blocks to the list; returns where the last one ends. */
  #push(cutter: Cutter, index: number, from: number, ends: Uint32Array, list: CutBlocks): number {
    list.push(cutter.buffer(index), from, ends, ends.length, (start, end) => cutter.isZero(index, start, end));
    return ends.at(-1) ?? from;
  }

  #offer(session: WorkerSession, buffer: number, cut: Cut): void {
    const blocks = cut.segments.reduce((total, count) => total + count, 0);
    const portion = ++this.#portions;
    const lengths = cut.list.lengths.slice(0, blocks);
    const starts = new Uint32Array(blocks);
    for (let i = 1; i < blocks; i++) starts[i] = (starts[i - 1] ?? 0) + (lengths[i - 1] ?? 0);
    const ids = new Uint8Array(cut.ids.subarray(0, blocks * blockIdLength));
    const bytes = this.#cutterFor(session).buffer(buffer);
    this.#held.set(portion, { route: session.route, buffer, bytes, starts, lengths, ids });
    // The session may have been closed while this was cut: nobody will take it.
    if (!this.#sessions.has(session.route)) {
      this.#release(portion, buffer);
      return;
    }
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
    this.#send({ type: "portion", route: session.route, portion: message }, []);
  }

  #take(route: number, portion: number, ops: (ToWorker & { type: "take" })["ops"]): void {
    const held = this.#held.get(portion);
    const shop = this.#sessions.get(route)?.shop;
    for (const op of ops) shop?.take(op, held ?? nothingHeld);
    if (held !== undefined) this.#release(portion, held.buffer);
  }

  #release(portion: number, buffer: number): void {
    this.#held.delete(portion);
    this.#free.push(buffer);
    this.#waiting.shift()?.();
  }

  async #freeBuffer(): Promise<number> {
    for (;;) {
      const index = this.#free.pop();
      if (index !== undefined) return index;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  #cutterFor(session: WorkerSession): Cutter {
    if (this.#cutter === null) this.#cutter = new Cutter(session.cutterKey, workerBufferBytes, workerBuffers);
    else if (this.#cutterOf !== session.route) this.#cutter.rekey(session.cutterKey);
    this.#cutterOf = session.route;
    return this.#cutter;
  }
}

interface OpenSession {
  readonly session: WorkerSession;
  readonly shop: FrameBuilder;
  readonly texts: KnownTexts;
}

interface Cut {
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

/**
 * Decided at one place near the beginning: a file that grew or changed must be cut as it was before. Only files of a
 * single stripe are cut coarsely: what is dense and larger may be an encrypted disk, which changes sector by sector.
 */
function sizesFor({ file, at, shape }: Job & { kind: "stripe" }, start: Uint8Array): BlockSizes {
  if (shape !== null || at > 0 || file.length >= stripeBytes) return fineBlocks;
  return isDense(start.subarray(0, judgedBytes)) ? coarseBlocks : fineBlocks;
}

/** The class of every block of a bundle: that of its file. */
function classesOf(kinds: readonly number[], outcomes: readonly FileOutcome[], count: number): Uint8Array {
  const classes = new Uint8Array(count);
  let first = 0;
  for (const [i, { blocks }] of outcomes.entries()) {
    classes.fill(kinds[i] ?? classText, first, first + blocks);
    first += blocks;
  }
  return classes;
}

/** The hash of every file of a bundle: each is one segment of its own as far as its hash goes. */
function partHashes(ids: Uint8Array, lengths: Uint32Array, outcomes: readonly FileOutcome[]): Uint8Array {
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

/** For `take` messages that only seal. */
const nothingHeld: HeldBlocks = {
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

function readWhole(file: FileRange, into: Uint8Array, at: number): Omit<FileOutcome, "blocks"> {
  let reader: RangeFile;
  try {
    reader = openRange(file);
  } catch (error) {
    return { bytes: 0, error: codeOf(error), changed: false };
  }
  try {
    let bytes = 0;
    while (!reader.ended) bytes += reader.read(into, at + bytes);
    const { changed } = reader.finish();
    return { bytes, error: null, changed };
  } catch (error) {
    return { bytes: 0, error: codeOf(error), changed: false };
  } finally {
    reader.close();
  }
}

interface RangeFile {
  /** Bytes read so far. */
  readonly done: number;
  /** Whether everything asked for, or everything there is, was read. */
  readonly ended: boolean;
  read(into: Uint8Array, at: number): number;
  finish(): FileOutcome;
  close(): void;
}

/** A part of a file. Reads what was planned and no more: a file that grows meanwhile ends where the plan says. */
function openRange(file: FileRange): RangeFile {
  const { fd, sight } = openFile(file.path);
  const seen = file.seen ?? sight;
  const replaced = !sameFileStat(seen, sight);
  let done = 0;
  let short = false;
  return {
    get done() {
      return done;
    },
    get ended() {
      return short || done >= file.length;
    },
    read(into, at) {
      const start = done;
      let room = Math.min(into.length - at, file.length - done);
      while (room > 0) {
        const count = readSync(fd, into, at + done - start, room, file.offset + done);
        if (count === 0) {
          short = true;
          break;
        }
        done += count;
        room -= count;
      }
      return done - start;
    },
    finish: () => ({
      blocks: 0,
      bytes: done,
      error: null,
      changed: replaced || short || !sameFileStat(seen, fileStatOf(fstatSync(fd, { bigint: true }))),
    }),
    close: () => closeSync(fd),
  };
}

function openFile(path: Uint8Array): { fd: number; sight: FileStat } {
  const fd = openSync(asBuffer(path), readFlags);
  try {
    const stat = fstatSync(fd, { bigint: true });
    if (!stat.isFile()) throw new Error("special_file");
    return { fd, sight: fileStatOf(stat) };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

function sum(lengths: Uint32Array, count: number): number {
  let total = 0;
  for (let i = 0; i < count; i++) total += lengths[i] ?? 0;
  return total;
}

function codeOf(error: unknown): string {
  if (error instanceof Error && "code" in error && typeof error.code === "string") return error.code;
  return error instanceof Error ? error.message : String(error);
}
