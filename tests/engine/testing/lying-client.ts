/** Stores what a lying client could store: frames whose blocks do not match their block lists. */

import type { FrameRow, Item } from "../../../packages/engine/src/catalog/catalog.ts";
import type { BlockList } from "../../../packages/engine/src/format/block-list.ts";
import { ByteWriter } from "../../../packages/engine/src/format/bytes.ts";
import type { Run } from "../../../packages/engine/src/format/recipe.ts";
import { decodeRecipe, encodeRecipe } from "../../../packages/engine/src/format/recipe.ts";
import { appendBlockList } from "../../../packages/engine/src/packing/open-data-frame.ts";
import { allFrameRows } from "../../../packages/engine/src/testing/catalog-content.ts";
import type { TestEnvironment } from "../../../packages/engine/src/testing/test-environment.ts";
import { seededBytes } from "../../../packages/engine/src/testing/test-environment.ts";
import { putBlockList } from "../../../packages/engine/src/upkeep/copy-blocks.ts";
import { packsUnit, rowsOf, withUpkeepSession } from "../../../packages/engine/src/upkeep/upkeep-session.ts";

export async function dataFrames(env: TestEnvironment): Promise<FrameRow[]> {
  const rows: FrameRow[] = [];
  for await (const row of allFrameRows(env.vault.catalog)) if (row.kind === "data") rows.push(row);
  return rows;
}

/** Registers a frame whose blocks do not match its block list. Returns its number. */
export async function storeFalseFrame(
  env: TestEnvironment,
  blockList: BlockList,
  itemOf?: (frame: number) => Item,
): Promise<number> {
  const { vault, ctx } = env;
  return withUpkeepSession(vault, async (session) => {
    const frame = session.nextFrame();
    const bytes = seededBytes(72);
    const plain = new ByteWriter(1 << 16);
    for (const length of blockList.lengths) plain.raw(bytes(length));
    const records = new Map([[frame, { recordFrame: putBlockList(session, frame, 0, blockList), blockList }]]);
    // Not by `sealData`: upkeep checks what it seals.
    appendBlockList(plain, blockList);
    session.putFrame("data", frame, 0, plain.view(), "none");
    const { packs, header } = await session.flush();
    const frames = rowsOf(session, packs, records);
    const items = itemOf === undefined ? [] : [itemOf(frame)];
    await vault.catalog.addUnit(session.upload, ctx.now(), { ...packsUnit(session, packs, header), frames, items });
    return frame;
  });
}

/** Replaces the recipe of every segment. */
export async function replaceAllRecipes(
  env: TestEnvironment,
  move: (run: Run & { kind: "stored" }) => Run,
): Promise<void> {
  const items: Item[] = [];
  for await (const item of env.vault.catalog.allItems()) {
    if (item.kind !== "segment") continue;
    const moved = decodeRecipe(item.recipe).map((run) => (run.kind === "stored" ? move(run) : run));
    items.push({ ...item, recipe: encodeRecipe(moved) });
  }
  const nothing = { packs: [], header: Buffer.alloc(0), frames: [], hooks: [], follows: [] };
  await env.vault.catalog.addRebuilt({ unit: { ...nothing, items } });
}
