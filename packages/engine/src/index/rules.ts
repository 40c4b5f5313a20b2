/** What the implementations of the index agree on, as pure functions. */

import { decodeRecipe, framesOf } from "../recipes.ts";
import type { Item } from "./port.ts";

/** The frames that an item's bytes are in. */
export function itemFrames(item: Item): number[] {
  return framesOf(decodeRecipe(item.recipe));
}

/** The frames that an item cannot do without: its bytes, and the record from which rebuild would find it. */
export function restingOn(item: Item): number[] {
  const frames = itemFrames(item);
  return item.record === 0 || frames.includes(item.record) ? frames : [...frames, item.record];
}
