/**
 * The service's side of the read protocol. A client reads one snapshot: it is told only of items that the snapshot reaches, and of a
 * frame, its place or its key, only together with such an item whose recipe names the frame. The request says which item that is, so
 * nothing has to be remembered between calls.
 */

import { decodeRecipe, framesOf } from "../format/recipe.ts";
import { findContent } from "./answer-find.ts";
import { decodeFind, encodeFound } from "./find-messages.ts";
import {
  decodeFrameQuery,
  decodeItemQuery,
  decodeKeyQuery,
  decodeOpenRead,
  encodeFrames,
  encodeItems,
  encodeKeys,
  encodeReadStart,
  type NeededBy,
  type ReadOperation,
} from "./read-messages.ts";
import type { ReadableItems } from "./readable-items.ts";

/** Answers a request. Rejects with `FormatError` for a request that cannot be read. */
export async function answerRead(from: ReadableItems, operation: ReadOperation, request: Uint8Array): Promise<Buffer> {
  const { port, root } = from;
  switch (operation) {
    case "open":
      decodeOpenRead(request);
      return encodeReadStart({ keys: port.keys, root });
    case "find":
      return encodeFound({ keys: port.keys, root }, await findContent(from, decodeFind(request)));
    case "items":
      return encodeItems(await reachedItems(from, decodeItemQuery(request)));
    case "frames": {
      const query = decodeFrameQuery(request);
      const isNeeded = await neededFrames(from, query);
      const rows = await port.frames(query.map(({ frame }) => frame));
      return encodeFrames(rows.map((row, at) => (isNeeded[at] === true ? row : null)));
    }
    case "keys": {
      const query = decodeKeyQuery(request);
      const isNeeded = await neededFrames(from, query);
      const allowed = query.filter((_, at) => isNeeded[at] === true);
      const keys = allowed.length === 0 ? [] : await port.frameKeys(allowed);
      let at = 0;
      return encodeKeys(isNeeded.map((needed) => (needed ? (keys[at++] ?? notNeeded) : notNeeded)));
    }
  }
}

const notNeeded = "no item of the snapshot needs it";

async function reachedItems({ port, reach }: ReadableItems, ordinals: readonly number[]) {
  const asked = ordinals.filter((ordinal) => reach.has(ordinal));
  const found = new Map((await port.itemsByOrdinal(asked)).map((item, at) => [asked[at], item]));
  return ordinals.map((ordinal) => found.get(ordinal) ?? null);
}

/** For each frame, whether the snapshot reaches the item that is named with it, and its recipe names the frame. */
async function neededFrames(from: ReadableItems, frames: readonly NeededBy[]): Promise<readonly boolean[]> {
  const ordinals = [...new Set(frames.map(({ ordinal }) => ordinal))];
  const items = await reachedItems(from, ordinals);
  const framesByOrdinal = new Map(
    items.map((item, at) => [ordinals[at], new Set(item === null ? [] : framesOf(decodeRecipe(item.recipe)))]),
  );
  return frames.map(({ frame, ordinal }) => framesByOrdinal.get(ordinal)?.has(frame) === true);
}
