/** All SQL of snapshots file by file: rows of files and their parts, file sessions, and who completes an upload. */

import { sql } from "kysely";
import type { ReadTx, Tx } from "../kernel/tx.ts";
import { deadAfterMs, openStates } from "../snapshots/index.ts";
import type { FilePath } from "./file-paths.ts";

/** A snapshot, as the rows of its files need it. */
export interface OfSnapshot {
  readonly id: string;
  readonly account_id: string;
}

export interface NewFile {
  readonly path: FilePath;
  readonly contentId: string;
  /** Those of them that are not stored under the id already: from `firstPart` on. */
  readonly parts: readonly Buffer[];
  readonly firstPart: number;
  readonly size: number;
  readonly hash: Uint8Array;
  readonly sha256: Uint8Array | null;
  readonly mode: number;
  readonly mtime: { readonly seconds: number; readonly nanos: number } | null;
}

/** Notes a file session before it begins. */
export async function insertSession(tx: Tx, { id, account_id }: OfSnapshot, upload: string): Promise<void> {
  await tx.db.insertInto("file_sessions").values({ snapshot_id: id, account_id, upload }).execute();
}

export async function listSessions(tx: ReadTx, snapshotId: string): Promise<readonly string[]> {
  const rows = await tx.db.selectFrom("file_sessions").select("upload").where("snapshot_id", "=", snapshotId).execute();
  return rows.map(({ upload }) => upload);
}

/** What is at a path of a snapshot and above it. */
export interface Place {
  /** A file is where a directory would be, or a directory where the file would be. */
  readonly isTaken: boolean;
  /** The content of the file that is at the path. */
  readonly contentId: string | null;
}

/** Adds the directories that a path implies, and looks what is there. In one round trip. */
export async function takePlace(
  tx: Tx,
  { id, account_id }: OfSnapshot,
  path: FilePath,
  directories: readonly FilePath[],
): Promise<Place> {
  // In one order, so that no two requests wait for each other.
  const sorted = [...directories].sort((a, b) => Buffer.compare(a.hash, b.hash));
  const hashes = sorted.map(({ hash }) => hash);
  const adding =
    sorted.length > 0 &&
    sql`
      insert into snapshot_files (snapshot_id, account_id, path_hash, path_key, kind)
      select ${id}::uuid, ${account_id}::uuid, x.hash, x.key, 'directory'
      from unnest(${hashes}::bytea[], ${sorted.map(({ key }) => key)}::bytea[]) as x (hash, key)
      on conflict do nothing`.execute(tx.db);
  const [{ rows }] = await Promise.all([
    sql<{ path_hash: Buffer; kind: "file" | "directory"; content_id: string | null }>`
      select path_hash, kind, content_id from snapshot_files
      where snapshot_id = ${id} and (path_hash = ${path.hash} or path_hash = any (${hashes}::bytea[]) and kind = 'file')
      `.execute(tx.db),
    adding,
  ]);
  const isTaken = rows.some((row) => (row.kind === "directory") === row.path_hash.equals(path.hash));
  return { isTaken, contentId: rows.find((row) => row.path_hash.equals(path.hash))?.content_id ?? null };
}

/** What is at a path. */
export async function findFile(
  tx: ReadTx,
  snapshotId: string,
  path: FilePath,
): Promise<{ readonly kind: "file" | "directory"; readonly size_bytes: number | null } | undefined> {
  return tx.db
    .selectFrom("snapshot_files")
    .select(["kind", "size_bytes"])
    .where("snapshot_id", "=", snapshotId)
    .where("path_hash", "=", path.hash)
    .executeTakeFirst();
}

/** Adds a file, or replaces the one with the other content. */
export async function putFile(
  tx: Tx,
  { id, account_id }: OfSnapshot,
  file: NewFile,
  replaced: string | null,
): Promise<"new" | "replaced"> {
  const columns = {
    content_id: file.contentId,
    size_bytes: file.size,
    hash: Buffer.from(file.hash),
    sha256: file.sha256 === null ? null : Buffer.from(file.sha256),
    mode: file.mode,
    mtime_seconds: file.mtime?.seconds ?? null,
    mtime_nanos: file.mtime?.nanos ?? null,
    received_at: tx.now,
  };
  const key = {
    snapshot_id: id,
    account_id,
    path_hash: file.path.hash,
    path_key: file.path.key,
    kind: "file",
  } as const;
  const written =
    replaced === null
      ? tx.db
          .insertInto("snapshot_files")
          .values({ ...key, ...columns })
          .execute()
      : tx.db
          .updateTable("snapshot_files")
          .set(columns)
          .where("snapshot_id", "=", id)
          .where("path_hash", "=", file.path.hash)
          .execute();
  await Promise.all([
    written,
    replaced !== null && deleteParts(tx, id, replaced),
    insertParts(tx, { id, account_id }, file.contentId, file.firstPart, file.parts),
  ]);
  return replaced === null ? "new" : "replaced";
}

/** Adds parts of a content, from this number on. */
export async function insertParts(
  tx: Tx,
  { id, account_id }: OfSnapshot,
  contentId: string,
  first: number,
  parts: readonly Buffer[],
): Promise<void> {
  if (parts.length === 0) return;
  await sql`
    insert into snapshot_file_parts (snapshot_id, account_id, content_id, part, content)
    select ${id}::uuid, ${account_id}::uuid, ${contentId}::uuid, ${first}::int + x.at::int - 1, x.content
    from unnest(${parts}::bytea[]) with ordinality as x (content, at)`.execute(tx.db);
}

export async function deleteParts(tx: Tx, snapshotId: string, contentId: string): Promise<void> {
  await tx.db
    .deleteFrom("snapshot_file_parts")
    .where("snapshot_id", "=", snapshotId)
    .where("content_id", "=", contentId)
    .execute();
}

