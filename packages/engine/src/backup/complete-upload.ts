/**
 * Completes an upload: manifest → record in the chain → row. Any process may do it, and it may be done twice, at the same time
 * too: the first manifest in the store is the one that counts, the chain gets one record, and the row is added once.
 */

import type { Retention, SnapshotRow, UploadState } from "../catalog/catalog.ts";
import { CatalogError } from "../catalog/catalog.ts";
import { assertNewestEpoch, assertNotRevoked } from "../catalog/claim-session.ts";
import type { ChainWriter } from "../catalog/vault-chain.ts";
import { appendToChain, chainWriter, VaultChain } from "../catalog/vault-chain.ts";
import { Bitmap } from "../format/bitmap.ts";
import { FormatError, sameBytes } from "../format/bytes.ts";
import type { ChainEntry } from "../format/chain.ts";
import { sha256 } from "../format/hash.ts";
import type { Manifest, SnapshotDraft } from "../format/manifest.ts";
import { acceptManifest, openDraft, openManifest } from "../format/manifest.ts";
import type { SessionHeader } from "../format/session-header.ts";
import type { Signer } from "../format/signing.ts";
import { isObjectStoreError } from "../object-store.ts";
import type { VaultAccess } from "../vault.ts";

export interface Completion {
  readonly access: VaultAccess & { readonly keys: { readonly vaultId: Uint8Array } };
  readonly upload: string;
  readonly authority: Signer;
  readonly decideRetention: (requested: Retention) => Retention;
}

interface ReadDraft {
  readonly header: SessionHeader;
  readonly row: SnapshotRow;
}

/** Completes a running upload. */
export async function completeUpload(
  completion: Completion,
  state: UploadState,
  draft: SnapshotDraft,
): Promise<SnapshotRow> {
  const { access, upload, authority } = completion;
  const { header, row: drafted } = await readDraft(completion, state, draft);
  const { manifest, row, isNew } = await putManifest(completion, drafted, draft);
  const chain = chainWriter(access, authority);
  const entry = {
    kind: "completed",
    snapshot: row.id,
    manifestHash: sha256(manifest),
    retention: row.retention,
    reserved: { session: state.session, ranges: state.ordinals },
  } as const;
  const changes = await recordCompletion(chain, header, entry, isNew);
  const completed = { ...row, changes };
  try {
    await access.catalog.commit(upload, access.ctx.now(), completed);
    return completed;
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error;
    // Another process has completed it meanwhile.
    if (error.code === "conflict" || error.code === "unknown_upload") return findCompleted(completion, draft);
    // The upload has not expired, so prune has not recovered the manifest. Without its row it must be deleted: a rebuild
    // of the catalog would add the refused snapshot.
    if (error.code === "not_closed") {
      await appendToChain(chain, () => ({ kind: "deleted", snapshot: row.id, by: "refused by the catalog" }));
      await access.store.delete(access.names.manifest(row.id));
      await access.catalog.endUpload(upload);
    }
    throw error;
  }
}

/** The row of a snapshot that was completed before with the same draft. Rejects with `unknown_upload` if there is none. */
export async function findCompleted(
  { access, upload, authority }: Completion,
  draft: SnapshotDraft,
): Promise<SnapshotRow> {
  const { id } = draft.row;
  openDraft(draft.manifest, { snapshot: id, vaultId: access.keys.vaultId }, authority.publicKey);
  const row = await access.catalog.snapshot(id);
  if (row === null) throw new CatalogError("unknown_upload", upload);
  const stored = await access.store.get(access.names.manifest(id));
  if (!isOfDraft(stored, draft)) throw new CatalogError("conflict", `snapshot ${id} exists`);
  return row;
}

