/**
 * The gate between a client and the catalog. What a client sends to be registered is a claim: the catalog is told only what
 * the upload may say, so that a lying client can replace, supersede or vouch for nothing of anybody else's.
 *
 * - Packs, frames and the header are of the upload's own session; frames are new ones (generation 0).
 * - Ordinals are ones that this upload reserved.
 * - Recipes and block lists read: marking, matching and healing would stop at one that does not, for everybody.
 * - Owner and verification are the catalog's to say, never the client's.
 *
 * Rewritten frames and new recipes of old segments come from upkeep, which works inside and passes no gate.
 */

import type { Item, UploadUnit } from "../catalog/catalog.ts";
import { decodeBlockList } from "../format/block-list.ts";
import { FormatError } from "../format/bytes.ts";
import { framesPerSession } from "../format/frame.ts";
import { decodeRecipe } from "../format/recipe.ts";
import { parseSessionHeader } from "../format/session-header.ts";

/** What an upload may speak of. */
export interface UnitRules {
  readonly session: number;
  readonly nonce: number;
  readonly owner: string;
  /** Reserved ranges of ordinals: first, and one behind the last. */
  readonly ordinals: readonly (readonly [number, number])[];
}

/** The unit as the catalog may take it. Throws `FormatError` where it speaks of what is not the upload's. */
export function checkUnit(unit: UploadUnit, bounds: UnitRules): UploadUnit {
  const header = parseSessionHeader(unit.header);
  if (header.session !== bounds.session || header.nonce !== bounds.nonce)
    throw new FormatError("a unit under another session header than the upload's");
  for (const { pack, session, state } of unit.packs)
    if (session !== bounds.session || state !== "live") throw new FormatError(`pack ${pack} is not the upload's`);
  const packs = new Set(unit.packs.map(({ pack }) => pack));
  for (const { frame, session, generation, pack } of unit.frames) {
    const own = session === bounds.session && Math.floor(frame / framesPerSession) === bounds.session;
    if (!own || generation !== 0 || !packs.has(pack)) throw new FormatError(`frame ${frame} is not the upload's`);
  }
  for (const { kind, blockList } of unit.frames) if (kind === "data") decodeBlockList(blockList);
  for (const { recipe } of unit.items) decodeRecipe(recipe);
  const isOwn = (ordinal: number) => bounds.ordinals.some(([first, end]) => ordinal >= first && ordinal < end);
  for (const ordinal of [...unit.items.map((item) => item.ordinal), ...unit.hooks.map(([, ordinal]) => ordinal)])
    if (!isOwn(ordinal)) throw new FormatError(`ordinal ${ordinal} was not reserved by the upload`);
  const items = unit.items.map((item): Item => ({ ...item, owner: bounds.owner, verified: false }));
  return { ...unit, items };
}
