/**
 * Exports: begun once, sent any number of times within a day. An export is a part of a chain without gaps. It begins and ends with a
 * checkpoint, and its last line is a signed statement about all bytes before it.
 */

import { chooseEncoding } from "../kernel/http/compression.ts";
import type { Ctx } from "../kernel/http/endpoint.ts";
import { type RangeConditions, rangedReply } from "../kernel/http/range.ts";
import { Type, text, uuid } from "../kernel/http/schema.ts";
import type { RowAccess } from "../kernel/principal.ts";
import type { RunTx, Tx } from "../kernel/tx.ts";
import { insertCheckpoint } from "./checkpoint-store.ts";
import { accessOfChain, checkpointAt, type NewCheckpoint } from "./checkpoints.ts";
import { counted, type ExportContent, exportBytes, gzipped, type MadeContent, sliceOf } from "./export-content.ts";
import { type ExportFormat, exportFormats, formats, formatVersion } from "./export-formats.ts";
import { type ExportRow, insertExport, updateExport } from "./export-store.ts";
import { type Identities, noIdentities, readIdentities } from "./identities.ts";
import { storeCheckpoints } from "./jobs.ts";
import { type ChainPart, findPart, type RecordFilter } from "./record-store.ts";

/** The contract's time for resuming. */
const exportLifeMs = 24 * 60 * 60_000;

/** Between two chunks: longer than a slow database takes for a thousand records. */
export const exportDeadlineMs = 60_000;

/** For the specs of the operations that answer with an export. */
export const exportMediaTypes = exportFormats.map((format) => formats[format].mediaType.replace(/;.*/, "")) as [
  string,
  ...string[],
];

export const exportHeaders = {
  "X-Export-Id": uuid("Id of the export. `GET /v1/audit/export/{id}` resumes it for 24 hours."),
  "Content-Disposition": text(300, { description: "`attachment` with a name.", examples: ["attachment"] }),
};

/** Declared by the operations, so that `handle` gets it. */
export const encodingHeader = {
  "Accept-Encoding": Type.Optional(
    Type.String({
      maxLength: 200,
      pattern: "^[ -~]*$",
      description: "With `gzip` the content is compressed.",
      examples: ["gzip"],
    }),
  ),
};

interface Begin {
  readonly chain: string;
  readonly format: ExportFormat;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** Who may resume it: the account, or staff. */
  readonly owner: Extract<RowAccess, { kind: "account" | "platform" }>;
}

/** A part of a chain, and the checkpoints before and at its end. They may be new, and are not in the database then. */
export interface CheckpointedPart extends ChainPart {
  readonly opening: NewCheckpoint;
  readonly closing: NewCheckpoint;
}

export async function checkpointedPart(
  ctx: Ctx,
  chain: string,
  time: Pick<RecordFilter, "from" | "to">,
): Promise<CheckpointedPart> {
  const read: ExportContent["read"] = (work) => ctx.read(accessOfChain(chain), work);
  const { firstSeq, lastSeq } = await read((tx) => findPart(tx, chain, time));
  const sources = { receipts: ctx.services.receipts, publicUrl: ctx.publicUrl, now: ctx.clock.now() };
  const opening = await checkpointAt(read, sources, { chain, seq: firstSeq - 1, reason: "export" });
  const closing =
    lastSeq < firstSeq ? opening : await checkpointAt(read, sources, { chain, seq: lastSeq, reason: "export" });
  return { firstSeq, lastSeq, opening, closing };
}

/** Keeps the checkpoints of a part, and has them put into the object store. */
export async function keepCheckpoints(tx: Tx, chain: string, { opening, closing }: CheckpointedPart): Promise<void> {
  for (const one of [opening, closing]) await insertCheckpoint(tx, one);
  await tx.job({ task: storeCheckpoints, payload: { chain }, exclusiveKey: `audit.${chain}` });
}

/** Chooses the part of the chain, makes its two checkpoints and records the export in the chain. */
export async function beginExport(ctx: Ctx, { chain, format, from, to, owner }: Begin): Promise<ExportRow> {
  const time = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
  const part = await checkpointedPart(ctx, chain, time);
  const { firstSeq, lastSeq, opening, closing } = part;
  return ctx.tx(accessOfChain(chain), async (tx) => {
    const row: ExportRow = {
      ...{ id: ctx.random.uuid(), account_id: owner.kind === "account" ? owner.accountId : null, chain, format },
      ...{ from_time: timeOf(from), to_time: timeOf(to), first_seq: firstSeq, last_seq: lastSeq },
      ...{ opening: opening.jws, closing: closing.jws, created_at: tx.now },
      expires_at: new Date(tx.now.getTime() + exportLifeMs),
      ...{ identities: null, statement: null, size_bytes: null, gzip_bytes: null },
    };
    await keepCheckpoints(tx, chain, part);
    await tx.within(owner, (inner) => insertExport(inner, row));
    const metadata = { format, first_seq: firstSeq, last_seq: lastSeq };
    tx.audit({ action: "audit.exported", targets: [{ type: "audit_export", id: row.id }], metadata });
    return row;
  });
}

function timeOf(text: string | undefined): Date | null {
  return text === undefined ? null : new Date(text);
}

interface Send {
  readonly row: ExportRow;
  readonly acceptEncoding: string | undefined;
  readonly owner: Begin["owner"];
}

