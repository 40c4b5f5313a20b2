/** All SQL of files that come in several requests: their offsets, and what is stored of them. */

import { type Selectable, sql } from "kysely";
import type { FileUploadsRow } from "../kernel/database/rows.generated.ts";
import type { ReadTx, Tx } from "../kernel/tx.ts";
import type { FilePath } from "./file-paths.ts";
import { deleteParts, insertParts, type OfSnapshot } from "./store.ts";

export type FileUploadRow = Selectable<FileUploadsRow>;

export interface NewFileUpload {
  readonly path: FilePath;
  readonly contentId: string;
  readonly length: number;
  readonly mode: number;
  readonly mtime: { readonly seconds: number; readonly nanos: number } | null;
}

/** Begins an upload of a file. One that was begun before at its path ends. */
export async function beginFileUpload(tx: Tx, snapshot: OfSnapshot, upload: NewFileUpload): Promise<void> {
  const { path, contentId, length, mode, mtime } = upload;
  const before = await removeFileUpload(tx, snapshot.id, path);
  if (before !== null) await deleteParts(tx, snapshot.id, before);
  await tx.db
    .insertInto("file_uploads")
    .values({
      ...{ snapshot_id: snapshot.id, account_id: snapshot.account_id, path_hash: path.hash, path_key: path.key },
      ...{ content_id: contentId, length_bytes: length, mode },
      ...{ mtime_seconds: mtime?.seconds ?? null, mtime_nanos: mtime?.nanos ?? null },
    })
    .execute();
}

export async function findFileUpload(
  tx: ReadTx,
  snapshotId: string,
  path: FilePath,
): Promise<FileUploadRow | undefined> {
  const { rows } = await sql<FileUploadRow>`
    select * from file_uploads where snapshot_id = ${snapshotId} and path_hash = ${path.hash}`.execute(tx.db);
  return rows[0];
}

/** What became durable of a file. */
export interface Advance {
  readonly contentId: string;
  /** The offset that the request found. */
  readonly from: number;
  readonly to: number;
  /** A full stripe. */
  readonly stripe?: { readonly part: Buffer; readonly pageBytes: number | null; readonly pagePhase: number | null };
  /** What came after the last full stripe; null if nothing did. */
  readonly tail: Buffer | null;
}

/** Moves the offset. Returns false if another request has moved it, or the upload has ended. */
export async function advanceFileUpload(
  tx: Tx,
  snapshot: OfSnapshot,
  path: FilePath,
  { contentId, from, to, stripe, tail }: Advance,
): Promise<boolean> {
  const { rows } = await sql<{ stripe_count: number }>`
    update file_uploads set offset_bytes = ${to}, tail = ${tail}::bytea,
      stripe_count = stripe_count + ${stripe === undefined ? 0 : 1},
      page_bytes = coalesce(${stripe?.pageBytes ?? null}::int, page_bytes),
      page_phase = coalesce(${stripe?.pagePhase ?? null}::int, page_phase)
    where snapshot_id = ${snapshot.id} and path_hash = ${path.hash} and content_id = ${contentId}
      and offset_bytes = ${from}
    returning stripe_count`.execute(tx.db);
  const [moved] = rows;
  if (moved === undefined) return false;
  if (stripe !== undefined) await insertParts(tx, snapshot, contentId, moved.stripe_count - 1, [stripe.part]);
  return true;
}

/** Ends an upload of a file. Its parts stay. Returns the id of its content; null if there was none. */
export async function removeFileUpload(tx: Tx, snapshotId: string, path: FilePath): Promise<string | null> {
  const { rows } = await sql<{ content_id: string }>`
    delete from file_uploads where snapshot_id = ${snapshotId} and path_hash = ${path.hash}
    returning content_id`.execute(tx.db);
  return rows[0]?.content_id ?? null;
}

/** Whether a file of the snapshot has not come to its end. */
export async function hasUnfinished(tx: ReadTx, snapshotId: string): Promise<boolean> {
  const { rows } = await sql`select 1 from file_uploads where snapshot_id = ${snapshotId} limit 1`.execute(tx.db);
  return rows.length > 0;
}
