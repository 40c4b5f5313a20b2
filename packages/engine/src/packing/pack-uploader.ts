/**
 * Sends sealed frames to the store in packs. A pack is on its way from its first frame on, so a frame is in memory only
 * until the store has taken it. Whoever produces more waits in `room`: for the store to take what was given to it, and
 * for packs to become durable, since what is not durable is done again after a crash.
 */

import type { FrameKind } from "../format/frame.ts";
import type { PackFrame } from "../format/pack.ts";
import { PackBuilder } from "../format/pack.ts";
import type { SessionHeader } from "../format/session-header.ts";
import type { Signer } from "../format/signing.ts";
import { giveBack, PackStream } from "./pack-stream.ts";

/** Frames that wait for the store: enough to keep it busy, little enough to be forgotten beside the workers' memory. */
const maxWaitingBytes = 4 * 1024 * 1024;

/** A pack that is durable in the object store. */
export interface DurablePack {
  readonly pack: string;
  readonly size: number;
  readonly frames: readonly PackFrame[];
}

export interface PackUploaderOptions {
  readonly header: SessionHeader;
  readonly signer: Signer;
  /** A pack is complete once it reaches this size. */
  readonly packBytes: number;
  /** How many packs' worth of bytes may be on their way, beside the pack that is being filled. */
  readonly uploads: number;
  random(length: number): Uint8Array;
  /** Stores what the body gives, once it ends; nothing where it fails. */
  put(name: string, body: AsyncIterable<Uint8Array>): Promise<void>;
}

interface OpenPack {
  readonly pack: PackBuilder;
  readonly stream: PackStream;
}

export class PackUploader {
  readonly #options: PackUploaderOptions;
  readonly #onTheWay = new Map<OpenPack, Promise<void>>();
  readonly #durable: DurablePack[] = [];
  #open: OpenPack | null = null;
  #failure: unknown = null;
  #abandoned = false;
  #moved = Promise.withResolvers<void>();
  sentBytes = 0;

  constructor(options: PackUploaderOptions) {
    this.#options = options;
  }

  /** Bytes in the pack that is being filled. */
  get openBytes(): number {
    return this.#open?.pack.size ?? 0;
  }

  /** The frame's memory is the line's from here on. After a failure, which `room` and `drain` tell, it is thrown away. */
  add(kind: FrameKind, frame: number, generation: number, sealed: Uint8Array, frameId?: Uint8Array): void {
    if (this.#failure !== null || this.#abandoned) {
      giveBack(sealed);
      return;
    }
    this.#open ??= this.#start();
    const { pack, stream } = this.#open;
    pack.add(kind, frame, generation, sealed, frameId);
    stream.push(sealed);
    if (pack.size >= this.#options.packBytes) this.send();
  }

  /** Completes the open pack, whatever its size. */
  send(): void {
    if (this.#open === null) return;
    const { pack, stream } = this.#open;
    this.#open = null;
    stream.push(pack.finish(this.#options.signer));
    stream.end();
  }

  #start(): OpenPack {
    const pack = new PackBuilder(this.#options.random(16), this.#options.header);
    const stream = new PackStream(() => this.#move());
    const opened = { pack, stream };
    stream.push(pack.head);
    const sending = this.#options
      .put(pack.name, stream)
      .then(() => {
        if (!stream.isRead) throw new Error("the store answered before it had the whole pack");
        this.#durable.push({ pack: pack.name, size: pack.size, frames: pack.frames });
        this.sentBytes += pack.size;
      })
      .catch((error: unknown) => {
        this.#failure ??= error;
      })
      .finally(() => {
        stream.leave();
        this.#onTheWay.delete(opened);
        this.#move();
      });
    this.#onTheWay.set(opened, sending);
    return opened;
  }

  /** Waits until there is room for more. Throws what an upload failed with. */
  async room(): Promise<void> {
    while (this.#failure === null && this.#isFull()) await this.#moved.promise;
    if (this.#failure !== null) throw this.#failure;
  }

  /** Sends everything and waits for it. */
  async drain(): Promise<void> {
    this.send();
    await Promise.all(this.#onTheWay.values());
    if (this.#failure !== null) throw this.#failure;
  }

  /** The packs that became durable since the last call. */
  takeDurable(): DurablePack[] {
    return this.#durable.splice(0);
  }

  /** Gives up what is on its way and waits until the store has let go of it. Harmless after `drain`. */
  async abandon(): Promise<void> {
    this.#abandoned = true;
    for (const { stream } of this.#onTheWay.keys()) stream.fail(new Error("the upload was given up"));
    await Promise.all(this.#onTheWay.values());
  }

  #isFull(): boolean {
    let waiting = 0;
    let notDurable = 0;
    for (const { pack, stream } of this.#onTheWay.keys()) {
      waiting += stream.waitingBytes;
      notDurable += pack.size;
    }
    return waiting >= maxWaitingBytes || notDurable >= this.#options.packBytes * (this.#options.uploads + 1);
  }

  #move(): void {
    this.#moved.resolve();
    this.#moved = Promise.withResolvers();
  }
}
