/**
 * The projection: rows by which search and history find files over all snapshots of a vault, without reading a tree. Owns the tables
 * `projections` and `projected_*` (migration 0035). Nouns:
 *
 * - a *projected snapshot* is a snapshot that a projection has or is to have. Its row changes in the commit that completes, deletes or
 *   undeletes the snapshot; a job follows (`projector.ts`).
 * - a *version* is what was at a path of a source in consecutive snapshots (`rules.ts`).
 * - a *gram* is three letters of a folded name, as a keyed hash (`grams.ts`, `fold.ts`).
 *
 * Invariants
 * - Answers show what the snapshots have that are in the projection and not deleted, nothing else, in any state of the job.
 * - A path is stored sealed. Equal names look different in every vault.
 * - One process at a time changes a projection. A job that was killed goes on where its last commit was.
 * - All rows can be made again from the snapshots.
 */

import type { Tx } from "../kernel/tx.ts";
import { enqueueProjection } from "./jobs.ts";
import {
  containSnapshot,
  lockProjection,
  type NewProjected,
  neighboursOf,
  unwantSnapshot,
  wantSnapshot,
} from "./store.ts";

export { pathRecurrences, pathTasks, rebuildProjection } from "./jobs.ts";
export {
  type FoundFile,
  type History,
  historyOf,
  type ProjectionProgress,
  type SearchPosition,
  type ShownVersion,
  searchNames,
} from "./search.ts";

/** A snapshot was completed or undeleted. */
export async function projectSnapshot(
  tx: Tx,
  snapshot: {
    readonly id: string;
    readonly accountId: string;
    readonly vaultId: string;
    readonly sourceId: string;
    readonly createdAt: Date;
    /** A snapshot of the source with the same content. */
    readonly likeId?: string | null;
  },
): Promise<void> {
  const { id, accountId, vaultId, sourceId, createdAt, likeId = null } = snapshot;
  const row = {
    ...{ snapshot_id: id, account_id: accountId, vault_id: vaultId, source_id: sourceId, created_at: createdAt },
  };
  if (likeId !== null && (await containLike(tx, row, likeId))) return;
  await wantSnapshot(tx, row);
  await enqueueProjection(tx, { accountId, vaultId });
}

/**
 * Puts a snapshot into the projection that is the newest of its source and has the content of the one before it: all versions that go on until now have it,
 * so no row of them changes. Returns false where it is not so, or where the one before it is not there yet.
 */
async function containLike(tx: Tx, row: NewProjected, likeId: string): Promise<boolean> {
  const [projection, { previous, next }] = await Promise.all([lockProjection(tx, row.vault_id), neighboursOf(tx, row)]);
  if (projection === undefined || projection.is_clearing || previous !== likeId || next !== null) return false;
  return containSnapshot(tx, row);
}

/** A snapshot was deleted. */
export async function unprojectSnapshot(
  tx: Tx,
  { id, accountId, vaultId }: { readonly id: string; readonly accountId: string; readonly vaultId: string },
): Promise<void> {
  if (await unwantSnapshot(tx, id)) await enqueueProjection(tx, { accountId, vaultId });
}
