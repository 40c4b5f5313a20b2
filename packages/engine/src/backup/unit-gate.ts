/**
 * The gate between a client and the index. What a client sends to be registered is a claim: the index is told only what
 * the upload may say, so that a lying client can replace, supersede or vouch for nothing of anybody else's.
 *
 * - Packs, frames and the header are of the upload's own session; frames are new ones (generation 0).
 * - Ordinals are ones that this upload reserved.
 * - Recipes and directories read: marking, matching and healing would stop at one that does not, for everybody.
 * - Owner and verification are the index's to say, never the client's.
 *
 * Rewritten frames and new recipes of old segments come from upkeep, which works inside and passes no gate.
 */

import { FormatError } from "../bytes.ts";
import { decodeDirectory } from "../frames/directory.ts";
import { framesPerSession } from "../frames/frame.ts";
import type { Item, UploadUnit } from "../index/port.ts";
import { parseSessionHeader } from "../keys/session.ts";
import { decodeRecipe } from "../recipes.ts";

/** What an upload may speak of. */
export interface UnitBounds {
  readonly session: number;
  readonly nonce: number;
  readonly owner: string;
  /** Reserved ranges of ordinals: first, and one behind the last. */
  readonly ordinals: readonly (readonly [number, number])[];
}

/** The unit as the index may take it. Throws `FormatError` where it speaks of what is not the upload's. */
export function passUnit(unit: UploadUnit, bounds: UnitBounds): UploadUnit {
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
  for (const { kind, directory } of unit.frames) if (kind === "data") decodeDirectory(directory);
  for (const { recipe } of unit.items) decodeRecipe(recipe);
  const isOwn = (ordinal: number) => bounds.ordinals.some(([first, end]) => ordinal >= first && ordinal < end);
  for (const ordinal of [...unit.items.map((item) => item.ordinal), ...unit.hooks.map(([, ordinal]) => ordinal)])
    if (!isOwn(ordinal)) throw new FormatError(`ordinal ${ordinal} was not reserved by the upload`);
  const items = unit.items.map((item): Item => ({ ...item, owner: bounds.owner, verified: false }));
  return { ...unit, items };
}
