/**
 * The body of a request to durable parts. It goes through the spool stripe by stripe, so a file of any size takes 64 MiB of the
 * spool at most, and the first stripes are stored while the next are sent.
 */

import { createHash, type Hash, timingSafeEqual } from "node:crypto";
import { encodePart, hashOfParts, type StoredPart, stripeBytes } from "@emanet/engine";
import type { Ctx } from "../kernel/http/endpoint.ts";
import { Problem } from "../kernel/problems.ts";
import type { SnapshotRecord } from "../snapshots/index.ts";
import type { ContentDigest } from "./content-digest.ts";

/** So often a request that waits for its content to be stored tells the kernel that it is not stuck. */
const waitingBeatMs = 5_000;

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
  const stripes = new StripeReceiver(ctx, record);
  try {
    for await (const chunk of counted(ctx, chunks)) {
      for (const hash of hashes) hash.update(chunk);
      await stripes.append(chunk);
    }
    const sha256 = checkDigests(digests, hashes);
    await stripes.end();
    const { parts, size } = stripes;
    return { parts: parts.map(encodePart), size, hash: hashOfParts(parts), sha256 };
  } finally {
    await stripes.remove();
  }
}

async function* counted(ctx: Ctx, chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
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

/** Collects stripes in the spool and stores each that is full. */
class StripeReceiver {
  readonly #ctx: Ctx;
  readonly #record: SnapshotRecord;
  readonly parts: StoredPart[] = [];
  #file: Awaited<ReturnType<Ctx["services"]["snapshots"]["spool"]["create"]>> | null = null;
  #pageLayout: Parameters<Ctx["services"]["files"]["store"]>[1]["pageLayout"] = null;
  /** Bytes in parts. */
  size = 0;

  constructor(ctx: Ctx, record: SnapshotRecord) {
    this.#ctx = ctx;
    this.#record = record;
  }

  async append(chunk: Buffer): Promise<void> {
    for (let rest = chunk; rest.length > 0; ) {
      this.#file ??= await this.#ctx.services.snapshots.spool.create(this.#record.account_id, "part");
      const taken = rest.subarray(0, stripeBytes - this.#file.size);
      await this.#file.append(taken);
      rest = rest.subarray(taken.length);
      if (this.#file.size === stripeBytes) await this.#store(false);
    }
  }

  /** Stores what is left. */
  async end(): Promise<void> {
    if (this.#file !== null) await this.#store(true);
  }

  async remove(): Promise<void> {
    await this.#file?.remove();
  }

  async #store(isLast: boolean): Promise<void> {
    const file = this.#file;
    if (file === null) return;
    await file.flush();
    const { files } = this.#ctx.services;
    const content = { path: Buffer.from(file.path), offset: 0 };
    const at = this.size;
    const waiting = setInterval(() => this.#ctx.progressed(), waitingBeatMs);
    try {
      const cut = await files.store(this.#record, {
        ...{ content, length: file.size, at, isLast, pageLayout: this.#pageLayout },
      });
      this.parts.push(cut.part);
      this.#pageLayout = cut.pageLayout;
    } finally {
      clearInterval(waiting);
    }
    this.size += file.size;
    this.#file = null;
    await file.remove();
  }
}