/** The first file of a snapshot decides how its content comes. */
export async function noteFiles(tx: Tx, { id, account_id }: OfSnapshot): Promise<void> {
  await tx.db
    .updateTable("snapshots")
    .set({ upload_kind: "files", has_files: true })
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .execute();
}

export interface FileRow {
  readonly path_key: Buffer;
  readonly content_id: string;
  readonly size_bytes: number;
  readonly hash: Buffer;
  readonly sha256: Buffer | null;
  readonly mode: number;
  readonly mtime_seconds: number | null;
  readonly mtime_nanos: number | null;
  readonly received_at: Date;
}

/** Files after this key, in the order of a walk. */
export async function readFiles(
  tx: ReadTx,
  snapshotId: string,
  after: Buffer,
  limit: number,
): Promise<readonly FileRow[]> {
  const { rows } = await sql<FileRow>`
    select path_key, content_id, size_bytes, hash, sha256, mode, mtime_seconds, mtime_nanos, received_at
    from snapshot_files
    where snapshot_id = ${snapshotId} and kind = 'file'
      and (substring(path_key from 1 for 1024), path_key) > (substring(${after}::bytea from 1 for 1024), ${after}::bytea)
    order by substring(path_key from 1 for 1024), path_key
    limit ${limit}`.execute(tx.db);
  return rows;
}

/** The parts of these contents, in order. */
export async function readParts(
  tx: ReadTx,
  snapshotId: string,
  contentIds: readonly string[],
): Promise<ReadonlyMap<string, readonly Buffer[]>> {
  const { rows } = await sql<{ content_id: string; content: Buffer }>`
    select content_id, content from snapshot_file_parts
    where snapshot_id = ${snapshotId} and content_id = any (${contentIds}::uuid[])
    order by content_id, part`.execute(tx.db);
  const parts = new Map<string, Buffer[]>();
  for (const { content_id, content } of rows) {
    const known = parts.get(content_id);
    if (known === undefined) parts.set(content_id, [content]);
    else known.push(content);
  }
  return parts;
}

/**
 * Closes an upload and takes its completion for this process. Returns false if another process that lives has it, or if the
 * upload is not open.
 */
export async function claimCompletion(tx: Tx, { id, account_id }: OfSnapshot): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update snapshots set closed_at = coalesce(closed_at, ${tx.now}), alive_at = clock_timestamp(), active_at = ${tx.now},
      upload_kind = 'files', has_files = true
    where account_id = ${account_id} and id = ${id} and state = any (${openStates as readonly string[]}::text[])
      and (closed_at is null or alive_at is null
        or alive_at < clock_timestamp() - ${deadAfterMs} * interval '1 millisecond')`.execute(tx.db);
  return (numAffectedRows ?? 0n) > 0n;
}

/** The completion did not succeed now. Another attempt may begin at once. */
export async function releaseCompletion(tx: Tx, { id, account_id }: OfSnapshot): Promise<void> {
  await tx.db
    .updateTable("snapshots")
    .set({ alive_at: null })
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .where("state", "in", openStates)
    .execute();
}

/** Keeps the manifest before it is stored: the process that goes on after a crash stores the same one. */
export async function keepDraft(tx: Tx, { id, account_id }: OfSnapshot, upload: string, draft: Buffer): Promise<void> {
  await tx.db
    .updateTable("snapshots")
    .set({ draft, draft_upload: upload })
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .execute();
}

export interface SnapshotOfVault extends OfSnapshot {
  readonly vault_id: string;
}

/** Closed uploads whose process has died, or whose last attempt failed. */
export async function findUncompleted(tx: ReadTx, limit: number): Promise<readonly SnapshotOfVault[]> {
  const { rows } = await sql<SnapshotOfVault>`
    select id, account_id, vault_id from snapshots
    where has_files and state = any (${openStates as readonly string[]}::text[]) and closed_at is not null
      and (alive_at is null or alive_at < clock_timestamp() - ${deadAfterMs} * interval '1 millisecond')
    limit ${limit}`.execute(tx.db);
  return rows;
}

/** Snapshots that have ended and of which rows or sessions are left. */
export async function findEnded(tx: ReadTx, limit: number): Promise<readonly SnapshotOfVault[]> {
  return tx.db
    .selectFrom("snapshots")
    .select(["id", "account_id", "vault_id"])
    .where("has_files", "=", true)
    .where("state", "not in", openStates)
    .limit(limit)
    .execute();
}

/** Removes some rows of a snapshot that has ended. Returns false when none is left. */
export async function removeSome(tx: Tx, snapshotId: string, limit: number): Promise<boolean> {
  const parts = await sql`
    delete from snapshot_file_parts where ctid = any (array(
      select ctid from snapshot_file_parts where snapshot_id = ${snapshotId} limit ${limit}))`.execute(tx.db);
  await sql`delete from file_uploads where snapshot_id = ${snapshotId}`.execute(tx.db);
  const files = await sql`
    delete from snapshot_files where ctid = any (array(
      select ctid from snapshot_files where snapshot_id = ${snapshotId} limit ${limit}))`.execute(tx.db);
  return (parts.numAffectedRows ?? 0n) + (files.numAffectedRows ?? 0n) > 0n;
}

/** Everything is removed. */
export async function noteRemoved(tx: Tx, { id, account_id }: OfSnapshot): Promise<void> {
  await tx.db.deleteFrom("file_sessions").where("snapshot_id", "=", id).execute();
  await tx.db
    .updateTable("snapshots")
    .set({ has_files: false, draft: null, draft_upload: null })
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .execute();
}
