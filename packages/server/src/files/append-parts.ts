/**
 * The body of a request as the next part of a file. Each full stripe is durable, and the offset with it, while the next is sent; what
 * comes after the last full stripe is stored as the *tail* when the body ends or breaks off. The next request reads the tail back and
 * cuts it again with what follows, so a file has the same segments however it was divided. A process that dies loses less than a
 * stripe.
 *
 * A part with a digest counts as a whole or not at all: its stripes are stored as they come, and the offset moves when the digest was
 * compared.
 *
 * One writer per file: the offset moves only from what the request has found, and a request that comes second is told so.
 */

import { type CutPart, decodePart, encodePart, entryOfPart, hashOfParts, type StoredPart } from "@emanet/engine";
import type { Ctx } from "../kernel/http/endpoint.ts";
import { UploadInterrupted } from "../kernel/http/upload.ts";
import { actorOf, rowAccessOf } from "../kernel/principal.ts";
import { Problem } from "../kernel/problems.ts";
import type { Tx } from "../kernel/tx.ts";
import { type SnapshotRecord, touchUpload } from "../snapshots/index.ts";
import { type ContentDigest, DigestCheck } from "./content-digest.ts";
import type { FilePath } from "./file-paths.ts";
import { advanceFileUpload, type FileUploadRow, findFileUpload } from "./file-upload-store.ts";
import { type AccountPrincipal, assertTakesFiles, lockOwn } from "./open-snapshot.ts";
import { counted } from "./receive-parts.ts";
import { recordFile } from "./record-file.ts";
import { readParts } from "./store.ts";
import { StripeReceiver } from "./stripe-receiver.ts";

/** What arrived is kept also when its client has left. */
const endless = new AbortController().signal;

export interface Append {
  readonly ctx: Ctx;
  readonly principal: AccountPrincipal;
  readonly record: SnapshotRecord;
  readonly path: FilePath;
  /** As it was when the request began. */
  readonly upload: FileUploadRow;
  /** Of the body. */
  readonly digests: readonly ContentDigest[];
}

/**
 * Appends a body. Returns the new offset. Throws what broke the body off, after what came of it was stored. Of a body with digests
 * nothing is stored then, nor if one differs (`content_mismatch`).
 */
export async function appendParts(append: Append, chunks: AsyncIterable<Buffer>): Promise<number> {
  const { ctx, record, upload, digests } = append;
  const writer = new OffsetWriter(append);
  const layout = upload.page_bytes === null || upload.page_phase === null ? null : layoutOf(upload);
  const held: { readonly stripe: CutPart; readonly storedBytes: number }[] = [];
  const stripes = new StripeReceiver({
    ...{ ctx, record, storedBytes: upload.offset_bytes - tailBytes(upload), pageLayout: layout },
    onStripe: async (stripe, storedBytes) => {
      if (digests.length === 0) await writer.addStripe(stripe, storedBytes);
      else held.push({ stripe, storedBytes });
    },
  });
  const check = new DigestCheck(digests);
  try {
    await readTail(append, stripes);
    const broken = await receive(ctx, stripes, checked(chunks, check), upload.length_bytes);
    if (broken === null) check.finish();
    else if (digests.length > 0) throw broken;
    for (const { stripe, storedBytes } of held) await writer.addStripe(stripe, storedBytes);
    const rest = stripes.size === writer.offset ? null : await stripes.storeRest();
    if (stripes.size === upload.length_bytes) await writer.finish(rest);
    else if (rest !== null) await writer.setTail(rest, stripes.size);
    if (broken !== null) throw broken;
    return stripes.size;
  } finally {
    await stripes.remove();
  }
}

function layoutOf({ page_bytes: pageBytes, page_phase: phase }: FileUploadRow) {
  return { pageBytes: pageBytes ?? 0, phase: phase ?? 0 };
}

function tailBytes({ tail }: FileUploadRow): number {
  return tail === null ? 0 : entryOfPart(decodePart(tail)).size;
}

