/**
 * The read port of a client: every call is a message of the read protocol, and packs are read by ranges. It knows no HTTP. It remembers which
 * item needs which frame, because the service tells nothing of a frame without one.
 *
 * A caller that knows which paths it will read names them when it opens the port. Then one call (`find`) brings what is on the way to them, and the
 * port answers from that before it asks the service. Places, keys and bytes are given once: who asks a second time has found them wrong.
 */

import type { FrameRow, Item } from "../catalog/catalog.ts";
import { decodeRecipe, framesOf } from "../format/recipe.ts";
import type { Reference } from "../format/tree-entry.ts";
import { joinedCalls } from "../joined-calls.ts";
import type { ByteRange } from "../object-store.ts";
import { LruCache } from "../restore/lru-cache.ts";
import type { FrameKey, ReadKeys, ReadPort, SealedFrame } from "../restore/read-port.ts";
import { decodeFound, encodeFind, type FindRequest, maxPathsPerFind } from "./find-messages.ts";
import { FoundContent } from "./found-content.ts";
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
  /** A restore asks for each group of frames that it has read, and several groups are read at the same time. */
  readonly #askKeys = joinedCalls<SealedFrame, FrameKey | string>(
    async (frames) => {
      const query = frames.map((frame) => this.#needed(frame));
      return decodeKeys(await this.#calls.call("keys", encodeKeyQuery(query)), frames.length);
    },
    (frames) => frames.length <= maxFramesPerRead,
  );
  readonly #found: FoundContent | null;
  readonly #neededBy = new LruCache<number, number>(maxNeededFrames);
  readonly keys: ReadKeys;
  /** Of the snapshot's tree. */
  readonly root: Reference;

  private constructor(calls: ReadCalls, keys: ReadKeys, root: Reference, found: FoundContent | null) {
    this.#calls = calls;
    this.#found = found;
    this.keys = keys;
    this.root = root;
  }

  /** `wanted`: paths that will be read. */
  static async open(calls: ReadCalls, wanted: FindRequest | null = null): Promise<RemoteReadPort> {
    if (wanted === null || wanted.paths.length === 0 || wanted.paths.length > maxPathsPerFind) {
      const { keys, root } = decodeReadStart(await calls.call("open", encodeOpenRead()));
      return new RemoteReadPort(calls, keys, root, null);
    }
    const { start, found } = decodeFound(await calls.call("find", encodeFind(wanted)));
    return new RemoteReadPort(calls, start.keys, start.root, new FoundContent(found));
  }

  async itemsByOrdinal(ordinals: readonly number[]): Promise<readonly (Item | null)[]> {
    const all = await partly(
      ordinals,
      (ordinal) => this.#found?.item(ordinal),
      (missing) =>
        inBatches(missing, maxItemsPerRead, async (batch) =>
          decodeItems(await this.#calls.call("items", encodeItemQuery(batch)), batch),
        ),
    );
    for (const item of all)
      if (item !== null)
        for (const frame of framesOf(decodeRecipe(item.recipe))) this.#neededBy.set(frame, item.ordinal, 1);
    return all;
  }

  async frames(frames: readonly number[]): Promise<readonly (FrameRow | null)[]> {
    return partly(
      frames,
      (frame) => this.#found?.takeFrame(frame),
      (missing) =>
        inBatches(missing, maxFramesPerRead, async (batch) => {
          const query = batch.map((frame) => this.#needed({ frame }));
          return decodeFrames(await this.#calls.call("frames", encodeFrameQuery(query)), batch);
        }),
    );
  }

  async frameKeys(frames: readonly SealedFrame[]): Promise<readonly (FrameKey | string)[]> {
    return partly<SealedFrame, FrameKey | string>(
      frames,
      (frame) => this.#found?.takeKey(frame),
      (missing) => inBatches(missing, maxFramesPerRead, this.#askKeys),
    );
  }

  async readPack(pack: string, range: ByteRange): Promise<Uint8Array> {
    return this.#found?.takeRange(pack, range) ?? this.#calls.readPack(pack, range);
  }

  /** The service verifies content itself. */
  async reportVerified(): Promise<void> {}

  async reportReadable(): Promise<void> {}

  #needed<T extends { readonly frame: number }>(frame: T): T & NeededBy {
    return { ...frame, ordinal: this.#neededBy.get(frame.frame) ?? 0 };
  }
}

/** Takes what `known` has, and asks for the rest. */
async function partly<K, V>(
  all: readonly K[],
  known: (key: K) => V | undefined,
  ask: (missing: readonly K[]) => Promise<readonly V[]>,
): Promise<readonly V[]> {
  const found = all.map(known);
  const missing = all.filter((_, at) => found[at] === undefined);
  if (missing.length === 0) return found as V[];
  const asked = (await ask(missing))[Symbol.iterator]();
  return found.map((value) => value ?? (asked.next().value as V));
}

/** Batches of one question. They are in flight together: none needs the answer of another. */
async function inBatches<K, V>(
  all: readonly K[],
  size: number,
  ask: (batch: readonly K[]) => Promise<readonly V[]>,
): Promise<readonly V[]> {
  const asked: Promise<readonly V[]>[] = [];
  for (let at = 0; at < all.length; at += size) asked.push(ask(all.slice(at, at + size)));
  return (await Promise.all(asked)).flat();
}
