/** What the answer of `find` brought, until it is used. */

import type { FrameRow, Item } from "../catalog/catalog.ts";
import type { ByteRange } from "../object-store.ts";
import type { FrameKey, SealedFrame } from "../restore/read-port.ts";
import type { Found, FoundRange } from "./find-messages.ts";

export class FoundContent {
  readonly #items: ReadonlyMap<number, Item>;
  readonly #frames: Map<number, FrameRow>;
  readonly #keys: Map<string, FrameKey>;
  readonly #ranges: FoundRange[];

  constructor({ items, frames, keys, ranges }: Found) {
    this.#items = new Map(items.map((item) => [item.ordinal, item]));
    this.#frames = new Map(frames.map((row) => [row.frame, row]));
    this.#keys = new Map(keys.map(({ key, binding, ...frame }) => [keyName(frame), { key, binding }]));
    this.#ranges = [...ranges];
  }

  /** An item's recipe never changes. */
  item(ordinal: number): Item | undefined {
    return this.#items.get(ordinal);
  }

  takeFrame(frame: number): FrameRow | undefined {
    const row = this.#frames.get(frame);
    this.#frames.delete(frame);
    return row;
  }

  takeKey(frame: SealedFrame): FrameKey | undefined {
    const name = keyName(frame);
    const key = this.#keys.get(name);
    this.#keys.delete(name);
    return key;
  }

  /** A copy: the caller may give it to another thread. */
  takeRange(pack: string, { offset, length }: ByteRange): Uint8Array | undefined {
    const at = this.#ranges.findIndex(
      (range) => range.pack === pack && range.offset <= offset && offset + length <= range.offset + range.bytes.length,
    );
    const [range] = at < 0 ? [] : this.#ranges.splice(at, 1);
    if (range === undefined) return undefined;
    const start = offset - range.offset;
    return new Uint8Array(range.bytes.subarray(start, start + length));
  }
}

function keyName({ frame, generation, session }: Pick<SealedFrame, "frame" | "generation" | "session">): string {
  return `${frame}/${generation}/${session}`;
}
