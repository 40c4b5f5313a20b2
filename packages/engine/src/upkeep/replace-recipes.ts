/**
 * Replaces recipes that name a damaged frame. For a block that was found in another frame, the new recipe names that frame.
 * For a block that was not found, it still names the damaged frame. The id of a segment does not change, because its blocks
 * do not.
 */

import type { Item } from "../catalog/catalog.ts";
import { itemFrames } from "../catalog/rules.ts";
import { sameBytes } from "../format/bytes.ts";
import type { Recipe } from "../format/recipe.ts";
import { decodeRecipe, encodeRecipe, framesOf, RecipeBuilder } from "../format/recipe.ts";
import type { SegmentBlocks } from "../restore/resolve-segments.ts";
import { resolveItems } from "../restore/resolve-segments.ts";
import type { Vault } from "../vault.ts";
import { segmentHooks } from "./copy-blocks.ts";
import { storedBlocks } from "./repack-plan.ts";
import type { UpkeepSession } from "./upkeep-session.ts";
import { packsUnit, rowsOf, withUpkeepSession } from "./upkeep-session.ts";

/** Segments whose recipes are replaced in one step of the catalog. */
const segmentsPerBatch = 1024;

export interface BlockLocation {
  readonly frame: number;
  readonly slot: number;
}

/** By damaged frame and slot: another location of the same block. */
export type FoundLocations = Map<number, ReadonlyMap<number, BlockLocation>>;

/** Replaces recipes. Returns the damaged frames that some item still needs. */
export async function replaceRecipes(vault: Vault, locations: FoundLocations): Promise<readonly number[]> {
  if (locations.size === 0) return [];
  let batch: Item[] = [];
  const flush = async () => {
    const items = batch;
    batch = [];
    if (items.length > 0)
      await withUpkeepSession(vault, (session) => replaceItemRecipes(vault, session, items, locations));
  };
  for await (const item of vault.catalog.allItems()) {
    if (item.kind !== "segment" || !needsAny(item, locations)) continue;
    batch.push(item);
    if (batch.length >= segmentsPerBatch) await flush();
  }
  await flush();
  const needed = new Set<number>();
  for await (const item of vault.catalog.allItems())
    for (const frame of itemFrames(item)) if (locations.has(frame)) needed.add(frame);
  return [...needed];
}

async function replaceItemRecipes(
  vault: Vault,
  session: UpkeepSession,
  items: readonly Item[],
  locations: FoundLocations,
): Promise<void> {
  const { catalog, ctx } = vault;
  const wanted = await resolvableItems(vault, items);
  const recipes = wanted.map(({ item, blocks }) => recipeWithLocations(item, blocks, locations));
  const frames = [...new Set(recipes.flatMap(framesOf))].filter((frame) => !locations.has(frame));
  const answers = await catalog.acquireFrames(session.upload, frames);
  const usable = new Set([...locations.keys(), ...frames.filter((_, i) => answers[i] === true)]);
  // The frames are pinned now. A recipe that was replaced, or a slot that was dropped before the pin, is found here.
  const now = await catalog.itemsByOrdinal(wanted.map(({ item }) => item.ordinal));
  const replaced = wanted.flatMap(({ item }, i) => {
    const recipe = recipes[i] ?? [];
    const isUnchanged = sameBytes(now[i]?.recipe ?? new Uint8Array(0), item.recipe);
    return isUnchanged && framesOf(recipe).every((frame) => usable.has(frame))
      ? [{ ...item, recipe: encodeRecipe(recipe) }]
      : [];
  });
  const recorded: Item[] = [];
  for (const { item, blocks } of await resolvableItems(vault, replaced)) {
    const { ordinal, id, recipe } = item;
    const recordFrame = session.putRecord({ kind: "segment", ordinal, id, recipe, hooks: segmentHooks(blocks) });
    recorded.push({ ...item, recordFrame });
  }
  if (recorded.length === 0) return;
  const { packs, header } = await session.flush();
  const unit = { ...packsUnit(session, packs, header), frames: rowsOf(session, packs, new Map()), items: recorded };
  await catalog.addUnit(session.upload, ctx.now(), unit);
}

/** Returns the items whose recipe and block lists give their id, with their blocks. */
async function resolvableItems(vault: Vault, items: readonly Item[]): Promise<{ item: Item; blocks: SegmentBlocks }[]> {
  const resolved = await resolveItems(vault.catalog, vault.keys.blockIdKey, items);
  return items.flatMap((item, i) => {
    const blocks = resolved[i];
    return blocks === undefined || typeof blocks === "string" ? [] : [{ item, blocks }];
  });
}

/** The recipe of an item with the found locations in it. */
function recipeWithLocations(item: Item, { lengths }: SegmentBlocks, locations: FoundLocations): Recipe {
  const built = new RecipeBuilder();
  let at = 0;
  for (const run of decodeRecipe(item.recipe))
    for (let i = 0; i < run.count; i++) {
      const bytes = lengths[at++] ?? 0;
      if (run.kind === "zeros") built.zeros(bytes);
      else {
        const { frame, slot } = locations.get(run.frame)?.get(run.slot + i) ?? { frame: run.frame, slot: run.slot + i };
        built.stored(frame, slot, bytes);
      }
    }
  return built.take();
}

/** Whether the recipe of an item names a block that was found elsewhere. */
function needsAny({ recipe }: Item, locations: FoundLocations): boolean {
  return storedBlocks(decodeRecipe(recipe)).some(([frame, slot]) => locations.get(frame)?.has(slot));
}
