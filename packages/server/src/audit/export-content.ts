/**
 * The content of an export, made while it is sent: some hundred kilobytes are in memory, whatever its size. The same export gives the
 * same bytes each time, so that a part of it can be asked for later.
 */

import { createHash, hash } from "node:crypto";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { constants, createGzip } from "node:zlib";
import type { ReadTx } from "../kernel/tx.ts";
import { type CheckpointRow, checkpointsBetween } from "./checkpoint-store.ts";
import { type ExportedRecord, type ExportFormat, formats, type LineWriter, type Opening } from "./export-formats.ts";
import type { Identities } from "./identities.ts";
import { type RecordFilter, type RecordTexts, readTexts } from "./record-store.ts";

/** What an export has, and where it comes from. */
export interface ExportContent {
  readonly opening: Opening;
  readonly format: ExportFormat;
  /** The checkpoint of the last record. */
  readonly closing: string;
  readonly createdAt: Date;
  readonly read: <T>(work: (tx: ReadTx) => Promise<T>) => Promise<T>;
  readonly identities: Identities;
  /** Only records that fit all of them. */
  readonly filters?: readonly RecordFilter[];
  readonly mask?: (record: ExportedRecord) => ExportedRecord;
  /** Signs what was made. Equal digests give the same statement. */
  readonly sign: (made: MadeContent) => Promise<string>;
}

export interface MadeContent {
  readonly records: number;
  /** SHA-256 of all bytes before the closing line, in hexadecimal digits. */
  readonly content_sha256: string;
}

/**
 * A checkpoint is in the database at most so long after its time. Younger ones are left out of an export: they could be missing when
 * its content is made, and be there when it is made again.
 */
const settledMs = 5 * 60_000;

/** Records of one query: some 700 KB of text. */
const recordsPerRead = 1_000;

/** Queries that run ahead of what is sent, so that the database works while lines are made. They are the memory of an export. */
const readsAhead = 3;

/** The whole content, in the format's bytes. */
export async function* exportBytes(content: ExportContent): AsyncGenerator<Buffer> {
  const { opening, closing } = content;
  const lines = new CheckedLines(formats[content.format].writer(opening.chain));
  const digest = createHash("sha256");
  const hashed = (text: string) => {
    const bytes = Buffer.from(text);
    digest.update(bytes);
    return bytes;
  };
  yield hashed(lines.opening(opening));
  let records = 0;
  for await (const batch of content.opening.selection === "all" ? rangesOf(content) : selectedOf(content)) {
    if (batch.rows.length === 0) continue;
    yield hashed(linesOf(content, lines, batch));
    records += batch.rows.length;
  }
  const made = { records, content_sha256: digest.digest("hex") };
  yield Buffer.from(lines.writer.closing({ records, checkpoint: closing, statement: await content.sign(made) }));
}

/** Records, and the checkpoints that were made between them. */
interface Batch {
  readonly rows: readonly RecordTexts[];
  readonly checkpoints: readonly Pick<CheckpointRow, "seq" | "jws">[];
}

/** All records of a part. Its numbers have no gaps, so that several queries can run at the same time. */
async function* rangesOf(content: ExportContent): AsyncGenerator<Batch> {
  const { opening, read, createdAt } = content;
  const { chain, first_seq: first, last_seq: last } = opening;
  const before = new Date(createdAt.getTime() - settledMs);
  const readRange = (after: number) => {
    const end = Math.min(after + recordsPerRead, last);
    // Both travel together.
    const batch = read(async (tx) => {
      const [rows, checkpoints] = await Promise.all([
        readTexts(tx, chain, { after, last: end, limit: recordsPerRead }, content.filters),
        checkpointsBetween(tx, chain, after + 1, end, before),
      ]);
      return { rows, checkpoints };
    });
    // Reported when it is awaited. A client that leaves before is no reason for an error.
    batch.catch(() => undefined);
    return batch;
  };
  const ahead: Promise<Batch>[] = [];
  for (let next = first - 1; next < last || ahead.length > 0; ) {
    for (; next < last && ahead.length < readsAhead; next += recordsPerRead) ahead.push(readRange(next));
    const batch = await ahead.shift();
    if (batch !== undefined) yield batch;
  }
}

