/** New segments until they are registered, and units until they are. */

import { sessionOfFrame } from "../format/frame.ts";
import type { Recipe } from "../format/recipe.ts";
import type { DurablePack } from "../packing/pack-uploader.ts";
import type { ClientItem, ClientUnit } from "./upload-target.ts";

export interface PendingSegment {
  readonly item: ClientItem;
  readonly recipe: Recipe;
  readonly frames: readonly number[];
  readonly hooks: readonly bigint[];
  /** The ordinal of the segment before it in the same file; 0 for the first. */
  readonly previous: number;
}

/** A unit between its two halves. */
export interface PreparedUnit {
  /** Null until its metadata is stored, and if there is nothing to register. */
  unit: ClientUnit | null;
  readonly segments: readonly PendingSegment[];
  packs: readonly DurablePack[];
}

/** What a unit says of its segments: which one follows which, and their hooks. */
export function linksOf(segments: readonly PendingSegment[]): Pick<ClientUnit, "follows" | "hooks"> {
  return {
    follows: segments
      .filter(({ previous }) => previous !== 0)
      .map(({ previous, item }) => [previous, item.ordinal] as const),
    hooks: segments.flatMap(({ item, hooks }) => hooks.map((hook) => [hook, item.ordinal] as const)),
  };
}

/** Bytes in registered packs of this session that belong to these segments, which are not registered (`unregistered-packs.ts`). */
export function tornBytes(
  segments: readonly PendingSegment[],
  session: number,
  isRegistered: (frame: number) => boolean,
): number {
  let bytes = 0;
  for (const { recipe } of segments)
    for (const run of recipe)
      if (run.kind === "stored" && sessionOfFrame(run.frame) === session && isRegistered(run.frame)) bytes += run.bytes;
  return bytes;
}
