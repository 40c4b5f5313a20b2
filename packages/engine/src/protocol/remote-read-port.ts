/**
 * The read port of a client: every call is a message of the read protocol, and packs are read by ranges. It knows no HTTP. It remembers which
 * item needs which frame, because the service tells nothing of a frame without one.
 */

import type { FrameRow, Item } from "../catalog/catalog.ts";
import { decodeRecipe, framesOf } from "../format/recipe.ts";
import type { Reference } from "../format/tree-entry.ts";
import type { ByteRange } from "../object-store.ts";
import { LruCache } from "../restore/lru-cache.ts";
import type { FrameKey, ReadKeys, ReadPort, SealedFrame } from "../restore/read-port.ts";
import {
  decodeFrames,
  decodeItems,
  decodeKeys,
  decodeReadStart,
  encodeFrameQuery,
  encodeItemQuery,
  encodeKeyQuery,
  encodeOpenRead,
  maxFramesPerRead,
  maxItemsPerRead,
  type NeededBy,
  type ReadOperation,
} from "./read-messages.ts";

/** How a client reaches the service. Both repeat a call whose answer is lost. */
export interface ReadCalls {
  /** Sends a request and returns the answer. */
  readonly call: (operation: ReadOperation, request: Uint8Array) => Promise<Uint8Array>;
  /** Reads a range of a pack. Rejects like `ObjectStore.get`. */
  readonly readPack: (pack: string, range: ByteRange) => Promise<Uint8Array>;
}

/** Frames whose item is remembered: those of the windows that a restore has planned. */
const maxNeededFrames = 500_000;

export class RemoteReadPort implements ReadPort {
  readonly #calls: ReadCalls;
  readonly #neededBy = new LruCache<number, number>(maxNeededFrames);
  readonly keys: ReadKeys;
  /** Of the snapshot's tree. */
  readonly root: Reference;

  private constructor(calls: ReadCalls, keys: ReadKeys, root: Reference) {
    this.#calls = calls;
    this.keys = keys;
    this.root = root;
  }

  static async open(calls: ReadCalls): Promise<RemoteReadPort> {
    const { keys, root } = decodeReadStart(await calls.call("open", encodeOpenRead()));
    return new RemoteReadPort(calls, keys, root);
  }

  async itemsByOrdinal(ordinals: readonly number[]): Promise<readonly (Item | null)[]> {
    const all: (Item | null)[] = [];
    for (const batch of batches(ordinals, maxItemsPerRead))
      all.push(...decodeItems(await this.#calls.call("items", encodeItemQuery(batch)), batch));
    for (const item of all)
      if (item !== null)
        for (const frame of framesOf(decodeRecipe(item.recipe))) this.#neededBy.set(frame, item.ordinal, 1);
    return all;
  }

  async frames(frames: readonly number[]): Promise<readonly (FrameRow | null)[]> {
    const all: (FrameRow | null)[] = [];
    for (const batch of batches(frames, maxFramesPerRead)) {
      const query = batch.map((frame) => this.#needed({ frame }));
      all.push(...decodeFrames(await this.#calls.call("frames", encodeFrameQuery(query)), batch));
    }
    return all;
  }

  async frameKeys(frames: readonly SealedFrame[]): Promise<readonly (FrameKey | string)[]> {
    const all: (FrameKey | string)[] = [];
    for (const batch of batches(frames, maxFramesPerRead)) {
      const query = batch.map((frame) => this.#needed(frame));
      all.push(...decodeKeys(await this.#calls.call("keys", encodeKeyQuery(query)), batch.length));
    }
    return all;
  }

  readPack(pack: string, range: ByteRange): Promise<Uint8Array> {
    return this.#calls.readPack(pack, range);
  }

  /** The service verifies content itself. */
  async reportVerified(): Promise<void> {}

  async reportReadable(): Promise<void> {}

  #needed<T extends { readonly frame: number }>(frame: T): T & NeededBy {
    return { ...frame, ordinal: this.#neededBy.get(frame.frame) ?? 0 };
  }
}

function* batches<T>(all: readonly T[], size: number): Generator<readonly T[]> {
  for (let at = 0; at < all.length; at += size) yield all.slice(at, at + size);
}
