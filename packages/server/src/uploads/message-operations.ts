/**
 * `POST /v1/snapshots/{id}/upload/…`: the operations of the upload protocol whose request is a message. They share everything but the
 * message, so they are a table here and not a file each.
 */

import { answerCall, type MessageOperation, maxRequestBytes } from "@emanet/engine";
import { type Ctx, type Endpoint, endpoint } from "../kernel/http/endpoint.ts";
import { Problem } from "../kernel/problems.ts";
import { endUpload, pruneFullVault, snapshotId } from "../snapshots/index.ts";
import { guardedTarget } from "./guarded-target.ts";
import { type AccountPrincipal, type OpenUpload, openUpload } from "./open-upload.ts";
import { problemOf } from "./refusals.ts";

export const messageType = "application/vnd.emanet.upload";

/** A client that sends less than a kilobyte in so much time has failed. */
export const stallMs = 60_000;

/** Between two steps of a call: longer than a slow object store takes for a pack or the chain of a busy vault. */
export const deadlineMs = 120_000;

export const uploadErrors = [
  "agent_required",
  "state_conflict",
  "quota_exceeded",
  "validation_failed",
  "unavailable",
] as const;

/** What the document says about each call. */
const texts: Readonly<Record<MessageOperation, readonly [summary: string, description: string]>> = {
  begin: [
    "Begin an upload",
    "Begins the session of an upload, with a base snapshot of the same source if the client has one. The snapshot becomes `running`.",
  ],
  ordinals: ["Reserve ordinals", "Reserves numbers for new segments and nodes."],
  offer: [
    "Offer segments",
    "Asks which segments and blocks are stored. An upload is told of its own content, and of verified content of others if the client may read snapshots.",
  ],
  nodes: ["Offer tree nodes", "Asks which tree nodes are stored."],
  register: ["Register packs", "Registers packs that are stored, and what they hold."],
  renew: ["Renew an upload", "Extends the lease of an upload by an hour."],
  complete: ["Complete an upload", "Completes the snapshot with the manifest that the agent has signed."],
  abandon: [
    "Abandon an upload",
    "Ends an upload that has begun without a snapshot. What was registered is known to the next upload.",
  ],
};

export const messageOperations: readonly Endpoint[] = (Object.keys(texts) as MessageOperation[]).map(messageOperation);

function messageOperation(operation: MessageOperation): Endpoint {
  const [summary, description] = texts[operation];
  return endpoint(
    {
      ...{ id: `uploads.${operation}`, method: "POST", path: `/v1/snapshots/{id}/upload/${operation}` },
      tag: "uploads",
      summary,
      description: `${description} The request and the answer are messages of the upload protocol, see \`docs/PROTOCOL.md\`. For the agent that created the snapshot. Every call may be repeated.`,
      access: { kind: "account", scope: "snapshots:write" },
      withinVaults: true,
      // Every call can be repeated as it is: it names what it does by numbers of its own.
      idempotency: "none",
      // A backup makes a call per 8 MiB of content, so calls about content spend bytes in flight.
      content: true,
      params: snapshotId,
      upload: { mediaTypes: [messageType], maxBytes: maxRequestBytes[operation], stallMs },
      deadlineMs,
      replies: {
        200: { description: "The answer, a message of the upload protocol.", content: [messageType], example: "…" },
      },
      errors: uploadErrors,
    },
    async (ctx, { principal, params, upload }) => {
      const body = await answerUpload(ctx, principal, params.id, async (open) => {
        const chunks: Buffer[] = [];
        for await (const chunk of upload.chunks()) chunks.push(chunk);
        return answerCall(guardedTarget(open), operation, Buffer.concat(chunks));
      });
      return { status: 200, headers: { "Content-Type": messageType }, body };
    },
  );
}

/** Opens the upload and answers. Errors of the engine become problems. An upload over its quota has failed. */
export async function answerUpload(
  ctx: Ctx,
  principal: AccountPrincipal,
  id: string,
  answer: (upload: OpenUpload) => Promise<Buffer>,
): Promise<Buffer> {
  const upload = await openUpload(ctx, principal, id);
  try {
    return await answer(upload);
  } catch (error) {
    const problem = problemOf(error);
    if (problem instanceof Problem && problem.code === "quota_exceeded") await failOverQuota(upload);
    throw problem;
  }
}

async function failOverQuota({ settle, record, vault }: OpenUpload): Promise<void> {
  await settle(async (tx) => {
    await endUpload(tx, record.id, { state: "failed", code: "quota_exceeded", reason: null });
    await pruneFullVault(tx, record.account_id, record.vault_id);
  });
  await vault.catalog.endUpload(record.id);
}
