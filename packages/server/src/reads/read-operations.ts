/**
 * `POST /v1/snapshots/{id}/read/…`: the operations of the read protocol. They share everything but the message, so they are a table here and
 * not a file each.
 */

import {
  answerRead,
  FormatError,
  maxReadRequestBytes,
  readOperations as names,
  type ReadOperation,
} from "@emanet/engine";
import { type Endpoint, endpoint } from "../kernel/http/endpoint.ts";
import { Problem } from "../kernel/problems.ts";
import { snapshotId, withStoreProblems } from "../snapshots/index.ts";
import { deadlineMs, openReadable, readType } from "./readable-snapshot.ts";

/** A client that sends less than a kilobyte in so much time has failed. */
const stallMs = 60_000;

/** The longest detail of a field error. */
const maxDetailLength = 500;

/** What the document says about each call. */
const texts: Readonly<Record<ReadOperation, readonly [summary: string, description: string]>> = {
  open: ["Begin to read a snapshot", "The root of the tree, and the keys that check content. They open nothing."],
  items: ["Read items", "The recipes of segments and nodes that the snapshot reaches."],
  frames: ["Find frames", "Where frames are that items of the snapshot need, with their block lists."],
  keys: ["Read keys of frames", "The keys of single frames that items of the snapshot need, and of no others."],
};

export const readOperations: readonly Endpoint[] = names.map(readOperation);

function readOperation(operation: ReadOperation): Endpoint {
  const [summary, description] = texts[operation];
  return endpoint(
    {
      ...{ id: `reads.${operation}`, method: "POST", path: `/v1/snapshots/{id}/read/${operation}` },
      tag: "reads",
      summary,
      description: `${description} The request and the answer are messages of the read protocol, see \`docs/PROTOCOL.md\`. Every call may be repeated.`,
      access: { kind: "account", scope: "snapshots:read" },
      withinVaults: true,
      // It changes nothing: a suspended account reads.
      whileSuspended: true,
      idempotency: "none",
      content: true,
      params: snapshotId,
      upload: { mediaTypes: [readType], maxBytes: maxReadRequestBytes, stallMs },
      deadlineMs,
      replies: {
        200: { description: "The answer, a message of the read protocol.", content: [readType], example: "…" },
      },
      errors: ["state_conflict", "snapshot_expired", "validation_failed"],
    },
    async (ctx, { principal, params, upload }) => {
      const readable = await openReadable(ctx, principal, params.id);
      const request = Buffer.concat(await Array.fromAsync(upload.chunks()));
      const body = await withStoreProblems(() => answerRead(readable, operation, request)).catch(asProblem);
      return { status: 200, headers: { "Content-Type": readType }, body };
    },
  );
}

function asProblem(error: unknown): never {
  if (!(error instanceof FormatError)) throw error;
  const errors = [{ pointer: "", code: "malformed", detail: error.message.slice(0, maxDetailLength) }];
  throw new Problem("validation_failed", { errors, cause: error });
}
