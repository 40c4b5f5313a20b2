/** Catalogs that break one rule each. The simulation must find every one of them. */

import { MemoryCatalog } from "../catalog/memory.ts";
import { SqliteCatalog } from "../catalog/sqlite/sqlite.ts";

/** Returns items as known without pinning their packs, and commits without looking for pins. */
class UnpinnedAnswers extends MemoryCatalog {
  protected override pinKnown(): void {}

  protected override isPinned(): boolean {
    return true;
  }
}

/** Condemns packs by a marking that is out of date. */
class StaleMarkings extends MemoryCatalog {
  protected override isCurrent(): boolean {
    return true;
  }
}

/** Replaces a recipe and does not pin its packs for the uploads that use the item. */
class LostPins extends MemoryCatalog {
  protected override uploadsPinning(): string[] {
    return [];
  }
}

/** Returns a revision that is later than the bitmaps. */
class TornRoots extends SqliteCatalog {
  #early: readonly Uint8Array[] = [];

  override async revision() {
    this.#early = await Array.fromAsync(super.allReach());
    return super.revision();
  }

  override async *allReach() {
    yield* this.#early;
  }
}

export const brokenMemoryCatalogs = {
  "unpinned-answers": UnpinnedAnswers,
  "stale-markings": StaleMarkings,
  "lost-pins": LostPins,
} as const;

export const brokenSqliteCatalogs = { "torn-roots": TornRoots } as const;
