/**
 * Gives segments recipes that name other places of the same blocks: what is left of a damaged frame is read from where it
 * was found. Segment ids do not change, since the blocks do not; blocks that were found nowhere are left where they are.
 */

import type { Item } from "../catalog/catalog.ts";
import { itemFrames } from "../catalog/rules.ts";
import { sameBytes } from "../format/bytes.ts";
import type { Recipe } from "../format/recipe.ts";
import { decodeRecipe, encodeRecipe, framesOf, RecipeBuilder } from "../format/recipe.ts";
import type { SegmentBlocks } from "../restore/resolve-segments.ts";
import { resolveItems } from "../restore/resolve-segments.ts";
import type { Vault } from "../vault.ts";
import { hooksIn } from "./copy-blocks.ts";
import { storedBlocks } from "./repack-plan.ts";
import type { UpkeepSession } from "./upkeep-session.ts";
import { packsUnit, rowsOf, withUpkeepSession } from "./upkeep-session.ts";

/** Segments that get their recipes in one step of the catalog. */
const segmentsPerStep = 1024;

export interface BlockPlace {
  readonly frame: number;
  readonly slot: number;
}

/** By damaged frame and slot: where the same block is intact. */
export type FoundPlaces = Map<number, ReadonlyMap<number, BlockPlace>>;

/** Points segments at what was found. Says which of the frames something still rests on. */
export async function replaceRecipes(vault: Vault, places: FoundPlaces): Promise<readonly number[]> {
  if (places.size === 0) return [];
  let step: Item[] = [];
  const take = async () => {
    const items = step;
    step = [];
    if (items.length > 0)
      await withUpkeepSession(vault, (session) => replaceItemRecipes(vault, session, items, places));
  };
  for await (const item of vault.catalog.allItems()) {
    if (item.kind !== "segment" || !needsAny(item, places)) continue;
    step.push(item);
    if (step.length >= segmentsPerStep) await take();
  }
  await take();
  const needed = new Set<number>();
  for await (const item of vault.catalog.allItems())
    for (const frame of itemFrames(item)) if (places.has(frame)) needed.add(frame);
  return [...needed];
}

type Proved = SegmentBlocks;

async function replaceItemRecipes(
  vault: Vault,
  session: UpkeepSession,
  items: readonly Item[],
  places: FoundPlaces,
): Promise<void> {
  const { catalog, ctx } = vault;
  const wanted = await provedItems(vault, items);
  const recipes = wanted.map(({ item, proved }) => movedRecipe(item, proved, places));
  const frames = [...new Set(recipes.flatMap(framesOf))].filter((frame) => !places.has(frame));
  const answers = await catalog.acquireFrames(session.upload, frames);
  const usable = new Set([...places.keys(), ...frames.filter((_, i) => answers[i] === true)]);
  // Pinned now: a recipe that somebody replaced before, or a slot that was dropped before, shows here.
  const now = await catalog.itemsByOrdinal(wanted.map(({ item }) => item.ordinal));
  const moved = wanted.flatMap(({ item }, i) => {
    const recipe = recipes[i] ?? [];
    const isAsItWas = sameBytes(now[i]?.recipe ?? new Uint8Array(0), item.recipe);
    return isAsItWas && framesOf(recipe).every((frame) => usable.has(frame))
      ? [{ ...item, recipe: encodeRecipe(recipe) }]
      : [];
  });
  const units: Item[] = [];
  for (const { item, proved } of await provedItems(vault, moved)) {
    const { ordinal, id, recipe } = item;
    const record = session.putRecord({ kind: "segment", ordinal, id, recipe, hooks: hooksIn(proved) });
    units.push({ ...item, record });
  }
  if (units.length === 0) return;
  const { packs, header } = await session.settle();
  const unit = { ...packsUnit(session, packs, header), frames: rowsOf(session, packs, new Map()), items: units };
  await catalog.addUnit(session.upload, ctx.now(), unit);
}

/** Those whose recipe gives their id by the block lists. */
async function provedItems(vault: Vault, items: readonly Item[]): Promise<{ item: Item; proved: Proved }[]> {
  const proofs = await resolveItems(vault.catalog, vault.keys.blockIdKey, items);
  return items.flatMap((item, i) => {
    const proved = proofs[i];
    return proved === undefined || typeof proved === "string" ? [] : [{ item, proved }];
  });
}

/** The recipe with the found places in it. */
function movedRecipe(item: Item, { lengths }: Proved, places: FoundPlaces): Recipe {
  const built = new RecipeBuilder();
  let at = 0;
  for (const run of decodeRecipe(item.recipe))
    for (let i = 0; i < run.count; i++) {
      const bytes = lengths[at++] ?? 0;
      if (run.kind === "zeros") built.zeros(bytes);
      else {
        const { frame, slot } = places.get(run.frame)?.get(run.slot + i) ?? { frame: run.frame, slot: run.slot + i };
        built.stored(frame, slot, bytes);
      }
    }
  return built.take();
}

function needsAny({ recipe }: Item, places: FoundPlaces): boolean {
  return storedBlocks(decodeRecipe(recipe)).some(([frame, slot]) => places.get(frame)?.has(slot));
}
