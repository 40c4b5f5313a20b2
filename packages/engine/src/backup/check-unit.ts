/**
 * Checks a unit that a client wants to register. A client may lie: without these checks it could replace frames or items
 * of other clients, or mark its own items as verified.
 *
 * - The session header is signed by a writer that the authority registered for this vault.
 * - Packs, frames and the session header belong to the upload's session. Frames are new (generation 0).
 * - Ordinals of items and hooks were reserved by this upload.
 * - Recipes and block lists can be decoded. Prune, matching and healing would fail at one that cannot, for all clients.
 * - The owner is set here, and no item is verified, whatever the client sent.
 *
 * Upkeep registers rewritten frames and new recipes of old segments directly. It is trusted and not checked.
 */

import type { Item, UploadUnit } from "../catalog/catalog.ts";
import { decodeBlockList } from "../format/block-list.ts";
import { FormatError } from "../format/bytes.ts";
import { framesPerSession } from "../format/frame.ts";
import { decodeRecipe } from "../format/recipe.ts";
import { parseSessionHeader, verifySessionHeader } from "../format/session-header.ts";

/** What an upload may register. */
export interface UnitRules {
  readonly vaultId: Uint8Array;
  readonly authorityPublicKey: Uint8Array;
  readonly session: number;
  readonly nonce: number;
  readonly owner: string;
  /** Reserved ranges of ordinals: the first, and the one after the last. */
  readonly ordinals: readonly (readonly [number, number])[];
}

/** Returns the unit as it may be registered. Throws `FormatError` if it breaks a rule. */
export function checkUnit(unit: UploadUnit, rules: UnitRules): UploadUnit {
  const header = parseSessionHeader(unit.header);
  verifySessionHeader(header, rules.vaultId, rules.authorityPublicKey);
  if (header.session !== rules.session || header.nonce !== rules.nonce)
    throw new FormatError("the unit has another session header than the upload");
  for (const { pack, session, state } of unit.packs)
    if (session !== rules.session || state !== "live")
      throw new FormatError(`pack ${pack} does not belong to the upload`);
  const packs = new Set(unit.packs.map(({ pack }) => pack));
  for (const { frame, session, generation, pack } of unit.frames) {
    const own = session === rules.session && Math.floor(frame / framesPerSession) === rules.session;
    if (!own || generation !== 0 || !packs.has(pack))
      throw new FormatError(`frame ${frame} does not belong to the upload`);
  }
  for (const { kind, blockList } of unit.frames) if (kind === "data") decodeBlockList(blockList);
  for (const { recipe } of unit.items) decodeRecipe(recipe);
  const isOwn = (ordinal: number) => rules.ordinals.some(([first, end]) => ordinal >= first && ordinal < end);
  for (const ordinal of [...unit.items.map((item) => item.ordinal), ...unit.hooks.map(([, ordinal]) => ordinal)])
    if (!isOwn(ordinal)) throw new FormatError(`ordinal ${ordinal} was not reserved by the upload`);
  const items = unit.items.map((item): Item => ({ ...item, owner: rules.owner, verified: false }));
  return { ...unit, items };
}
