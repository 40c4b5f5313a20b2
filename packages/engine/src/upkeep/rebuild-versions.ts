/**
 * Chooses the version of each frame that a rebuild registers.
 *
 * A frame has several versions in the store if a repack or a heal was interrupted before its step of the catalog, or if the
 * pack with the old version could not be deleted. No version need have all slots of another one: an interrupted repack has
 * dropped slots that a later backup needed, and a later repack has kept them and dropped others. The version that the catalog
 * had holds everything that the snapshots need, so the version with most of it is chosen. Of versions that have equally much
 * of it, an intact one is chosen: prune deletes the others. Then the one with more filled slots, because a snapshot may be
 * hidden; then the one with the higher generation.
 * A slot is *filled* if it has a block, and *empty* if it was dropped.
 */

import { Bitmap } from "../format/bitmap.ts";
import { decodeBlockList, maxSlots } from "../format/block-list.ts";
import { sessionOfFrame } from "../format/frame.ts";
import type { MetadataItem } from "../format/metadata-items.ts";
import type { Recipe, Run } from "../format/recipe.ts";
import { decodeRecipe } from "../format/recipe.ts";
import type { ReservedOrdinals } from "./rebuild-ordinals.ts";
import type { StoredFrame, StoredPacks, VersionContent } from "./rebuild-packs.ts";

type VersionName = Pick<StoredFrame, "frame" | "generation" | "session">;

/** A session writes a frame once, so these three name a version. */
function versionKey({ frame, generation, session }: VersionName): string {
  return `${frame} ${generation} ${session}`;
}

/** The slots of the versions of data frames. A record is in a metadata frame of the session that wrote its version. */
export class KnownSlots {
  readonly #filled = new Map<string, number>();
  /** Only versions with empty slots, which are few. */
  readonly #empty = new Map<string, Bitmap>();

  add(item: MetadataItem & { kind: "blockList" }, recordFrame: number): void {
    const key = versionKey({ ...item, session: sessionOfFrame(recordFrame) });
    const { lengths } = decodeBlockList(item.blockList);
    const empty = new Bitmap(new Uint32Array(1));
    for (const [slot, length] of lengths.entries()) if (length === 0) empty.add(slot);
    this.#filled.set(key, lengths.length - empty.size);
    if (empty.size > 0) this.#empty.set(key, empty);
  }

  filled(version: VersionName): number {
    return this.#filled.get(versionKey(version)) ?? 0;
  }

  /** Whether a version has a block in this slot. A version without a record counts as full. */
  has(version: VersionName, slot: number): boolean {
    return this.#empty.get(versionKey(version))?.has(slot) !== true;
  }

  /** How many blocks of a recipe are in none of the versions of their frames. */
  countMissing(recipe: Recipe, versionsOf: (frame: number) => readonly VersionName[]): number {
    let missing = this.countDropped(recipe, versionsOf);
    for (const run of recipe) if (run.kind === "stored" && versionsOf(run.frame).length === 0) missing += run.count;
    return missing;
  }

  /** How many blocks of a recipe every version of their frame has dropped. Frames without a version do not count. */
  countDropped(recipe: Recipe, versionsOf: (frame: number) => readonly VersionName[]): number {
    let dropped = 0;
    for (const run of recipe) {
      if (run.kind !== "stored") continue;
      const versions = versionsOf(run.frame);
      if (versions.length > 0 && versions.every((version) => this.#empty.has(versionKey(version))))
        for (let i = 0; i < run.count; i++) if (!versions.some((each) => this.has(each, run.slot + i))) dropped++;
    }
    return dropped;
  }
}

interface Needs {
  readonly packs: StoredPacks;
  readonly slots: KnownSlots;
  readonly live: Bitmap;
  readonly reserved: ReservedOrdinals;
}

type StoredRun = Extract<Run, { kind: "stored" }>;

/**
 * Chooses a version of every frame. `live` has the ordinals that the snapshots reach; `reserved` says which session may record
 * which ordinal.
 */
export async function chooseVersions(
  packs: StoredPacks,
  slots: KnownSlots,
  live: Bitmap,
  reserved: ReservedOrdinals,
): Promise<void> {
  const several = packs.framesWithSeveralVersions();
  const metadata = new Map<string, VersionContent>();
  const needed = new Map<number, Bitmap>();
  if (several.size > 0)
    for (const { frame, slot, count } of await readNeeds({ packs, slots, live, reserved }, several, metadata)) {
      const ofFrame = needed.get(frame) ?? new Bitmap();
      needed.set(frame, ofFrame);
      // A writer may name slots that no frame can have.
      for (let i = slot; i < Math.min(slot + count, maxSlots); i++) ofFrame.add(i);
    }
  await packs.chooseVersions((version) => {
    if (version.kind === "meta") return metadata.get(versionKey(version)) ?? { needed: 0, filled: 0 };
    const found = [...(needed.get(version.frame) ?? [])].filter((slot) => slots.has(version, slot));
    return { needed: found.length, filled: slots.filled(version) };
  });
}

/**
 * Returns the runs in frames of `several` that live segments need, and counts the items in the versions of metadata frames.
 * Of several records of a segment the one counts that is registered later: the last, unless it has more missing blocks.
 */
async function readNeeds(
  { packs, slots, live, reserved }: Needs,
  several: ReadonlySet<number>,
  metadata: Map<string, VersionContent>,
): Promise<readonly StoredRun[]> {
  const best = new Map<number, { readonly missing: number; readonly runs: readonly StoredRun[] }>();
  for await (const { item, version, table } of packs.metadataItems(() => true)) {
    if (item.kind === "dropped") continue;
    const isLive = item.kind !== "blockList" && live.has(item.ordinal);
    if (several.has(version.frame)) {
      const { needed, filled } = metadata.get(versionKey(version)) ?? { needed: 0, filled: 0 };
      metadata.set(versionKey(version), { needed: needed + Number(isLive), filled: filled + 1 });
    }
    if (item.kind !== "segment" || !isLive) continue;
    const before = best.get(item.ordinal);
    // As in the registration: only the authority replaces records.
    const session = sessionOfFrame(version.frame);
    const isNew = before === undefined && reserved.allows(session, item.ordinal);
    if (!isNew && (reserved.isOfClient(session) || !packs.isOfAuthority(table))) continue;
    const recipe = decodeRecipe(item.recipe);
    const missing = slots.countMissing(recipe, (frame) => packs.versions(frame));
    if (before !== undefined && before.missing < missing) continue;
    best.set(item.ordinal, {
      missing,
      runs: recipe.filter((run) => run.kind === "stored").filter((run) => several.has(run.frame)),
    });
  }
  return [...best.values()].flatMap(({ runs }) => runs);
}
