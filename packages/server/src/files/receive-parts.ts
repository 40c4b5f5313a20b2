/**
 * The body of a request to durable parts. It goes through the spool stripe by stripe, so a file of any size takes 64 MiB of the
 * spool at most, and the first stripes are stored while the next are sent.
 */

import { createHash, type Hash, timingSafeEqual } from "node:crypto";
import { type CutPart, encodePart, hashOfParts, type StoredPart } from "@emanet/engine";
import type { Ctx } from "../kernel/http/endpoint.ts";
import { Problem } from "../kernel/problems.ts";
import type { SnapshotRecord } from "../snapshots/index.ts";
import type { ContentDigest } from "./content-digest.ts";
import { StripeReceiver } from "./stripe-receiver.ts";

export interface ReceivedFile {
  readonly parts: readonly Buffer[];
  readonly size: number;
  readonly hash: Uint8Array;
  readonly sha256: Uint8Array | null;
}

/** Receives a whole file. Throws `content_mismatch` if it has another digest than its client said. */
export async function receiveFile(
  ctx: Ctx,
  record: SnapshotRecord,
  chunks: AsyncIterable<Buffer>,
  digests: readonly ContentDigest[],
): Promise<ReceivedFile> {
  const hashes = digests.map(({ algorithm }) => createHash(algorithm));
  const parts: StoredPart[] = [];
  const onStripe = async ({ part }: CutPart) => void parts.push(part);
  const stripes = new StripeReceiver({ ctx, record, storedBytes: 0, pageLayout: null, onStripe });
  try {
    for await (const chunk of counted(ctx, chunks)) {
      for (const hash of hashes) hash.update(chunk);
      await stripes.append(chunk);
    }
    const sha256 = checkDigests(digests, hashes);
    const { size } = stripes;
    const rest = await stripes.storeRest();
    if (rest !== null) parts.push(rest);
    return { parts: parts.map(encodePart), size, hash: hashOfParts(parts), sha256 };
  } finally {
    await stripes.remove();
  }
}

/** The same chunks, counted. */
export async function* counted(ctx: Ctx, chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const { counts } = ctx.services.snapshots;
  for await (const chunk of chunks) {
    counts.received(chunk.length);
    yield chunk;
  }
}

/** Compares all digests. Returns the SHA-256, if it is among them. */
function checkDigests(digests: readonly ContentDigest[], hashes: readonly Hash[]): Buffer | null {
  let sha256: Buffer | null = null;
  for (const [i, { algorithm, expected }] of digests.entries()) {
    const found = hashes[i]?.digest();
    if (found === undefined || !timingSafeEqual(found, expected)) throw new Problem("content_mismatch");
    if (algorithm === "sha256") sha256 = found;
  }
  return sha256;
}
