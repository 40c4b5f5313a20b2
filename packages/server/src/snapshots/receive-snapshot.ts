/**
 * A snapshot in one call: the body of one request is a tar archive or one file, and the answer is the completed snapshot.
 *
 * Order: everything that can be refused is refused before the body. With its first byte the snapshot is `running`. The body
 * goes to the spool, because a backup reads in another order than an archive has; then it is cut, stored and committed
 * (`store-upload.ts`). Whatever fails after the first byte leaves a `failed` snapshot with its reason, and nothing in the
 * spool.
 */

import { filePath, InvalidArchiveError, SpoolFullError } from "../archives/index.ts";
import type { Ctx } from "../kernel/http/endpoint.ts";
import type { Upload } from "../kernel/http/upload.ts";
import { invalidField } from "../kernel/http/validate.ts";
import { errorFields } from "../kernel/log.ts";
import { actorOf, rowAccessOf } from "../kernel/principal.ts";
import { Problem } from "../kernel/problems.ts";
import { createSnapshot, endUpload } from "./lifecycle.ts";
import { newRow, type OneCall, openTarget, type StartedUpload } from "./new-upload.ts";
import { findSnapshot, type SnapshotRecord } from "./store.ts";
import { storeUpload } from "./store-upload.ts";
import { failureOf, type UploadFailure, withSnapshotId } from "./upload-failures.ts";

export interface ReceivedSnapshot {
  readonly record: SnapshotRecord;
  readonly sourceCreated: boolean;
}

/** Receives and stores a snapshot. Throws the problem of what went wrong, with the id of the failed snapshot. */
export async function receiveSnapshot(ctx: Ctx, call: OneCall): Promise<ReceivedSnapshot> {
  const { principal } = call;
  refuseBefore(ctx, call);
  const { target, context } = await ctx.tx(rowAccessOf(principal), async (tx) => ({
    target: await openTarget(tx, ctx.random, call, "/query"),
    context: { actor: actorOf(principal), context: tx.auditOrigin, signal: endless },
  }));
  const chunks = await firstByte(call.upload);
  const id = ctx.random.uuid();
  const { snapshots } = ctx.services;
  const record = await snapshots.receive(id, async (stopping) => {
    const row = await ctx.tx(rowAccessOf(principal), async (tx) => {
      const made = await newRow(tx, call, target, { id, upload_kind: "one_call" });
      await createSnapshot(tx, { ...made, state: "running", started_at: tx.now });
      return made;
    });
    const started = { ...call, id, target, parentId: row.parent_id, trigger: row.trigger, chunks, context };
    try {
      await storeUpload(ctx, started, AbortSignal.any([ctx.signal, stopping]));
    } catch (error) {
      await settleFailure(ctx, started, error);
    }
    return readRecord(ctx, started);
  });
  snapshots.counts.uploadEnded("completed");
  return { record, sourceCreated: target.sourceCreated };
}

const endless = new AbortController().signal;

/** What is known to fail is refused before the client sends it. */
function refuseBefore({ services }: Ctx, { principal, upload, body, language }: OneCall): void {
  const { spool } = services.snapshots;
  const announced = upload.announcedBytes ?? 0;
  if (announced > spool.ownerBytes) throw new Problem("payload_too_large");
  try {
    if (body.kind === "file") filePath(body.path);
    spool.check(principal.accountId, announced);
  } catch (error) {
    if (error instanceof SpoolFullError) throw failureOf(error, language).answer;
    if (!(error instanceof InvalidArchiveError)) throw error;
    throw new Problem("validation_failed", { errors: [invalidField("/query/path", "wrong_format", language)] });
  }
}

/** Waits for the first byte or for the end of an empty body. */
async function firstByte(upload: Upload): Promise<AsyncIterable<Buffer>> {
  const rest = upload.chunks()[Symbol.asyncIterator]();
  const first = await rest.next();
  return (async function* () {
    try {
      for (let step = first; step.done !== true; step = await rest.next()) yield step.value;
    } finally {
      await rest.return?.();
    }
  })();
}

/**
 * The snapshot has failed, and the answer is thrown; unless it was completed after all and only the answer of the database was
 * lost.
 */
async function settleFailure(ctx: Ctx, started: StartedUpload, error: unknown): Promise<void> {
  const { id, context, principal, language } = started;
  const { snapshots } = ctx.services;
  const failure = stateOf(ctx, error) ?? failureOf(error, language);
  try {
    const end = { state: "failed", code: failure.code, reason: failure.reason } as const;
    const isFailed = await snapshots.transactions.run(context, rowAccessOf(principal), (tx) => endUpload(tx, id, end));
    if (!isFailed && (await readRecord(ctx, started)).status === "completed") return;
  } catch (second) {
    // Without its heartbeat the upload is found and ended by a job.
    ctx.log.warn("upload_not_settled", { ...errorFields(second), target_id: id });
  }
  snapshots.counts.uploadEnded(failure.code);
  throw withSnapshotId(failure.answer, id);
}

/** The client has left, or the service stops: whatever the error was, the upload was interrupted. */
function stateOf({ signal }: Ctx, error: unknown): UploadFailure | null {
  if (!signal.aborted) return null;
  return { code: "upload_interrupted", reason: null, answer: error };
}

async function readRecord(ctx: Ctx, { id, context, principal }: StartedUpload): Promise<SnapshotRecord> {
  const { transactions } = ctx.services.snapshots;
  const record = await transactions.read(context, rowAccessOf(principal), (tx) =>
    findSnapshot(tx, principal.accountId, id),
  );
  if (record === undefined) throw new Problem("not_found");
  return record;
}