/** Puts the tail back into the spool. */
async function readTail({ ctx, record, upload }: Append, stripes: StripeReceiver): Promise<void> {
  if (upload.tail === null) return;
  const { vaults, snapshots } = ctx.services;
  const vault = await vaults.open(record.account_id, record.vault_id);
  const entry = entryOfPart(decodePart(upload.tail));
  const reader = snapshots.readers.own(vault);
  // A chunk is a view of the reader's cache, and the spool keeps what it collects.
  for await (const chunk of reader.read(entry)) await stripes.append(Buffer.from(chunk));
}

/** The same chunks, for the digests. */
async function* checked(chunks: AsyncIterable<Buffer>, check: DigestCheck): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    check.add(chunk);
    yield chunk;
  }
}

/** Receives the body. Returns what broke it off, or null. */
async function receive(
  ctx: Ctx,
  stripes: StripeReceiver,
  chunks: AsyncIterable<Buffer>,
  length: number,
): Promise<UploadInterrupted | null> {
  try {
    for await (const chunk of counted(ctx, chunks)) {
      if (stripes.size + chunk.length > length) throw new Problem("payload_too_large");
      await stripes.append(chunk);
    }
    return null;
  } catch (error) {
    if (error instanceof UploadInterrupted) return error;
    throw error;
  }
}

/** The request does not begin where the file ends. */
export function wrongOffset(): Problem {
  return new Problem("state_conflict", { members: { reason: "wrong_offset" } });
}

/** Moves the offset of a file: each step is a commit. */
class OffsetWriter {
  readonly #append: Append;
  /** Durable bytes. */
  offset: number;

  constructor(append: Append) {
    this.#append = append;
    this.offset = append.upload.offset_bytes;
  }

  /** `to`: the end of the stripe in the file. */
  async addStripe({ part, pageLayout }: CutPart, to: number): Promise<void> {
    const stripe = {
      ...{ part: encodePart(part), pageBytes: pageLayout?.pageBytes ?? null, pagePhase: pageLayout?.phase ?? null },
    };
    await this.#run((tx, record) => this.#advance(tx, record, { to, stripe, tail: null }));
    this.offset = to;
  }

  async setTail(part: StoredPart, to: number): Promise<void> {
    await this.#run((tx, record) => this.#advance(tx, record, { to, tail: encodePart(part) }));
    this.offset = to;
  }

  /** The file is whole. */
  async finish(rest: StoredPart | null): Promise<void> {
    const { principal, path, upload, record } = this.#append;
    const { content_id: contentId, mtime_seconds: seconds, mtime_nanos: nanos, mode, length_bytes: size } = upload;
    await this.#run(async (tx) => {
      const now = await findFileUpload(tx, record.id, path);
      if (now?.content_id !== contentId || now.offset_bytes !== this.offset) throw wrongOffset();
      const stored = (await readParts(tx, record.id, [contentId])).get(contentId) ?? [];
      const all = [...stored.map(decodePart), ...(rest === null ? [] : [rest])];
      const mtime = seconds === null ? null : { seconds, nanos: nanos ?? 0 };
      await recordFile(tx, principal, record.id, {
        ...{ path, contentId, size, mode, mtime, hash: hashOfParts(all), sha256: null },
        ...{ parts: rest === null ? [] : [encodePart(rest)], firstPart: stored.length },
      });
    });
    this.offset = size;
  }

  async #advance(
    tx: Tx,
    record: SnapshotRecord,
    step: Pick<Parameters<typeof advanceFileUpload>[3], "to" | "stripe" | "tail">,
  ): Promise<void> {
    const { path, upload } = this.#append;
    const isMoved = await advanceFileUpload(tx, record, path, {
      ...{ contentId: upload.content_id, from: this.offset },
      ...step,
    });
    if (!isMoved) throw wrongOffset();
    await touchUpload(tx, record.id);
  }

  #run(work: (tx: Tx, record: SnapshotRecord) => Promise<void>): Promise<void> {
    const { ctx, principal, record } = this.#append;
    const context = { actor: actorOf(principal), context: {}, signal: endless };
    return ctx.services.snapshots.transactions.run(context, rowAccessOf(principal), async (tx) => {
      const now = await lockOwn(tx, principal, record.id);
      assertTakesFiles(now);
      await work(tx, now);
    });
  }
}