/** The records that filters choose. A selection with gaps does not show the hashes between them, and so no checkpoints. */
async function* selectedOf({ opening, read, filters }: ExportContent): AsyncGenerator<Batch> {
  const { chain, last_seq: last } = opening;
  const readNext = (after: number) => {
    const rows = read((tx) => readTexts(tx, chain, { after, last, limit: recordsPerRead }, filters));
    rows.catch(() => undefined);
    return rows;
  };
  let batch = readNext(opening.first_seq - 1);
  for (;;) {
    const rows = await batch;
    const end = rows.at(-1)?.seq;
    const isLast = rows.length < recordsPerRead;
    // The next records are read while these are sent.
    if (!isLast && end !== undefined) batch = readNext(end);
    yield { rows, checkpoints: [] };
    if (isLast) return;
  }
}

/** 64 bits find what was changed by accident. What was changed on purpose is found by the hashes and the signature. */
const checkLength = 16;

/** Adds to each line a check over it and all lines before. */
class CheckedLines {
  readonly writer: LineWriter;
  #state = "";

  constructor(writer: LineWriter) {
    this.writer = writer;
  }

  opening(opening: Opening): string {
    const { writer } = this;
    return `${writer.header}${this.#checked(writer.opening(opening), writer.openingEnd ?? writer.lineEnd)}`;
  }

  record(record: ExportedRecord): string {
    return this.#checked(this.writer.record(record), this.writer.lineEnd);
  }

  checkpoint(jws: string): string {
    return this.#checked(this.writer.checkpoint(jws), this.writer.lineEnd);
  }

  #checked(text: string, end: string): string {
    this.#state = hash("sha256", this.#state + text);
    return `${text}${this.#state.slice(0, checkLength)}${end}`;
  }
}

/** The lines of some records, with the checkpoints that were made between them. */
function linesOf({ opening, identities, mask }: ExportContent, lines: CheckedLines, batch: Batch): string {
  const { rows, checkpoints } = batch;
  let text = "";
  let at = 0;
  for (const row of rows) {
    const record = exported(row, identities);
    text += lines.record(mask === undefined ? record : mask(record));
    const checkpoint = checkpoints[at];
    if (checkpoint?.seq !== row.seq) continue;
    at += 1;
    // That of the last record is in the closing line.
    if (row.seq !== opening.last_seq) text += lines.checkpoint(checkpoint.jws);
  }
  return text;
}

function exported(row: RecordTexts, identities: Identities): ExportedRecord {
  const { seq, id, action, outcome, actor, targets, context, metadata, hash } = row;
  const person = identities.nameOf(row.actor_id);
  return {
    ...{ seq, id, action, outcome, actor, targets, context, metadata, hash, person, isMasked: false },
    ...{ occurredAt: row.occurred_at, prevHash: row.prev_hash },
  };
}

/** Level 1 is a third of the CPU time of level 6, and a fifth larger. */
const gzipOptions = { level: constants.Z_BEST_SPEED };

export async function* gzipped(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const gzip = createGzip(gzipOptions);
  const done = pipeline(Readable.from(chunks), gzip);
  // What fails is thrown to the reader of the other end.
  done.catch(() => undefined);
  try {
    for await (const chunk of gzip) yield chunk as Buffer;
    await done;
  } finally {
    gzip.destroy();
  }
}

/** The bytes from `start` to `end`, `end` not included. */
export async function* sliceOf(
  chunks: AsyncIterable<Buffer>,
  { start, end }: { readonly start: number; readonly end: number },
): AsyncGenerator<Buffer> {
  let at = 0;
  for await (const chunk of chunks) {
    const part = chunk.subarray(Math.max(0, start - at), Math.max(0, end - at));
    at += chunk.length;
    if (part.length > 0) yield part;
    if (at >= end) return;
  }
}

/** Calls back with the number of bytes when the last one was taken. */
export async function* counted(
  chunks: AsyncIterable<Buffer>,
  done: (bytes: number) => Promise<void>,
): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    yield chunk;
  }
  await done(bytes);
}
