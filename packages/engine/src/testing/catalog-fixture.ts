/** Rows for the catalog's conformance suite. */

import type { Catalog, FrameRow, Item, SnapshotRow, UploadUnit } from "../catalog/catalog.ts";
import { Bitmap } from "../format/bitmap.ts";
import { encodeBlockList } from "../format/block-list.ts";
import { encodeRecipe } from "../format/recipe.ts";
import { noRetention } from "../format/snapshot.ts";

/** Makes an empty catalog. */
export type MakeCatalog = () => Catalog | Promise<Catalog>;

export const idOf = (n: number) => Buffer.alloc(32, n);
export const frameRow = (frame: number, pack: string, more: Partial<FrameRow> = {}): FrameRow => ({
  frame,
  generation: 0,
  kind: "data",
  pack,
  offset: 0,
  length: 10,
  frameId: Buffer.alloc(32),
  session: 1,
  blockList: encodeBlockList({ ids: Buffer.alloc(16), lengths: Uint32Array.of(5) }),
  recordFrame: 0,
  damaged: false,
  ...more,
});
export const itemRow = (ordinal: number, frame: number, more: Partial<Item> = {}): Item => ({
  ordinal,
  kind: "segment",
  id: idOf(ordinal),
  recipe: encodeRecipe([{ kind: "stored", frame, slot: 0, count: 1, bytes: 5 }]),
  recordFrame: 0,
  next: 0,
  owner: "a",
  verified: false,
  ...more,
});
export const unitOf = (pack: string, frames: FrameRow[], items: Item[]): UploadUnit => ({
  packs: [{ pack, session: 1, size: 100, state: "live" }],
  header: Buffer.from("h"),
  frames,
  items,
  hooks: items.map(({ ordinal }) => [BigInt(ordinal), ordinal]),
  follows: [],
});
export const snapshotOf = (id: string, ordinals: number[], more: Partial<SnapshotRow> = {}): SnapshotRow => {
  const reach = new Bitmap();
  for (const ordinal of ordinals) reach.add(ordinal);
  return {
    id,
    source: "s",
    session: 1,
    startedAt: 1,
    completedAt: 2,
    rootOrdinal: ordinals[0] ?? 0,
    rootId: idOf(1),
    size: 0,
    files: 0,
    warnings: 0,
    storedBytes: 0,
    status: "completed",
    changes: 0,
    retention: noRetention,
    reach: reach.encode(),
    ...more,
  };
};
export const begin = (
  catalog: Catalog,
  upload: string,
  more: { owner?: string; leaseUntil?: number; base?: string | null } = {},
) =>
  catalog.beginUpload({
    upload,
    owner: more.owner ?? "a",
    leaseUntil: more.leaseUntil ?? 1000,
    base: more.base ?? null,
  });

/** A catalog with one committed snapshot "s1": item 1 in frame 10 of pack p1. */
export async function filled(make: MakeCatalog): Promise<Catalog> {
  const catalog = await make();
  await begin(catalog, "u1");
  await catalog.addUnit("u1", 1, unitOf("p1", [frameRow(10, "p1")], [itemRow(1, 10)]));
  await catalog.commit("u1", 1, snapshotOf("s1", [1]));
  return catalog;
}
