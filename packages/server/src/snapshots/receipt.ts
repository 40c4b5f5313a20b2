/** What a receipt says of a snapshot. `docs/RECEIPTS.md` describes the fields for those who check one. */

import { createHash } from "node:crypto";
import type { FileEntry } from "@emanet/engine";
import type { Ctx } from "../kernel/http/endpoint.ts";
import { entriesBelow } from "./archive-entries.ts";
import { fileBytes, type SnapshotContent, withStoreProblems } from "./read-content.ts";
import { textFields } from "./tree-shapes.ts";

/** The contract's. The root hash stands for the files of larger snapshots. */
const maxFiles = 100;

/** Read and hashed for one receipt: a third of a second of CPU, and more than the documents of an e-archive transmission. */
const maxHashedBytes = 64 * 1024 * 1024;

interface ListedFile {
  readonly entry: FileEntry;
  readonly path: Buffer;
}

export async function receiptOf(ctx: Ctx, content: SnapshotContent, signal: AbortSignal): Promise<object> {
  const { record, chainSequence } = content;
  const files = await listedFiles(content);
  return {
    iss: ctx.publicUrl,
    snapshot_id: record.id,
    account_id: record.account_id,
    vault_id: record.vault_id,
    source: record.source_name,
    root_hash: record.root_hash?.toString("hex"),
    completed_at: record.completed_at?.toISOString(),
    size_bytes: record.size_bytes,
    file_count: record.file_count,
    verified: record.verified_at !== null && record.verification_failed_at === null,
    chain_sequence: chainSequence,
    ...(files !== null && { files: await withDigests(ctx, content, files, signal) }),
  };
}

/** The files of the snapshot; null where there are too many, or too many bytes to hash. */
async function listedFiles(content: SnapshotContent): Promise<readonly ListedFile[] | null> {
  if ((content.record.file_count ?? 0) > maxFiles) return null;
  const found: ListedFile[] = [];
  let toHash = 0;
  return withStoreProblems(async () => {
    for await (const { entry, path } of entriesBelow(content.reader, { entry: content.root, path: Buffer.alloc(0) })) {
      if (entry.type !== "file") continue;
      found.push({ entry, path });
      if (knownDigest(content, entry) === null) toHash += entry.size;
      if (found.length > maxFiles || toHash > maxHashedBytes) return null;
    }
    return found;
  });
}

/** One that this service has computed when the bytes arrived. What an agent says of its files is not signed by us. */
function knownDigest({ record }: SnapshotContent, { sha256 }: FileEntry): Uint8Array | null {
  return record.upload_kind === "upload" ? null : (sha256 ?? null);
}

async function withDigests(ctx: Ctx, content: SnapshotContent, files: readonly ListedFile[], signal: AbortSignal) {
  const listed: object[] = [];
  for (const { entry, path } of files) {
    const digest = knownDigest(content, entry) ?? (await digestOf(ctx, content, entry, signal));
    listed.push({ ...textFields("path", path), sha256: Buffer.from(digest).toString("hex") });
  }
  return listed;
}

async function digestOf(ctx: Ctx, content: SnapshotContent, entry: FileEntry, signal: AbortSignal): Promise<Buffer> {
  const hash = createHash("sha256");
  const whole = { content, entry, start: 0, end: entry.size };
  for await (const chunk of fileBytes(ctx, whole, signal)) hash.update(chunk);
  return hash.digest();
}
