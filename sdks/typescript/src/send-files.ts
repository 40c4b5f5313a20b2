/** A snapshot of files that a program has: created, sent file by file, and completed. */

import type { EmanetApi } from "./api.generated.ts";
import type { NewSnapshot, Snapshot } from "./schemas.generated.ts";
import type { RequestBody } from "./streams.ts";

/** Files that are sent at the same time. The service stores files that come together in one step. */
const defaultAtOnce = 8;

export interface FileToSend {
  /** Its path in the snapshot: a text, or bytes where names are not UTF-8. */
  readonly path: string | Uint8Array;
  /** With a stream a lost connection ends the upload; bytes, a blob or a function are sent again. */
  readonly body: RequestBody;
  readonly mtime?: Date;
  /** Permissions, for example `0o640`. */
  readonly mode?: number;
}

export interface SendFilesOptions {
  readonly atOnce?: number;
  readonly signal?: AbortSignal;
}

/**
 * Sends a snapshot file by file and resolves when it is completed. If anything fails, the upload is canceled and the error is
 * thrown.
 *
 * @example
 * await sendFiles(client, { source: "defter" }, [{ path: "2026/11.xml", body: bytes, mtime }]);
 */
export async function sendFiles(
  client: Pick<EmanetApi, "snapshots">,
  snapshot: NewSnapshot,
  files: Iterable<FileToSend> | AsyncIterable<FileToSend>,
  { atOnce = defaultAtOnce, signal }: SendFilesOptions = {},
): Promise<Snapshot> {
  const options = signal === undefined ? {} : { signal };
  const { id } = await client.snapshots.create({ body: snapshot }, options);
  try {
    const next = iteratorOf(files);
    const sender = async () => {
      for (let step = await next(); step.done !== true; step = await next()) {
        const { path, body, mtime, mode } = step.value;
        const headers = {
          ...(mtime !== undefined && { "X-Emanet-Mtime": mtime.toISOString() }),
          ...(mode !== undefined && { "X-Emanet-Mode": mode.toString(8).padStart(4, "0") }),
        };
        await client.snapshots.putFile({ id, path, body }, { ...options, headers });
      }
    };
    await Promise.all(Array.from({ length: atOnce }, sender));
    for (;;) {
      const made = await client.snapshots.complete({ id }, options);
      if (made.status === "completed") return made;
    }
  } catch (error) {
    // What was thrown first is what matters. An upload that nobody ends is abandoned after a day.
    await client.snapshots.cancel({ id }).catch(() => undefined);
    throw error;
  }
}

/** One file after the other for several takers. */
function iteratorOf(files: Iterable<FileToSend> | AsyncIterable<FileToSend>) {
  const iterator = Symbol.asyncIterator in files ? files[Symbol.asyncIterator]() : files[Symbol.iterator]();
  let last: Promise<IteratorResult<FileToSend, unknown>> = Promise.resolve({ done: false } as never);
  return () => {
    last = last.then(async (before) => (before.done === true ? before : iterator.next()));
    return last;
  };
}
