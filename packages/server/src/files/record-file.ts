/** Records a file whose content is stored, and what happens to the snapshot when content cannot be stored. */

import type { Ctx } from "../kernel/http/endpoint.ts";
import { rowAccessOf } from "../kernel/principal.ts";
import { type Language, Problem } from "../kernel/problems.ts";
import type { Tx } from "../kernel/tx.ts";
import {
  endUpload,
  failureOf,
  pruneFullVault,
  type SnapshotRecord,
  startUpload,
  touchUpload,
  withSnapshotId,
} from "../snapshots/index.ts";
import { directoriesAbove, type FilePath } from "./file-paths.ts";
import { removeFileUpload } from "./file-upload-store.ts";
import { type AccountPrincipal, assertTakesFiles, lockOwn } from "./open-snapshot.ts";
import { deleteParts, type NewFile, noteFiles, putFile, takePlace } from "./store.ts";

/** So often the row of a snapshot says that files come: an upload is abandoned after a day without one. */
const touchEveryMs = 60_000;

/**
 * Adds a stored file to its snapshot. Returns whether it is new. Throws `state_conflict` if the snapshot takes no file any more,
 * or if a file would be in the place of a directory.
 */
export async function recordFile(tx: Tx, principal: AccountPrincipal, id: string, file: NewFile): Promise<boolean> {
  const record = await lockOwn(tx, principal, id);
  assertTakesFiles(record);
  const [place, coming] = await Promise.all([
    takePlace(tx, record, file.path, directoriesAbove(file.path)),
    removeFileUpload(tx, id, file.path),
  ]);
  if (place.isTaken) throw pathIsTaken();
  // A file that came whole replaces one that is still coming in parts.
  if (coming !== null && file.firstPart === 0) await deleteParts(tx, id, coming);
  const [made] = await Promise.all([
    putFile(tx, record, file, place.contentId),
    tx.now.getTime() - record.active_at.getTime() >= touchEveryMs && touchUpload(tx, id),
  ]);
  await start(tx, record);
  return made === "new";
}

/** Throws `state_conflict` where a file would be in the place of a directory, or a directory in the place of a file. */
export async function requirePlace(tx: Tx, record: SnapshotRecord, path: FilePath): Promise<void> {
  if ((await takePlace(tx, record, path, directoriesAbove(path))).isTaken) throw pathIsTaken();
}

function pathIsTaken(): Problem {
  return new Problem("state_conflict", { members: { reason: "path_is_no_directory" } });
}

/** The same chunks. With the first one the snapshot is `running`, and its content comes file by file. */
export async function* startedBy(
  ctx: Ctx,
  principal: AccountPrincipal,
  id: string,
  chunks: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer> {
  let isStarted = false;
  for await (const chunk of chunks) {
    if (!isStarted)
      await ctx.tx(rowAccessOf(principal), async (tx) => {
        const record = await lockOwn(tx, principal, id);
        assertTakesFiles(record);
        await start(tx, record);
      });
    isStarted = true;
    yield chunk;
  }
}

async function start(tx: Tx, record: SnapshotRecord): Promise<void> {
  if (record.status === "queued") await startUpload(tx, record);
  if (!record.has_files) await noteFiles(tx, record);
}

/** Runs what stores content. A full vault ends the snapshot; after every other error the client may send the file again. */
export async function storing<T>(
  ctx: Ctx,
  record: SnapshotRecord,
  language: Language,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { code, answer } = failureOf(error, language);
    if (code === "quota_exceeded") await failOverQuota(ctx, record);
    throw withSnapshotId(answer, record.id);
  }
}

async function failOverQuota(ctx: Ctx, record: SnapshotRecord): Promise<void> {
  const { snapshots } = ctx.services;
  const context = { actor: { kind: "system" }, context: {}, signal: endless } as const;
  const access = { kind: "account", accountId: record.account_id } as const;
  const isEnded = await snapshots.transactions.run(context, access, async (tx) => {
    await pruneFullVault(tx, record.account_id, record.vault_id);
    return endUpload(tx, record.id, { state: "failed", code: "quota_exceeded", reason: null });
  });
  if (isEnded) snapshots.counts.uploadEnded("quota_exceeded");
}

const endless = new AbortController().signal;
