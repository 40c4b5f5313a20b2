/**
 * The catalog interface: the database of what is stored where. Everything in it can be rebuilt from the object store (see
 * upkeep/rebuild.ts); losing it costs time, not data. One `Catalog` serves one vault. Each method is one atomic step. No
 * method waits for another upload.
 *
 * Nouns (docs/GLOSSARY.md has all of them)
 * - *item*: a segment or a tree node. It has an id and an *ordinal* (small, unique in the vault, never used again).
 * - *upload*: a session in progress, with a lease. It *pins* the packs that it needs.
 * - *pack state*: `live` → `condemned` → `deleting`. A pin makes a condemned pack live again; `deleting` is final.
 * - *revision*: a count of all changes that matter to marking. A *marking* is named by the revision that it saw.
 *
 * Rules of every implementation (`testing/catalog-conformance.ts` tests them)
 * 1. `acquire` and `acquireFrames` pin every pack that a known item or frame needs, in the same step. A condemned pack
 *    becomes live by this. An item is not known if one of its frames is damaged or in a deleting pack.
 * 2. `condemn` succeeds only for a pack without pins, and only if the revision is still that of the caller's marking.
 * 3. `beginDelete` succeeds only for a condemned pack without pins. It removes the pack's frames and the given dead items.
 * 4. `commit` succeeds only before the lease ends, only for a new snapshot id, and only if every item of the snapshot is in
 *    the base or *held* by the upload: acquired or registered by it. It ends the upload and its pins in the same step. As
 *    long as an upload holds an item, it pins the packs that the item needs, so the check is one of sets of ordinals.
 * 5. An item of another owner is known only if it is verified, and never in the scope `lineage`. Of several items with
 *    one id a verified one is taken. A snapshot of the scope `lineage` reaches items of its owner only.
 * 6. A session number is issued once, with a nonce that is kept. A claim that another catalog has taken makes the
 *    catalog stale: it begins no upload until it is cleared.
 * 7. If a recipe replaces another, every upload that has pinned the packs of the old recipe pins those of the new one, in
 *    the same step. If a frame moves, every upload that has pinned its old pack pins its new packs.
 * 8. Hooks and the order of segments (`next`, `follows`) are kept per owner: a unit replaces only those of its owner.
 * 9. Changes of a snapshot's retention are applied in the order of the chain. Of a snapshot that is being deleted the
 *    retention changes only if the deletion is cancelled in the same step (`cancelDeleteSnapshot`).
 * 10. The head of the chain is never replaced by an older record.
 * 11. A client may repeat a step whose answer was lost: `beginUpload`, a reservation of ordinals with its request, and
 *    `addUnit` with its number answer the same and change nothing the second time.
 *
 * `addUnit` registers what it is given. A unit of a client is checked by `checkUnit` (backup/check-unit.ts) first.
 */

import type { ChainCatalog } from "./chain-catalog.ts";
import type { ReaderCatalog } from "./reader-catalog.ts";
import type { UpkeepCatalog } from "./upkeep-catalog.ts";
import type { UploadCatalog } from "./upload-catalog.ts";

export type { ChainCatalog } from "./chain-catalog.ts";
export type { ReaderCatalog } from "./reader-catalog.ts";
export * from "./rows.ts";
export type { UpkeepCatalog } from "./upkeep-catalog.ts";
export type { UploadCatalog } from "./upload-catalog.ts";

/** `not_closed`: the snapshot reaches an item that is neither in the base nor held (rule 4). */
export type CatalogErrorCode =
  | "lease_expired"
  | "unknown_upload"
  | "not_closed"
  | "unknown_snapshot"
  | "retained"
  | "stale"
  | "conflict";

export class CatalogError extends Error {
  override readonly name = "CatalogError";
  readonly code: CatalogErrorCode;

  constructor(code: CatalogErrorCode, message: string) {
    super(`${code}: ${message}`);
    this.code = code;
  }
}

/** The catalog of one vault: what all its users need. */
export interface Catalog extends UploadCatalog, ReaderCatalog, UpkeepCatalog, ChainCatalog {
  close(): Promise<void>;
}
