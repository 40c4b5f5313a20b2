/**
 * Completes a closed upload: the tree is made from the rows of the files, by an upload of its own, and committed.
 *
 * States: *open* → *closed* (no more files; a process has the completion, and says that it lives) → completed, or failed. A process
 * that dies leaves the upload closed; a repeated call or a job goes on after a minute. The manifest is kept in the row before it is
 * stored. So the process that goes on stores the same one, and a snapshot never has two.
 */

import {
  CatalogError,
  type LocalTarget,
  openDraft,
  runBackup,
  type SnapshotDraft,
  type UploadTarget,
  type Vault,
  writerKeys,
} from "@emanet/engine";
import type { Random } from "../kernel/clock.ts";
import type { Services } from "../kernel/domain-services.ts";
import { errorFields, type Log } from "../kernel/log.ts";
import { Problem } from "../kernel/problems.ts";
import type { ReadTx, Tx, TxContext } from "../kernel/tx.ts";
import {
  endUpload,
  engineId,
  type FailureCode,
  findSnapshot,
  pruneFullVault,
  type SnapshotRecord,
  withTwinWarnings,
} from "../snapshots/index.ts";
import { findVault, storageProblem } from "../vaults/index.ts";
import { newUploadName, ownerOf, targetOf } from "./file-sessions.ts";
import { insertSession, keepDraft, readFiles, readParts, releaseCompletion } from "./store.ts";
import { LostContentError, storedSource } from "./stored-source.ts";

export interface CompletionPorts {
  readonly services: Services;
  readonly random: Random;
  readonly log: Log;
  /** In whose name it is completed. Its signal must not end with the request. */
  readonly context: TxContext;
}

/** Files whose rows are read at a time. */
const filesPerPage = 512;

/** Completes a snapshot whose completion this process has claimed. Throws what went wrong; the snapshot has failed, or is tried again. */
export async function completeClaimed(ports: CompletionPorts, record: SnapshotRecord): Promise<void> {
  const { snapshots, files } = ports.services;
  try {
    await files.close(record.id);
    await snapshots.receive(record.id, ({ stopping }) =>
      snapshots.backups.run(record.account_id, stopping, () => makeSnapshot(ports, record, stopping)),
    );
    snapshots.counts.uploadEnded("completed");
  } catch (error) {
    await settle(ports, record, error);
  }
}

async function makeSnapshot(ports: CompletionPorts, record: SnapshotRecord, signal: AbortSignal): Promise<void> {
  const { services, context, random } = ports;
  const vault = await services.vaults.open(record.account_id, record.vault_id, context);
  if (record.draft !== null && record.draft_upload !== null) {
    await targetOf(vault, record, record.draft_upload).complete(draftOf(vault, record, record.draft));
    return;
  }
  const upload = newUploadName(random, record.id);
  const taxpayer = await run(ports, record, async (tx) => {
    await insertSession(tx, record, upload);
    return (await findVault(tx, record.account_id, record.vault_id))?.taxpayer_id ?? undefined;
  });
  const { snapshot } = await runBackup({
    ...{ ctx: vault.ctx, keys: writerKeys(vault.keys), signer: vault.authority, pool: services.snapshots.cutPool },
    ...{ sourceName: record.source_id, owner: ownerOf(record), signal, snapshotId: engineId(record.id) },
    source: withTwinWarnings(
      storedSource({
        ...{ record, vault, upload, reader: services.snapshots.readers.shared(vault) },
        page: (after) => read(ports, record, (tx) => pageOf(tx, record.id, after)),
      }),
    ),
    target: keepingDraft(targetOf(vault, record, upload), (draft) =>
      run(ports, record, (tx) => keepDraft(tx, record, upload, Buffer.from(draft.manifest))),
    ),
    details: {
      taxpayer,
      label: record.label ?? undefined,
      trigger: record.trigger,
      externalReference: record.external_reference ?? undefined,
      metadata: Object.keys(record.metadata).length === 0 ? undefined : JSON.stringify(record.metadata),
      parent: record.parent_id === null ? undefined : engineId(record.parent_id),
    },
  });
  services.snapshots.counts.stored(snapshot.storedBytes);
}

