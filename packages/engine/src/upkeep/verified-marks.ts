/**
 * Marks items as verified for verification: nodes, and segments whose frames are all intact and whose records are right. Then
 * other owners may use them, and restores do not hash them. Each item is looked at once per run. What is marked already stays so.
 */

import type { FrameVersion, Item } from "../catalog/catalog.ts";
import { itemFrames } from "../catalog/rules.ts";
import { Bitmap } from "../format/bitmap.ts";
import { RecordChecker } from "../restore/check-records.ts";
import type { FrameReader } from "../restore/frame-reader.ts";
import { SettledSessions } from "../restore/settled-sessions.ts";
import type { ReadableVault } from "../vault.ts";
import type { FrameChecker } from "./frame-checker.ts";

/** Items marked in one step of the catalog. */
const itemsPerStep = 1000;

export interface VerifiedMarksOptions {
  readonly vault: ReadableVault;
  readonly frames: FrameChecker;
  readonly reader: FrameReader;
  /** With `"unverified"` the frames of segments that are marked already are not read. */
  readonly readData: boolean | "unverified";
}

export class VerifiedMarks {
  readonly #options: VerifiedMarksOptions;
  readonly #records: RecordChecker;
  /** Ordinals that were looked at. */
  readonly #done = new Bitmap();

  constructor(options: VerifiedMarksOptions) {
    this.#options = options;
    const { vault, reader } = options;
    this.#records = new RecordChecker(vault.catalog, reader, new SettledSessions(vault));
  }

  /** Marks what is reached and intact. Returns the frames that are damaged. */
  async mark(reach: Bitmap): Promise<readonly FrameVersion[]> {
    const { catalog } = this.#options.vault;
    const damaged: FrameVersion[] = [];
    const ordinals = [...reach.minus(this.#done)];
    for (let i = 0; i < ordinals.length; i += itemsPerStep) {
      const intact: Item[] = [];
      for (const item of await catalog.itemsByOrdinal(ordinals.slice(i, i + itemsPerStep))) {
        if (item === null || (item.verified && this.#options.readData === "unverified")) continue;
        const found = await this.#damage(item);
        damaged.push(...found.versions);
        if (found.isIntact && !item.verified) intact.push(item);
      }
      const verified = await this.#records.thoseWithRightRecords(intact);
      if (verified.length > 0) await catalog.setVerified(verified);
    }
    this.#done.or(reach);
    return damaged;
  }

  /** A segment may need frames that no file of its snapshot needs. */
  async #damage(item: Item): Promise<{ readonly isIntact: boolean; readonly versions: readonly FrameVersion[] }> {
    if (item.kind === "node") return { isIntact: true, versions: [] };
    const versions: FrameVersion[] = [];
    let isIntact = true;
    for (const frame of itemFrames(item)) {
      const damage = await this.#options.frames.check(frame);
      if (damage === null) continue;
      isIntact = false;
      if (damage.version !== null) versions.push(damage.version);
    }
    return { isIntact, versions };
  }
}
