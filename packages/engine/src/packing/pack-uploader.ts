/**
 * Fills packs with sealed frames and uploads them to the store. This is the main file of the folder.
 *
 * How blocks become durable:
 *   1. `slot-allocator.ts` gives every new block a frame number and a slot, before any byte is compressed.
 *   2. `frame-builder.ts` (in a cutting worker) or `open-data-frame.ts` (in upkeep) appends the blocks to data frames.
 *   3. `frame-sealer.ts` compresses and encrypts a full frame. `shared-frame-buffers.ts` holds sealed frames of workers.
 *   4. `metadata-writer.ts` does the same for tree nodes, recipes and copies of block lists.
 *   5. `PackUploader` appends sealed frames to a pack. `pack-stream.ts` is the pack's bytes while the store reads them.
 *   6. `unregistered-packs.ts` bounds what is sent and not registered, `small-packs.ts` what waits for a pack to become full.
 *   7. `catalog-rows.ts` makes the rows that register durable packs.
 *
 * The upload of a pack starts with its first frame, so a frame is in memory only until the store has read it. The
 * producer waits in `waitForSpace`: until the store has read enough, and until enough packs are durable. What is not
 * durable is done again after a crash.
 */

import type { FrameKind } from "../format/frame.ts";
import type { PackFrame, PackKind } from "../format/pack.ts";
import { PackBuilder } from "../format/pack.ts";
import type { SessionHeader } from "../format/session-header.ts";
import type { Signer } from "../format/signing.ts";
import { PackStream, releaseChunk } from "./pack-stream.ts";

/** Bytes that wait for the store: enough to keep it busy, and little compared with the memory of the workers. */
const maxWaitingBytes = 4 * 1024 * 1024;

/** A pack that is durable in the object store. */
export interface DurablePack {
  readonly pack: string;
  readonly size: number;
  readonly frames: readonly PackFrame[];
}

export interface PackUploaderOptions {
  readonly kind: PackKind;
  readonly header: SessionHeader;
  readonly signer: Signer;
  /** A pack is complete once it reaches this size. */
  readonly packBytes: number;
  /** How many packs' worth of bytes may be in flight, in addition to the pack that is being filled. */
  readonly packsInFlight: number;
  random(length: number): Uint8Array;
  /** Called when a pack is full; its body ends when this resolves. Without it a body ends at once. */
  mayEnd?(name: string, size: number): Promise<void>;
  /** Called when a pack is durable. */
  onDurable?(): void;
  /** Stores the body when it ends, and nothing if it fails. */
  put(name: string, body: AsyncIterable<Uint8Array>): Promise<void>;
}

interface OpenPack {
  readonly pack: PackBuilder;
  readonly stream: PackStream;
}

export class PackUploader {
  readonly #options: PackUploaderOptions;
  readonly #inFlight = new Map<OpenPack, Promise<void>>();
  readonly #durable: DurablePack[] = [];
  /** Full packs whose bodies may not end yet. */
  readonly #waiting = new Set<PackStream>();
  #open: OpenPack | null = null;
  #failure: unknown = null;
  #abandoned = false;
  #progress = Promise.withResolvers<void>();
  /** Bytes in packs that are durable. */
  storedBytes = 0;
  /** Bytes in packs that are full, durable or not. */
  fullBytes = 0;

  constructor(options: PackUploaderOptions) {
    this.#options = options;
  }

  /** Bytes in the pack that is being filled. */
  get openBytes(): number {
    return this.#open?.pack.size ?? 0;
  }