/** The row that the draft's manifest describes, and its session. Only the source's name, which is private, comes from the draft. */
async function readDraft(
  { access, authority }: Completion,
  state: UploadState,
  { manifest, row: { id, source } }: SnapshotDraft,
): Promise<ReadDraft> {
  const expected = { snapshot: id, vaultId: access.keys.vaultId };
  const { header, row } = openDraft(manifest, expected, authority.publicKey);
  const [known, nextOrdinal] = await Promise.all([
    access.catalog.session(header.session),
    access.catalog.reserveOrdinals(0),
    assertNotRevoked(access.catalog, header),
    assertNewestEpoch(access.catalog, header.epoch),
  ]);
  if (header.session !== state.session || header.nonce !== state.nonce)
    throw new FormatError("the manifest is of another session than the upload");
  if (known !== null && !sameBytes(known.header, header.bytes))
    throw new FormatError("the manifest has another session header than the packs");
  // Decoding fails if the bitmap has an ordinal that was never reserved.
  Bitmap.decode(row.reach, nextOrdinal);
  return { header, row: { ...row, source, status: "completed" } };
}

/** Accepts the manifest and stores it, or takes the one that an earlier call has stored. */
async function putManifest(
  { access, authority, decideRetention }: Completion,
  drafted: SnapshotRow,
  draft: SnapshotDraft,
): Promise<{ readonly manifest: Uint8Array; readonly row: SnapshotRow; readonly isNew: boolean }> {
  const accepted = { at: access.ctx.now(), retention: decideRetention(draft.row.retention) };
  const manifest = acceptManifest(authority, draft.manifest, accepted);
  const name = access.names.manifest(drafted.id);
  try {
    await access.store.put(name, manifest, { ifAbsent: true });
    return { manifest, row: { ...drafted, completedAt: accepted.at, retention: accepted.retention }, isNew: true };
  } catch (error) {
    if (!isObjectStoreError(error, "exists")) throw error;
  }
  const stored = await access.store.get(name);
  if (!isOfDraft(stored, draft)) throw new CatalogError("conflict", `snapshot ${drafted.id} exists`);
  const expected = { snapshot: drafted.id, vaultId: access.keys.vaultId };
  const { row }: Manifest = openManifest(stored, expected, authority.publicKey);
  const { completedAt, retention } = row;
  return { manifest: stored, row: { ...drafted, completedAt, retention }, isNew: false };
}

/** Whether a stored manifest is the accepted draft: it begins with the draft. */
function isOfDraft(stored: Uint8Array, { manifest }: SnapshotDraft): boolean {
  return stored.length > manifest.length && sameBytes(stored.subarray(0, manifest.length), manifest);
}

/**
 * Adds the record of the completion to the chain, unless the chain has it, and returns its sequence number. The chain is
 * searched for the record if the manifest is not new, and again after each failed attempt to write: another process may
 * have written it.
 *
 * The chain may have got a revocation of the writer since the draft was read. Then the completion is refused and the new
 * manifest is deleted. Otherwise every later prune would stop at this manifest without a row.
 */
async function recordCompletion(
  chain: ChainWriter,
  header: SessionHeader,
  entry: CompletedEntry,
  isNew: boolean,
): Promise<number> {
  const known = new VaultChain(chain);
  let maybeThere = !isNew;
  try {
    return await appendToChain(chain, async () => {
      const found = maybeThere ? (await known.read()).snapshots.get(entry.snapshot) : undefined;
      if (found !== undefined) throw new AlreadyRecorded(found.sequence);
      maybeThere = true;
      try {
        await assertNotRevoked(chain.catalog, header);
      } catch (error) {
        if (isNew && error instanceof FormatError) await chain.store.delete(chain.names.manifest(entry.snapshot));
        throw error;
      }
      return entry;
    });
  } catch (error) {
    if (error instanceof AlreadyRecorded) return error.sequence;
    throw error;
  }
}

type CompletedEntry = Extract<ChainEntry, { kind: "completed" }>;

/** Ends an append: the chain has the record. */
class AlreadyRecorded extends Error {
  override readonly name = "AlreadyRecorded";
  readonly sequence: number;

  constructor(sequence: number) {
    super("the chain has the completion already");
    this.sequence = sequence;
  }
}
