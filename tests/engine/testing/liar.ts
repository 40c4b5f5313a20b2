/** What a lying client could have stored: frames that are not what their directories say. */

import { ByteWriter } from "../../../packages/engine/src/bytes.ts";
import type { FrameDirectory } from "../../../packages/engine/src/frames/directory.ts";
import type { FrameRow, Item } from "../../../packages/engine/src/index/port.ts";
import type { Run } from "../../../packages/engine/src/recipes.ts";
import { decodeRecipe, encodeRecipe } from "../../../packages/engine/src/recipes.ts";
import type { Lab } from "../../../packages/engine/src/testing/lab.ts";
import { seededBytes } from "../../../packages/engine/src/testing/lab.ts";
import { putDirectory, sealData } from "../../../packages/engine/src/upkeep/laid-frames.ts";
import { packsUnit, rowsOf, withRewriteSession } from "../../../packages/engine/src/upkeep/rewrite-session.ts";

export async function dataFrames(lab: Lab): Promise<FrameRow[]> {
  const rows: FrameRow[] = [];
  for await (const row of lab.vault.index.allFrames()) if (row.kind === "data") rows.push(row);
  return rows;
}

/** A frame whose directory says one thing and whose blocks are another. Returns its number. */
export async function plant(lab: Lab, directory: FrameDirectory, itemOf?: (frame: number) => Item): Promise<number> {
  const { vault, ctx } = lab;
  return withRewriteSession(vault, async (session) => {
    const frame = session.nextFrame();
    const bytes = seededBytes(72);
    const plain = new ByteWriter(1 << 16);
    for (const length of directory.lengths) plain.raw(bytes(length));
    const records = new Map([[frame, { record: putDirectory(session, frame, 0, directory), directory }]]);
    sealData(session, frame, 0, plain, directory);
    const { packs, header } = await session.settle();
    const frames = rowsOf(session, packs, records);
    const items = itemOf === undefined ? [] : [itemOf(frame)];
    await vault.index.addUnit(session.upload, ctx.now(), { ...packsUnit(session, packs, header), frames, items });
    return frame;
  });
}

/** Gives every segment another recipe. */
export async function repointAll(lab: Lab, move: (run: Run & { kind: "stored" }) => Run): Promise<void> {
  const items: Item[] = [];
  for await (const item of lab.vault.index.allItems()) {
    if (item.kind !== "segment") continue;
    const moved = decodeRecipe(item.recipe).map((run) => (run.kind === "stored" ? move(run) : run));
    items.push({ ...item, recipe: encodeRecipe(moved) });
  }
  const nothing = { packs: [], header: Buffer.alloc(0), frames: [], hooks: [], follows: [] };
  await lab.vault.index.restore({ unit: { ...nothing, items } });
}