async function pageOf(tx: ReadTx, id: string, after: Buffer) {
  const rows = await readFiles(tx, id, after, filesPerPage);
  const parts = await readParts(
    tx,
    id,
    rows.map(({ content_id }) => content_id),
  );
  return rows.map((row) => ({ ...row, parts: parts.get(row.content_id) ?? [] }));
}

/** The target with one more step: the manifest is kept before it is stored. After that the upload goes on, whatever happens. */
function keepingDraft(local: LocalTarget, keep: (draft: SnapshotDraft) => Promise<void>): UploadTarget {
  let isKept = false;
  return {
    begin: (base) => local.begin(base),
    reserveOrdinals: (request, count) => local.reserveOrdinals(request, count),
    offer: (queries) => local.offer(queries),
    offerNodes: (ids) => local.offerNodes(ids),
    putPack: (name, body) => local.putPack(name, body),
    register: (unit) => local.register(unit),
    renew: () => local.renew(),
    async complete(draft) {
      await keep(draft);
      isKept = true;
      return local.complete(draft);
    },
    abandon: async () => {
      if (!isKept) await local.abandon();
    },
  };
}

/** The draft that another attempt has kept. */
function draftOf(vault: Vault, record: SnapshotRecord, manifest: Buffer): SnapshotDraft {
  const expected = { snapshot: engineId(record.id), vaultId: vault.keys.vaultId };
  const { row } = openDraft(manifest, expected, vault.authority.publicKey);
  return { manifest, row: { ...row, source: record.source_id } };
}

/** After an error: the snapshot has failed, or its completion is free for the next attempt. */
async function settle(ports: CompletionPorts, record: SnapshotRecord, thrown: unknown): Promise<void> {
  const error = storageProblem(thrown);
  try {
    const now = await read(ports, record, (tx) => findSnapshot(tx, record.account_id, record.id));
    // Only the answer of the database was lost, or another process was faster.
    if (now?.status === "completed") return;
    if (now === undefined || now.status === "failed" || now.status === "canceled") throw new Problem("state_conflict");
    const code = failureOf(error);
    await run(ports, record, async (tx) => {
      if (code === null) return releaseCompletion(tx, record);
      if (code === "quota_exceeded") await pruneFullVault(tx, record.account_id, record.vault_id);
      await endUpload(tx, record.id, { state: "failed", code, reason: null });
    });
    if (code !== null) ports.services.snapshots.counts.uploadEnded(code);
    if (code === "verification_failed") throw new Problem("state_conflict", { cause: error });
  } catch (second) {
    if (second instanceof Problem) throw second;
    // Without its heartbeat the completion is free after a minute.
    ports.log.warn("upload_not_settled", { ...errorFields(second), target_id: record.id });
  }
  throw error;
}

/** The failure that an error means; null if another attempt may succeed. */
function failureOf(error: unknown): FailureCode | null {
  if (error instanceof LostContentError) return "verification_failed";
  if (error instanceof Problem && error.code === "quota_exceeded") return "quota_exceeded";
  if (error instanceof CatalogError) return "internal";
  return null;
}

function access({ account_id: accountId }: SnapshotRecord) {
  return { kind: "account", accountId } as const;
}

function run<T>({ services, context }: CompletionPorts, record: SnapshotRecord, work: (tx: Tx) => Promise<T>) {
  return services.snapshots.transactions.run(context, access(record), work);
}

function read<T>({ services, context }: CompletionPorts, record: SnapshotRecord, work: (tx: ReadTx) => Promise<T>) {
  return services.snapshots.transactions.read(context, access(record), work);
}
