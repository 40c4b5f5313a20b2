/**
 * Checks a unit that a client wants to register, and makes its rows. A client may lie: without these checks it could
 * register packs that it never stored, replace frames or items of other clients, or mark its own items as verified.
 *
 * - Rows of packs and frames come from the footers of the stored packs, which their writer signed.
 * - Every pack has the upload's session header. Its frames are frames of that session, and new (generation 0).
 * - Every data frame has a block list from the client, and the copy of the list is in a frame of the session.
 * - Ordinals of items and hooks were reserved by this upload. No frame and no ordinal is in a unit twice.
 * - Recipes and block lists can be decoded. Prune, matching and healing would fail at one that cannot, for all clients.
 * - The owner is set here, and no item is verified.
 * The catalog then refuses a recipe that needs a frame which the upload has neither stored nor pinned, or a slot that the
 * frame does not have. It also refuses a frame or an ordinal that is registered already: others may use it by now.
 *
 * Upkeep registers rewritten frames and new recipes of old segments directly. It is trusted and not checked.
 */

import type { FrameRow, Item, UploadState, UploadUnit } from "../catalog/catalog.ts";
import { decodeBlockList } from "../format/block-list.ts";
import { FormatError, hex, sameBytes } from "../format/bytes.ts";
import { sessionOfFrame } from "../format/frame.ts";
import type { PackTable } from "../format/pack.ts";
import { decodeRecipe } from "../format/recipe.ts";
import type { ClientUnit, FrameBlockList } from "./upload-target.ts";

/** What an upload may register. */
export type UnitRules = Pick<UploadState, "session" | "nonce" | "owner" | "ordinals">;

/** Returns the rows of a unit. `packs` are the tables of its packs. Throws `FormatError` if it breaks a rule. */
export function checkUnit(unit: ClientUnit, packs: readonly PackTable[], rules: UnitRules): UploadUnit {
  const [first] = packs;
  if (first === undefined) throw new FormatError("a unit without a pack");
  for (const { packId, header } of packs) {
    if (header.session !== rules.session || header.nonce !== rules.nonce)
      throw new FormatError(`pack ${hex(packId)} does not belong to the upload`);
    if (!sameBytes(header.bytes, first.header.bytes)) throw new FormatError("the packs have different session headers");
  }
  checkOrdinals(unit, rules);
  assertDistinct(
    unit.items.map(({ ordinal }) => ordinal),
    "a unit has an ordinal twice",
  );
  assertDistinct(
    packs.flatMap(({ frames }) => frames.map(({ frame }) => frame)),
    "a unit has a frame twice",
  );
  const blockLists = new Map(unit.blockLists.map((each) => [each.frame, each]));
  const frames = packs.flatMap((pack) => frameRowsOf(pack, rules.session, blockLists));
  return {
    packs: packs.map(({ packId, size }) => ({ pack: hex(packId), session: rules.session, size, state: "live" })),
    header: first.header.bytes,
    frames,
    items: unit.items.map((item) => itemOf(item, rules.owner)),
    hooks: unit.hooks,
    follows: unit.follows,
  };
}

/** A rebuild could not tell which of two is right. */
function assertDistinct(values: readonly (string | number)[], reason: string): void {
  if (new Set(values).size !== values.length) throw new FormatError(reason);
}

/** A `follows` pair may start with an item of another client; the catalog then changes nothing of that client. */
function checkOrdinals(unit: ClientUnit, { ordinals }: UnitRules): void {
  const isOwn = (ordinal: number) => ordinals.some(({ first, end }) => ordinal >= first && ordinal < end);
  const named = [
    ...unit.items.map(({ ordinal }) => ordinal),
    ...unit.hooks.map(([, ordinal]) => ordinal),
    ...unit.follows.map(([, later]) => later),
  ];
  for (const ordinal of named)
    if (!isOwn(ordinal)) throw new FormatError(`ordinal ${ordinal} was not reserved by the upload`);
}

function frameRowsOf(
  { packId, frames }: PackTable,
  session: number,
  blockLists: ReadonlyMap<number, FrameBlockList>,
): FrameRow[] {
  return frames.map((footer) => {
    const { frame, generation, kind } = footer;
    if (sessionOfFrame(frame) !== session || generation !== 0)
      throw new FormatError(`frame ${frame} does not belong to the upload`);
    const list = kind === "data" ? blockListOf(frame, session, blockLists) : noBlockList;
    return { ...footer, ...list, pack: hex(packId), session, damaged: false };
  });
}

const noBlockList = { blockList: new Uint8Array(0), recordFrame: 0 };

function blockListOf(frame: number, session: number, blockLists: ReadonlyMap<number, FrameBlockList>) {
  const found = blockLists.get(frame);
  if (found === undefined) throw new FormatError(`data frame ${frame} has no block list`);
  const { blockList, recordFrame } = found;
  decodeBlockList(blockList);
  if (sessionOfFrame(recordFrame) !== session)
    throw new FormatError(`frame ${recordFrame} does not belong to the upload`);
  return { blockList, recordFrame };
}

function itemOf({ ordinal, kind, id, recipe, recordFrame }: ClientUnit["items"][number], owner: string): Item {
  decodeRecipe(recipe);
  return { ordinal, kind, id, recipe, recordFrame, next: 0, owner, verified: false };
}
