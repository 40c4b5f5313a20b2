/**
 * The body of a request to durable parts. It goes through the spool stripe by stripe, so a file of any size takes 64 MiB of the
 * spool at most, and the first stripes are stored while the next are sent.
 */

import { type CutPart, encodePart, hashOfParts, type StoredPart } from "@emanet/engine";
import type { Ctx } from "../kernel/http/endpoint.ts";
import type { SnapshotRecord } from "../snapshots/index.ts";
import { type ContentDigest, DigestCheck } from "./content-digest.ts";
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
  const check = new DigestCheck(digests);
  const parts: StoredPart[] = [];
  const onStripe = async ({ part }: CutPart) => void parts.push(part);
  const stripes = new StripeReceiver({ ctx, record, storedBytes: 0, pageLayout: null, onStripe });
  try {
    for await (const chunk of counted(ctx, chunks)) {
      check.add(chunk);
      await stripes.append(chunk);
    }
    const sha256 = check.finish();
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
