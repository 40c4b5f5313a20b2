/** Reading the body of an S3 answer: exactly as many bytes as were announced, or an error, and never a hung stream. */

import { Readable } from "node:stream";
import { ObjectStoreError } from "@emanet/engine/object-store";
import { abortedError } from "./body.ts";

/** Reads `length` bytes into a fresh buffer. Throws `unavailable` when the answer is cut short. */
export async function readExactly(body: unknown, length: number, signal?: AbortSignal): Promise<Uint8Array> {
  const stream = asStream(body);
  const onAbort = () => signal !== undefined && stream.destroy(abortedError(signal));
  signal?.addEventListener("abort", onAbort, { once: true });
  try {
    const bytes = Buffer.allocUnsafeSlow(length);
    let filled = 0;
    for await (const chunk of stream as AsyncIterable<Uint8Array>) {
      if (filled + chunk.byteLength > length) throw new ObjectStoreError("unavailable", "the answer is too long");
      bytes.set(chunk, filled);
      filled += chunk.byteLength;
    }
    if (filled < length) throw new ObjectStoreError("unavailable", `the answer ended ${length - filled} bytes early`);
    return bytes;
  } finally {
    signal?.removeEventListener("abort", onAbort);
  }
}

/** Ends an unread answer, so that its connection is free again. */
export function discard(body: unknown): void {
  // It may fail because it was cut; that does not matter.
  asStream(body)
    .on("error", () => undefined)
    .destroy();
}

function asStream(body: unknown): Readable {
  if (body instanceof Readable) return body;
  throw new ObjectStoreError("unavailable", "the answer has no body");
}
