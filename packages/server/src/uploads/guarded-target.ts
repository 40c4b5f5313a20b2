/**
 * The upload target of one call: the engine's local target, and around it what the service decides. It keeps no state; the next
 * call may be answered by another process.
 *
 * - `begin` takes as base a snapshot of the same source that the client may use, and makes the snapshot `running`. Of damaged
 *   ordinals it tells only those of the base.
 * - `reserveOrdinals`: an upload has at most {@link maxUnusedOrdinals} that it has not used. Bitmaps have a bit for each.
 * - `complete` refuses a manifest of another snapshot or source. A rebuild takes the source from the manifest.
 * - An upload whose snapshot has ended is unknown, except for a repeated `complete` or `abandon`.
 */

import type { ClientUnit, SnapshotDraft, SnapshotRow, UploadStart, UploadTarget } from "@emanet/engine";
import { Bitmap, CatalogError, FormatError, openDetails, openDraft } from "@emanet/engine";
import {
  endUpload,
  engineId,
  findSnapshot,
  lockSnapshot,
  openStates,
  snapshotIdOf,
  startUpload,
  touchUpload,
} from "../snapshots/index.ts";
import type { OpenUpload } from "./open-upload.ts";
import { addItems, addUpload, countItems } from "./store.ts";

/** A client reserves batches of up to 4096 ahead, and registers after 4096 segments or 8192 nodes. */
const maxUnusedOrdinals = 64 * 1024;

export function guardedTarget(upload: OpenUpload): UploadTarget {
  const { local } = upload;
  return {
    begin: (base) => begin(upload, base),
    reserveOrdinals: async (request, count) => {
      assertOpen(upload);
      await assertOrdinals(upload, count);
      return local.reserveOrdinals(request, count);
    },
    offer: async (queries) => {
      assertOpen(upload);
      return local.offer(queries);
    },
    offerNodes: async (ids) => {
      assertOpen(upload);
      return local.offerNodes(ids);
    },
    putPack: async (name, body) => {
      assertOpen(upload);
      return local.putPack(name, body);
    },
    register: (unit) => register(upload, unit),
    renew: async () => {
      assertOpen(upload);
      await local.renew();
      await upload.run((tx) => touchUpload(tx, upload.record.id));
    },
    complete: (draft) => complete(upload, draft),
    abandon: () => abandon(upload),
  };
}

function isOpen({ record }: OpenUpload): boolean {
  return (openStates as readonly string[]).includes(record.status);
}

function assertOpen(upload: OpenUpload): void {
  if (!isOpen(upload)) throw new CatalogError("unknown_upload", upload.record.id);
}

async function begin(upload: OpenUpload, base: string | null): Promise<UploadStart> {
  const { local, record, agent, run } = upload;
  assertOpen(upload);
  const reach = base === null ? null : await baseReach(upload, base);
  const start = await local.begin(base);
  await run(async (tx) => {
    // A file may have come meanwhile. Then the content comes file by file.
    const now = await lockSnapshot(tx, record.account_id, record.id);
    if (now?.upload_kind !== "upload") throw new CatalogError("unknown_upload", record.id);
    const { account_id: accountId, vault_id: vaultId } = record;
    await Promise.all([
      startUpload(tx, record),
      touchUpload(tx, record.id),
      addUpload(tx, { snapshotId: record.id, accountId, vaultId, agentId: agent.id }),
    ]);
  });
  return { ...start, damaged: start.damaged.filter((ordinal) => reach?.has(ordinal) ?? false) };
}

/**
 * The ordinals of a base. A client may use a completed snapshot of the same source: its own, or if it may read, one of
 * others whose content was verified. Rejects with `unknown_snapshot`; the client then begins without a base.
 */
async function baseReach({ record, vault, read }: OpenUpload, base: string): Promise<Bitmap> {
  const found = await read((tx) => findSnapshot(tx, record.account_id, snapshotIdOf(base)));
  const isOwn = found?.created_by_kind === record.created_by_kind && found.created_by_id === record.created_by_id;
  const isKnown = isOwn || (!record.is_write_only && found?.verified_at != null);
  const row = found === undefined ? null : await vault.catalog.snapshot(base);
  if (row === null || found?.status !== "completed" || found.source_id !== record.source_id || !isKnown)
    throw new CatalogError("unknown_snapshot", "the base cannot be used");
  return Bitmap.decode(row.reach);
}

async function assertOrdinals({ record, vault, read }: OpenUpload, count: number): Promise<void> {
  const state = await vault.catalog.uploadState(record.id);
  const reserved = (state?.ordinals ?? []).reduce((sum, { first, end }) => sum + end - first, 0);
  const used = await read((tx) => countItems(tx, record.id));
  if (reserved + count - used > maxUnusedOrdinals)
    throw new FormatError(`the upload has ${reserved - used} ordinals that it has not used`);
}

async function register(upload: OpenUpload, unit: ClientUnit): Promise<void> {
  const { local, record, run } = upload;
  assertOpen(upload);
  await local.register(unit);
  // A repeated unit counts again. The bound is for clients that use no ordinals at all.
  await run((tx) => addItems(tx, record.id, unit.items.length));
}

async function complete(upload: OpenUpload, draft: SnapshotDraft): Promise<SnapshotRow> {
  const { local, record, vault, settle } = upload;
  if (record.status !== "completed") assertOpen(upload);
  const id = engineId(record.id);
  if (draft.row.id !== id) throw new FormatError("the manifest is of another snapshot");
  const expected = { snapshot: id, vaultId: vault.keys.vaultId };
  const manifest = openDraft(draft.manifest, expected, vault.authority.publicKey);
  if (draft.row.source !== record.source_id || openDetails(vault.keys, manifest).source !== record.source_id)
    throw new FormatError("the manifest is of another source");
  try {
    return await local.complete(draft);
  } catch (error) {
    // The engine has ended the upload: what the manifest names was never stored.
    if (error instanceof CatalogError && error.code === "not_closed")
      await settle((tx) => endUpload(tx, record.id, { state: "failed", code: "content_mismatch", reason: null }));
    throw error;
  }
}

async function abandon(upload: OpenUpload): Promise<void> {
  const { local, record, settle } = upload;
  await local.abandon();
  // A queued one has not begun: there is nothing to end.
  if (record.status === "running")
    await settle((tx) => endUpload(tx, record.id, { state: "canceled", code: "canceled", reason: null }));
}