/** The content of an export, with the names of today. */
async function openExport(ctx: Ctx, { row, owner }: Send): Promise<{ content: ExportContent; etag: string }> {
  const { chain, format } = row;
  const identities = await identitiesOf(ctx, ctx.tx, chain);
  const content: ExportContent = {
    format: format,
    opening: {
      ...{ format: formatVersion, export_id: row.id, chain, from: isoOf(row.from_time), to: isoOf(row.to_time) },
      ...{ selection: "all", masked: false, first_seq: row.first_seq, last_seq: row.last_seq, checkpoint: row.opening },
    },
    closing: row.closing,
    createdAt: row.created_at,
    read: (work) => ctx.read(accessOfChain(chain), work),
    identities,
    sign: (made) => statementOf(ctx, { row, owner, identities, made }),
  };
  return { content, etag: `${row.id}-${identities.digest.toString("base64url").slice(0, tagLength)}` };
}

/** 96 bits: names that differ have tags that differ. */
const tagLength = 16;

export async function identitiesOf(ctx: Ctx, tx: RunTx, chain: string): Promise<Identities> {
  if (chain === "platform") return noIdentities;
  return tx(accessOfChain(chain), (inner) => readIdentities(inner, ctx, chain));
}

function isoOf(time: Date | null): string | null {
  return time?.toISOString() ?? null;
}

interface Statement {
  readonly row: ExportRow;
  readonly owner: Begin["owner"];
  readonly identities: Identities;
  readonly made: MadeContent;
}

/** The signed statement about an export: the one that was made before, or a new one. */
async function statementOf(ctx: Ctx, { row, owner, identities, made }: Statement): Promise<string> {
  if (row.statement !== null && row.identities?.equals(identities.digest)) {
    const said = JSON.parse(Buffer.from(row.statement.split(".")[1] ?? "", "base64url").toString()) as MadeContent;
    if (said.content_sha256 !== made.content_sha256) throw new Error("an export differs from what was signed");
    return row.statement;
  }
  const { chain, first_seq, last_seq, format } = row;
  const payload = {
    ...{ iss: ctx.publicUrl, export_id: row.id, chain, format, selection: "all", masked: false, first_seq, last_seq },
    ...made,
    made_at: row.created_at.toISOString(),
  };
  const statement = await ctx.services.receipts.sign({ typ: "emanet-audit-export+jws" }, payload);
  await ctx.tx(owner, (tx) => updateExport(tx, row.id, { statement, identities: identities.digest }));
  return statement;
}

/** The whole export, as it is made. */
export async function sendExport(ctx: Ctx, send: Send) {
  const { row, owner } = send;
  const { content, etag } = await openExport(ctx, send);
  const isGzip = wantsGzip(send.acceptEncoding);
  const bytes = () => (isGzip ? gzipped(exportBytes(content)) : exportBytes(content));
  const remember = (size: number) =>
    ctx.tx(owner, (tx) => updateExport(tx, row.id, isGzip ? { gzip_bytes: size } : { size_bytes: size }));
  return {
    status: 200,
    headers: replyHeaders(row, isGzip),
    body: { length: null, etag: tagOf(etag, isGzip), chunks: () => counted(bytes(), remember) },
  } as const;
}

/** A part of an export. When it was never sent to its end, it is made once to know its size. */
export async function resumeExport(ctx: Ctx, send: Send, conditions: RangeConditions) {
  const { row, owner } = send;
  const isGzip = wantsGzip(send.acceptEncoding);
  const { content, etag } = await openExport(ctx, send);
  const bytes = (of: ExportContent) => (isGzip ? gzipped(exportBytes(of)) : exportBytes(of));
  const isKnown = row.identities?.equals(content.identities.digest) ?? false;
  let size = isKnown ? (isGzip ? row.gzip_bytes : row.size_bytes) : null;
  let { sign } = content;
  if (size === null) {
    const made = await measure(ctx, bytes({ ...content, sign: once(content.sign, (signed) => (sign = signed)) }));
    size = made;
    await ctx.tx(owner, (tx) => updateExport(tx, row.id, isGzip ? { gzip_bytes: made } : { size_bytes: made }));
  }
  const settled = { ...content, sign };
  return rangedReply(conditions, {
    ...{ size, etag: tagOf(etag, isGzip), headers: replyHeaders(row, isGzip) },
    chunks: (part) => sliceOf(bytes(settled), part),
  });
}

/** Remembers what was signed: the second time must give the same bytes, and keys can change in between. */
function once(sign: ExportContent["sign"], keep: (signed: ExportContent["sign"]) => unknown): ExportContent["sign"] {
  return async (made) => {
    const statement = await sign(made);
    keep(async (again) => {
      if (again.content_sha256 !== made.content_sha256) throw new Error("an export differs from what was signed");
      return statement;
    });
    return statement;
  };
}

async function measure(ctx: Ctx, chunks: AsyncIterable<Buffer>): Promise<number> {
  let size = 0;
  for await (const chunk of chunks) {
    ctx.signal.throwIfAborted();
    ctx.progressed();
    size += chunk.length;
  }
  return size;
}

export function wantsGzip(acceptEncoding: string | undefined): boolean {
  const gzip = acceptEncoding
    ?.split(",")
    .map((part) => part.trim())
    .filter((part) => /^(?:gzip|identity|\*)(?:;|$)/i.test(part))
    .join(",");
  return chooseEncoding(gzip?.replace("*", "gzip")) === "gzip";
}

function tagOf(etag: string, isGzip: boolean): string {
  return `"${etag}${isGzip ? "-gzip" : ""}"`;
}

export function replyHeaders(
  { id, format, created_at: createdAt }: Pick<ExportRow, "id" | "format" | "created_at">,
  isGzip: boolean,
) {
  const name = `emanet-audit-${createdAt.toISOString().slice(0, 10)}.${format}`;
  return {
    "Content-Type": formats[format].mediaType,
    "Content-Disposition": `attachment; filename="${name}"`,
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Export-Id": id,
    Vary: "Accept-Encoding",
    ...(isGzip && { "Content-Encoding": "gzip" }),
  };
}
