/**
 * The content of a completed snapshot, for downloads. Bytes that were not verified before are hashed and compared before they
 * are sent (`FileReader`).
 */

import {
  type DirectoryEntry,
  type FileEntry,
  type FileReader,
  findEntry,
  rootEntry,
  type TreeEntry,
  type Vault,
} from "@emanet/engine";
import type { Services } from "../kernel/domain-services.ts";
import type { Ctx } from "../kernel/http/endpoint.ts";
import type { RangedContent } from "../kernel/http/range.ts";
import { type Principal, rowAccessOf } from "../kernel/principal.ts";
import { Problem } from "../kernel/problems.ts";
import { assertVaultAllowed, isVaultAllowed, storageProblem } from "../vaults/index.ts";
import { partsOf } from "./archive-entries.ts";
import { downloadHeaders } from "./content-headers.ts";
import { engineId } from "./engine-id.ts";
import { keptWhileSent } from "./read-lease.ts";
import { contentProblem } from "./rules.ts";
import { findSnapshot, type SnapshotRecord } from "./store.ts";

type AccountPrincipal = Extract<Principal, { accountId: string }>;

/** A smaller download is over at once. It needs no place among the large ones, and shares a reader. */
const smallReadBytes = 4 * 1024 * 1024;

/** The files of a snapshot that the catalog has, whatever its row says. */
export interface SnapshotTree {
  readonly vault: Vault;
  /** For small content; others use it at the same time. */
  readonly reader: FileReader;
  readonly root: DirectoryEntry;
  /** The number of the newest record of the vault's chain that is about this snapshot. */
  readonly chainSequence: number;
}

export interface SnapshotContent extends SnapshotTree {
  readonly record: SnapshotRecord;
  /** For large content. */
  newReader(): FileReader;
}

/** A snapshot that the caller may see. Throws `not_found`. */
export async function visibleSnapshot(ctx: Ctx, principal: AccountPrincipal, id: string): Promise<SnapshotRecord> {
  const record = await ctx.read(rowAccessOf(principal), (tx) => findSnapshot(tx, principal.accountId, id));
  if (record === undefined) throw new Problem("not_found");
  assertVaultAllowed(principal, record.vault_id);
  return record;
}

/** Opens the content. Throws `not_found`, and by its state `state_conflict` or `snapshot_expired`. */
export async function openContent(ctx: Ctx, principal: AccountPrincipal, id: string): Promise<SnapshotContent> {
  const record = await visibleSnapshot(ctx, principal, id);
  const problem = contentProblem(record.status);
  if (problem !== null) throw new Problem(problem);
  if (record.root_hash === null) throw new Error("a completed snapshot without its root");
  const { readers } = ctx.services.snapshots;
  const tree = await withStoreProblems(() => openTree(ctx.services, record));
  return { ...tree, record, newReader: () => readers.own(tree.vault) };
}

/** Opens the files of a completed snapshot. The caller has checked who asks, and its state. */
export async function openTree(
  { vaults, snapshots }: Services,
  snapshot: Pick<SnapshotRecord, "id" | "account_id" | "vault_id">,
): Promise<SnapshotTree> {
  const vault = await vaults.open(snapshot.account_id, snapshot.vault_id);
  const row = await vault.catalog.snapshot(engineId(snapshot.id));
  if (row === null) throw new Error("a completed snapshot that the catalog does not have");
  const reader = snapshots.readers.shared(vault);
  return { vault, reader, root: await rootEntry(reader.frames, row), chainSequence: row.changes };
}

/** Whether a caller may still read the content: its client may have been held to other vaults meanwhile. */
export function readerOf({ record }: SnapshotContent): (principal: Principal) => boolean {
  return (principal) => "accountId" in principal && isVaultAllowed(principal, record.vault_id);
}

/** The entry at a path; the root for an empty one. Null where there is none. */
export async function entryAt({ reader, root }: SnapshotTree, path: Buffer): Promise<TreeEntry | null> {
  return withStoreProblems(async () => {
    let entry: TreeEntry | null = root;
    for (const name of partsOf(path)) {
      if (entry?.type !== "directory") return null;
      entry = await findEntry(reader.frames, entry.root, name);
    }
    return entry;
  });
}

/** A file of which parts can be asked for. */
export function rangedFile(ctx: Ctx, content: SnapshotContent, entry: FileEntry): RangedContent {
  return {
    size: entry.size,
    etag: `"${Buffer.from(entry.hash).toString("hex")}"`,
    headers: downloadHeaders(Buffer.from(entry.name)),
    isAllowed: readerOf(content),
    chunks: (part, signal) => fileBytes(ctx, { content, entry, ...part }, signal),
  };
}

/** The bytes of a file from `start` to `end`. A large read takes one of the places for them. */
export async function* fileBytes(
  ctx: Ctx,
  { content, entry, start, end }: { content: SnapshotContent; entry: FileEntry; start: number; end: number },
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const read = (reader: FileReader) => sent(ctx, reader.read(entry, { offset: start, length: end - start }, signal));
  const { reads } = ctx.services.snapshots;
  if (end - start <= smallReadBytes) yield* read(content.reader);
  else
    yield* reads.stream(content.record.account_id, signal, () =>
      keptWhileSent(ctx, content.record, read(content.newReader())),
    );
}

/** The same chunks, counted; errors of the store as problems. */
export async function* sent(ctx: Ctx, chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const { counts } = ctx.services.snapshots;
  try {
    for await (const chunk of chunks) {
      counts.sent(chunk.length);
      yield chunk;
    }
  } catch (error) {
    throw storageProblem(error);
  }
}

/** Errors of the store as problems. */
export async function withStoreProblems<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw storageProblem(error);
  }
}
