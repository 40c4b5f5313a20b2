/**
 * Commits: an upload becomes a snapshot. What it reaches is compared with what it holds as sets, so that a commit of a million
 * items holds the lock of the vault for a moment.
 */

import type { SnapshotRow } from "@emanet/engine/catalog";
import { assertHeld, type Bitmap, CatalogError } from "@emanet/engine/catalog";
import { sql } from "kysely";
import { hasSnapshot, insertSnapshots } from "./snapshot-store.ts";
import { bigints } from "./sql-arrays.ts";
import { committingUpload, endUploads } from "./upload-store.ts";
import { raiseRevision, type VaultDatabase, type VaultTx } from "./vault-store.ts";

/** Ordinals whose owners are compared at a time: some ten milliseconds. */
const ordinalsPerPage = 20_000;

export interface Commit {
  readonly upload: string;
  readonly now: number;
  readonly snapshot: SnapshotRow;
  /** The items that the snapshot reaches. */
  readonly reached: Bitmap;
  /** Those of them that `assertOwner` has compared. */
  readonly compared: Bitmap;
}

/** Items that must all be of one owner. */
export interface ItemsOfOwner {
  readonly owner: number;
  readonly items: Bitmap;
}

/**
 * Ends the upload with its snapshot. Throws `not_closed` if the snapshot reaches an item that is neither in the base nor held.
 *
 * In the scope `lineage` every item must be of the owner (rule 5). That is known of what the upload holds, and of a base that
 * was committed in this scope. Where it is not known of all items, as of a base that a rebuild has found, nothing is changed
 * and those items are returned, to be compared without the lock.
 */
export async function commitUpload(to: VaultTx, commit: Commit): Promise<ItemsOfOwner | null> {
  const { upload, now, snapshot, reached, compared } = commit;
  const [running, exists] = await Promise.all([committingUpload(to, upload, now), hasSnapshot(to, snapshot.id)]);
  const conflict = () => new CatalogError("conflict", `snapshot ${snapshot.id} exists`);
  if (exists) throw conflict();
  const { base, held, own, owner, scope } = running;
  assertHeld(reached, base, held);
  const isLineage = scope === "lineage";
  const unknown = isLineage ? reached.minus(own).minus(compared) : null;
  if (unknown !== null && unknown.highest >= 0) return { owner, items: unknown };
  const [written] = await Promise.all([
    insertSnapshots(to, [snapshot], "insert", isLineage ? owner : null),
    endUploads(to, { upload }),
  ]);
  if (written.length === 0) throw conflict();
  raiseRevision(to);
  return null;
}

/**
 * Throws `not_closed` if one of the items is of another owner. Without the lock of the vault: an item keeps its owner, and an
 * upload keeps the items that it reaches.
 */
export async function assertOwner(database: VaultDatabase, { owner, items }: ItemsOfOwner): Promise<void> {
  for (const page of pagesOf(items)) {
    const [own] = await database.rows(
      (vault) => sql<{ items: number }>`
        select count(*) as items from catalog_items
        where vault = ${vault} and ordinal = any(${bigints(page)}::bigint[]) and owner = ${owner}::integer`,
    );
    if (own?.items !== page.length) throw new CatalogError("not_closed", "an item is of another owner");
  }
}

function* pagesOf(ordinals: Iterable<number>): Generator<readonly number[]> {
  let page: number[] = [];
  for (const ordinal of ordinals) {
    if (page.push(ordinal) < ordinalsPerPage) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}
