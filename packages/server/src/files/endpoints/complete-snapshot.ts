/** `POST /v1/snapshots/{id}/complete`: makes the snapshot of the files that were sent. */

import { type Ctx, endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type, text } from "../../kernel/http/schema.ts";
import { actorOf, rowAccessOf } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import { doneWithin } from "../../kernel/within.ts";
import {
  findSnapshot,
  type SnapshotRecord,
  seesStorage,
  showSnapshot,
  snapshotId,
  snapshotShape,
} from "../../snapshots/index.ts";
import { completeClaimed } from "../complete.ts";
import { hasUnfinished } from "../file-upload-store.ts";
import { type AccountPrincipal, findOwn, isFileByFile, isOpen, lockOwn } from "../open-snapshot.ts";
import { claimCompletion } from "../store.ts";

/** So often a process looks whether another one has completed it. */
const lookEveryMs = 200;

/** Seconds after which a client may ask again. */
const retryAfterSeconds = 2;

const endless = new AbortController().signal;

export const completeSnapshot = endpoint(
  {
    id: "snapshots.complete",
    method: "POST",
    path: "/v1/snapshots/{id}/complete",
    aliases: ["/snapshots/{id}/complete"],
    tag: "snapshots",
    summary: "Complete a snapshot",
    description: [
      "Ends the upload of a snapshot whose files were sent one by one: the snapshot has every file that was answered before, and takes no more.",
      "The answer is the completed snapshot, and the same again on repetition. What takes longer than 20 seconds is answered with 202: it goes",
      "on, and repeating the call waits for it. `Prefer: respond-async` does not wait. For the creator of the snapshot. A file that has not come",
      "to its end in parts is `state_conflict`, with the reason `unfinished_file`.",
    ].join(" "),
    access: { kind: "account", scope: "snapshots:write" },
    withinVaults: true,
    // It is repeatable by itself. What takes long goes on after the answer, so no transaction can hold both.
    idempotency: "none",
    params: snapshotId,
    headers: closed({
      Prefer: Type.Optional(
        Type.String({ maxLength: 200, pattern: "^[ -~]*$", description: "RFC 7240: `respond-async` does not wait." }),
      ),
    }),
    replies: {
      200: { description: "The completed snapshot.", body: snapshotShape },
      202: {
        description: "It is being completed.",
        body: snapshotShape,
        headers: { "Retry-After": text(10, { description: "Seconds.", examples: [String(retryAfterSeconds)] }) },
      },
    },
    errors: ["state_conflict", "agent_required", "quota_exceeded"],
  },
  async (ctx, { principal, params, headers, language }) => {
    const { completionWaitMs } = ctx.services.files;
    const waitMs = /(?:^|,)\s*respond-async\s*(?:[,;]|$)/i.test(headers.Prefer ?? "") ? 0 : completionWaitMs;
    await settled(ctx, principal, params.id, waitMs);
    const record = await ctx.read(rowAccessOf(principal), (tx) => findOwn(tx, principal, params.id));
    const body = showSnapshot(record, { language, seesStorage: seesStorage(principal) });
    if (record.status === "completed") return { status: 200, body };
    if (!isOpen(record)) throw new Problem("state_conflict");
    return { status: 202, headers: { "Retry-After": String(retryAfterSeconds) }, body };
  },
);

/** Resolves when the snapshot is completed, or after the wait. Rejects with what went wrong. */
async function settled(ctx: Ctx, principal: AccountPrincipal, id: string, waitMs: number): Promise<void> {
  const claim = await ctx.tx(rowAccessOf(principal), async (tx) => {
    const record = await lockOwn(tx, principal, id);
    if (record.status === "completed") return null;
    if (!isOpen(record) || !isFileByFile(record)) throw new Problem("state_conflict");
    if (record.closed_at === null && (await hasUnfinished(tx, id)))
      throw new Problem("state_conflict", { members: { reason: "unfinished_file" } });
    const context = { actor: actorOf(principal), context: tx.auditOrigin, signal: endless };
    return { record, isOurs: await claimCompletion(tx, record), context };
  });
  if (claim === null) return;
  const { services, random, log } = ctx;
  const work = claim.isOurs
    ? completeClaimed({ services, random, log, context: claim.context }, claim.record)
    : untilEnded(ctx, principal, claim.record);
  // It goes on after the answer; what goes wrong then is in the row.
  work.catch(() => undefined);
  await doneWithin(waitMs, work);
}

/** Another process completes it. */
async function untilEnded(ctx: Ctx, principal: AccountPrincipal, { id }: SnapshotRecord): Promise<void> {
  for (let left = Math.ceil(ctx.services.files.completionWaitMs / lookEveryMs); left > 0; left--) {
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
    if (ctx.signal.aborted) return;
    const now = await ctx.read(rowAccessOf(principal), (tx) => findSnapshot(tx, principal.accountId, id));
    if (now === undefined || !isOpen(now)) return;
  }
}