  /**
   * Adds a frame to the open pack. The uploader owns the frame's memory from here on. After a failure the frame is
   * dropped; `waitForSpace` and `drain` throw the failure.
   */
  add(kind: FrameKind, frame: number, generation: number, sealed: Uint8Array, frameId?: Uint8Array): void {
    if (this.#failure !== null || this.#abandoned) {
      releaseChunk(sealed);
      return;
    }
    this.#open ??= this.#start();
    const { pack, stream } = this.#open;
    pack.add(kind, frame, generation, sealed, frameId);
    stream.push(sealed);
    if (pack.size >= this.#options.packBytes) this.finishPack();
  }

  /** Completes the open pack, whatever its size. Returns its name, or null if no pack is open. */
  finishPack(): string | null {
    if (this.#open === null) return null;
    const { pack, stream } = this.#open;
    this.#open = null;
    this.fullBytes += pack.size;
    const end = () => {
      stream.push(pack.finish(this.#options.signer));
      stream.end();
    };
    if (this.#options.mayEnd === undefined) end();
    else this.#endLater(stream, this.#options.mayEnd(pack.name, pack.size), end);
    return pack.name;
  }

  #endLater(stream: PackStream, permitted: Promise<void>, end: () => void): void {
    this.#waiting.add(stream);
    permitted.then(
      () => this.#waiting.delete(stream) && end(),
      (error: unknown) => this.fail(error),
    );
    // What it waits for does not come any more.
    if (this.#failure !== null) this.fail(this.#failure);
  }

  /** Stores nothing more: packs that wait for their end fail, `waitForSpace` and `drain` throw the error. */
  fail(error: unknown): void {
    this.#failure ??= error;
    for (const stream of this.#waiting) stream.fail(new Error("the upload has failed"));
    this.#waiting.clear();
    this.notify();
  }

  #start(): OpenPack {
    const pack = new PackBuilder(this.#options.kind, this.#options.random(16), this.#options.header);
    const stream = new PackStream(() => this.notify());
    const opened = { pack, stream };
    stream.push(pack.head);
    const uploading = this.#options
      .put(pack.name, stream)
      .then(() => {
        if (!stream.isReadToEnd) throw new Error("the store answered before it had the whole pack");
        this.#durable.push({ pack: pack.name, size: pack.size, frames: pack.frames });
        this.storedBytes += pack.size;
        this.#options.onDurable?.();
      })
      .catch((error: unknown) => this.fail(error))
      .finally(() => {
        stream.close();
        this.#inFlight.delete(opened);
        this.notify();
      });
    this.#inFlight.set(opened, uploading);
    return opened;
  }

  /** Whether the producer must wait before it adds more frames, or the upload of a pack has failed. */
  get isFull(): boolean {
    return this.#failure !== null || this.#hasTooMuch();
  }

  /** Waits until more frames may be added. Throws the error of a failed upload. */
  async waitForSpace(): Promise<void> {
    await this.waitUntil(() => !this.#hasTooMuch());
  }

  /** Waits for something that `notify` is called after. Throws the error of a failed upload. */
  async waitUntil(isSo: () => boolean): Promise<void> {
    while (this.#failure === null && !isSo()) await this.#progress.promise;
    if (this.#failure !== null) throw this.#failure;
  }

  /** Completes the open pack and waits until every pack is durable. */
  async drain(): Promise<void> {
    this.finishPack();
    await Promise.all(this.#inFlight.values());
    if (this.#failure !== null) throw this.#failure;
  }

  /** The packs that became durable since the last call. */
  takeDurable(): DurablePack[] {
    return this.#durable.splice(0);
  }

  /** Fails the uploads in flight and waits until the store has ended them. Does nothing after `drain`. */
  async abandon(): Promise<void> {
    this.#abandoned = true;
    for (const { stream } of this.#inFlight.keys()) stream.fail(new Error("the upload was abandoned"));
    await Promise.all(this.#inFlight.values());
  }

  #hasTooMuch(): boolean {
    let waiting = 0;
    let notDurable = 0;
    for (const { pack, stream } of this.#inFlight.keys()) {
      waiting += stream.waitingBytes;
      notDurable += pack.size;
    }
    return waiting >= maxWaitingBytes || notDurable >= this.#options.packBytes * (this.#options.packsInFlight + 1);
  }

  /** Lets those who wait look again. */
  notify(): void {
    this.#progress.resolve();
    this.#progress = Promise.withResolvers();
  }
}
