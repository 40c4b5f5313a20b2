/**
 * A snapshot in one call: the body of one request is an archive or one file, and the answer is the completed snapshot.
 *
 * Order: everything that can be refused is refused before the body, and nothing is written until its first byte. With that
 * byte the source is made if it is new, and the snapshot is `running`. The body goes to the spool, because a backup reads in another order than an archive has; then it is cut, stored and committed
 * (`store-upload.ts`). Whatever fails after the first byte leaves a `failed` snapshot with its reason, and nothing in the
 * spool.
 */

import { filePath, InvalidArchiveError, SpoolFullError } from "../archives/index.ts";
import type { Ctx, Reply } from "../kernel/http/endpoint.ts";
import { invalidField } from "../kernel/http/validate.ts";
import { errorFields } from "../kernel/log.ts";
import { actorOf, rowAccessOf } from "../kernel/principal.ts";
import { Problem } from "../kernel/problems.ts";
import { createSnapshot, endUpload } from "./lifecycle.ts";
import { checkUpload, newRow, type OneCall, openTarget, type StartedUpload } from "./new-upload.ts";
import { pruneFullVault } from "./removal.ts";
import { findSnapshot, type SnapshotRecord } from "./store.ts";
import { storeUpload } from "./store-upload.ts";
import { failureOf, type UploadFailure, withSnapshotId } from "./upload-failures.ts";

export interface ReceivedSnapshot {
  readonly record: SnapshotRecord;
  readonly sourceCreated: boolean;
}

/**
 * Receives and stores a snapshot. Throws the problem of what went wrong, with the id of the failed snapshot. The answer is
 * recorded in the commit that completes the snapshot: who repeats the request after a crash gets it.
 */
export async function receiveSnapshot<Answer extends Reply>(
  ctx: Ctx,
  call: OneCall,
  answer: (received: ReceivedSnapshot) => Answer,
): Promise<Answer> {
  const { principal } = call;
  const { snapshots } = ctx.services;
  refuseBefore(ctx, call);
  await ctx.read(rowAccessOf(principal), (tx) => checkUpload(tx, ctx.random, call));
  const chunks = await firstByte(call);
  const id = ctx.random.uuid();
  const reply = await snapshots.receive(id, async (live) => {
    const begun = await beginUpload(ctx, call, id);
    const { sourceCreated } = begun.target;
    const started = { ...call, ...begun, chunks };
    live.onCompleted = async (tx) => {
      const record = await findSnapshot(tx, principal.accountId, id);
      if (record !== undefined) await ctx.recordReply(tx, answer({ record, sourceCreated }));
    };
    try {
      await storeUpload(ctx, started, AbortSignal.any([ctx.signal, live.stopping]));
    } catch (error) {
      await settleFailure(ctx, started, error);
    }
    return answer({ record: await readRecord(ctx, started), sourceCreated });
  });
  snapshots.counts.uploadEnded("completed");
  return reply;
}

/** The first byte is there: the source, its writer and the row, in one commit. */
async function beginUpload(ctx: Ctx, call: OneCall, id: string) {
  const { principal } = call;
  return ctx.tx(rowAccessOf(principal), async (tx) => {
    const target = await openTarget(tx, ctx.random, call, "/query");
    const row = await newRow(tx, call, target, { id, upload_kind: "one_call" });
    await createSnapshot(tx, { ...row, state: "running", started_at: tx.now });
    const context = { actor: actorOf(principal), context: tx.auditOrigin, signal: endless };
    return { id, target, parentId: row.parent_id, trigger: row.trigger, context };
  });
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

/** Waits for the first byte. A file may have none; an archive without one is refused like everything before the first byte. */
async function firstByte({ upload, body, language }: OneCall): Promise<AsyncIterable<Buffer>> {
  const rest = upload.chunks()[Symbol.asyncIterator]();
  const first = await rest.next();
  if (first.done === true && body.kind !== "file")
    throw failureOf(new InvalidArchiveError(body.kind === "tar" ? "no_end_mark" : "not_a_zip"), language).answer;
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
    const isFailed = await snapshots.transactions.run(context, rowAccessOf(principal), async (tx) => {
      if (end.code === "quota_exceeded") await pruneFullVault(tx, principal.accountId, started.target.vault.id);
      return endUpload(tx, id, end);
    });
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
