/**
 * Collects sealed frames into packs and sends them. At most `uploads` packs are on their way; whoever produces more
 * waits in `room`. Memory: the open pack and those on their way, each of about the target size.
 */

import type { FrameKind } from "../frames/frame.ts";
import type { SessionHeader } from "../keys/session.ts";
import type { Signer } from "../keys/signing.ts";
import type { PackFrame } from "../packs/pack.ts";
import { PackBuilder } from "../packs/pack.ts";

/** A pack is sent once it reaches its target: the frame that takes it there may be this much too long. */
const slabSlackBytes = 4 * 1024 * 1024;

/** A pack that is durable in the object store. */
export interface DurablePack {
  readonly pack: string;
  readonly size: number;
  readonly frames: readonly PackFrame[];
}

export interface PackLineOptions {
  readonly header: SessionHeader;
  readonly signer: Signer;
  readonly packBytes: number;
  readonly uploads: number;
  random(length: number): Uint8Array;
  put(name: string, chunks: readonly Uint8Array[], size: number): Promise<void>;
}

export class PackLine {
  readonly #options: PackLineOptions;
  readonly #onTheWay = new Set<Promise<void>>();
  readonly #durable: DurablePack[] = [];
  readonly #slabs: Uint8Array[] = [];
  #open: PackBuilder | null = null;
  #failure: unknown = null;
  sentBytes = 0;

  constructor(options: PackLineOptions) {
    this.#options = options;
  }

  /** Bytes in the pack that is being filled. */
  get openBytes(): number {
    return this.#open?.size ?? 0;
  }

  add(kind: FrameKind, frame: number, generation: number, sealed: Uint8Array, frameId?: Uint8Array): void {
    this.#open ??= new PackBuilder(this.#options.random(16), this.#options.header, this.#slab());
    this.#open.add(kind, frame, generation, sealed, frameId);
    if (this.#open.size >= this.#options.packBytes) this.send();
  }

  /** Sends the open pack, whatever its size. */
  send(): void {
    const pack = this.#open;
    if (pack === null) return;
    this.#open = null;
    const { chunks, size } = pack.finish(this.#options.signer);
    const sending = this.#options
      .put(pack.name, chunks, size)
      .then(() => {
        this.#durable.push({ pack: pack.name, size, frames: pack.frames });
        this.sentBytes += size;
      })
      .catch((error: unknown) => {
        this.#failure ??= error;
      })
      .finally(() => {
        this.#onTheWay.delete(sending);
        this.#slabs.push(pack.slab);
      });
    this.#onTheWay.add(sending);
  }

  #slab(): Uint8Array {
    return this.#slabs.pop() ?? Buffer.allocUnsafeSlow(this.#options.packBytes + slabSlackBytes);
  }

  /** Waits until another pack may be started. Throws what an upload failed with. */
  async room(): Promise<void> {
    while (this.#onTheWay.size >= this.#options.uploads) await Promise.race(this.#onTheWay);
    if (this.#failure !== null) throw this.#failure;
  }

  /** Sends everything and waits for it. */
  async drain(): Promise<void> {
    this.send();
    await Promise.all(this.#onTheWay);
    if (this.#failure !== null) throw this.#failure;
  }

  /** The packs that became durable since the last call. */
  takeDurable(): DurablePack[] {
    return this.#durable.splice(0);
  }
}
