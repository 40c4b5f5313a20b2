/** A call of the read protocol: what every operation with such a message declares, and how it is answered. */

import { answerRead, FormatError, maxReadRequestBytes, type ReadOperation } from "@emanet/engine";
import type { Upload } from "../kernel/http/upload.ts";
import { Problem } from "../kernel/problems.ts";
import { withStoreProblems } from "../snapshots/index.ts";
import { deadlineMs, type ReadableSnapshot, readType } from "./readable-snapshot.ts";

/** A client that sends less than a kilobyte in so much time has failed. */
const stallMs = 60_000;

/** The longest detail of a field error. */
const maxDetailLength = 500;

/** What the document says about each call. */
const texts: Readonly<Record<ReadOperation, readonly [summary: string, description: string]>> = {
  open: ["Begin to read a snapshot", "The root of the tree, and the keys that check content. They open nothing."],
  items: ["Read items", "The recipes of segments and nodes that the snapshot reaches."],
  frames: ["Find frames", "Where frames are that items of the snapshot need, with their block lists."],
  find: [
    "Find paths",
    "What the other calls would tell on the way to some paths: items, places and keys of frames, and their sealed bytes, as far as the limits of one answer allow.",
  ],
  keys: ["Read keys of frames", "The keys of single frames that items of the snapshot need, and of no others."],
};

export function messageSpec(operation: ReadOperation) {
  const [summary, description] = texts[operation];
  return {
    summary,
    description: `${description} The request and the answer are messages of the read protocol, see \`docs/PROTOCOL.md\`. Every call may be repeated.`,
    withinVaults: true,
    // It changes nothing: a suspended account reads.
    whileSuspended: true,
    idempotency: "none",
    content: true,
    upload: { mediaTypes: [readType], maxBytes: maxReadRequestBytes, stallMs },
    deadlineMs,
    replies: {
      200: { description: "The answer, a message of the read protocol.", content: [readType], example: "…" },
    },
  } as const;
}

export async function answerMessage(readable: ReadableSnapshot, operation: ReadOperation, upload: Upload) {
  const request = Buffer.concat(await Array.fromAsync(upload.chunks()));
  const body = await withStoreProblems(() => answerRead(readable, operation, request)).catch(asProblem);
  return { status: 200, headers: { "Content-Type": readType }, body } as const;
}

function asProblem(error: unknown): never {
  if (!(error instanceof FormatError)) throw error;
  const errors = [{ pointer: "", code: "malformed", detail: error.message.slice(0, maxDetailLength) }];
  throw new Problem("validation_failed", { errors, cause: error });
}
