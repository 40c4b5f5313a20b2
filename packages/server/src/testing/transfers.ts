/**
 * Operations that only tests have: they take uploads, send streams and have paths with a rest. Content is made of bytes that
 * depend on their place alone, so that any part can be checked without being kept.
 */

import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { type Endpoint, endpoint } from "../kernel/http/endpoint.ts";
import { rangedReply } from "../kernel/http/range.ts";
import { closed, Type, text } from "../kernel/http/schema.ts";
import { UploadInterrupted } from "../kernel/http/upload.ts";
import { rowAccessOf } from "../kernel/principal.ts";
import { Problem } from "../kernel/problems.ts";
import { insertNote } from "./notes.ts";

const common = { tag: "health", description: "For tests.", summary: "For tests" } as const;
const read = { kind: "account", scope: "account:read" } as const;
const write = { kind: "account", scope: "account:write" } as const;
const count = Type.Integer({ format: "int64", minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: "A number." });
const flag = Type.Boolean({ description: "A switch." });
const short = text(100, { examples: ["x"] });
const nullableText = Type.Union([short, Type.Null()]);

/** Small, so that tests reach it at once. */
export const maxUploadBytes = 8 * 1024 * 1024;

/** Tests that expect a stall wait as long. */
export const stallMs = 400;

/** What handlers of this file saw, newest last. */
export interface Seen {
  readonly what: string;
  readonly bytes: number;
}

export const seen: Seen[] = [];

/** Much longer than a handler needs on a busy machine. */
const patienceMs = 30_000;

/** Waits until the handlers have seen one of these. */
export async function untilSeen(...what: readonly string[]): Promise<Seen> {
  const end = performance.now() + patienceMs;
  for (;;) {
    const found = seen.find((one) => what.includes(one.what));
    if (found !== undefined) return found;
    if (performance.now() > end) throw new Error(`saw ${JSON.stringify(seen)}, and none of ${what}`);
    await delay(2);
  }
}

const counted = closed(
  {
    bytes: count,
    sha256: short,
    media_type: nullableText,
    encoding: nullableText,
    announced: Type.Union([count, Type.Null()]),
    mtime: nullableText,
  },
  { title: "TestUpload" },
);

/** Counts and hashes a body. `refuse` makes it refuse before, `after` once so many bytes have come. */
export const countUpload = endpoint(
  {
    ...common,
    id: "tests.count_upload",
    method: "POST",
    path: "/v1/test-uploads",
    aliases: ["/test-uploads"],
    access: write,
    content: true,
    query: closed({
      refuse: Type.Optional(flag),
      after: Type.Optional(count),
      ignore: Type.Optional(flag),
    }),
    headers: closed({
      "X-Test-Mtime": Type.Optional(
        Type.String({ maxLength: 30, pattern: "^\\d{4}-\\d\\d-\\d\\d$", description: "A day." }),
      ),
    }),
    upload: {
      mediaTypes: ["application/x-tar", "application/zip"],
      encodings: ["gzip"],
      maxBytes: maxUploadBytes,
      stallMs,
    },
    replies: { 201: { description: "Counted.", body: counted }, 204: { description: "Not read.", empty: true } },
    errors: ["state_conflict"],
    deadlineMs: 5_000,
  },
  async (_ctx, { upload, query, headers }) => {
    if (query.refuse) throw new Problem("state_conflict");
    if (query.ignore) return { status: 204 };
    const body = await countBytes(upload.chunks(), query.after);
    const { mediaType: media_type, encoding, announcedBytes: announced } = upload;
    return {
      status: 201,
      body: { ...body, media_type, encoding, announced, mtime: headers["X-Test-Mtime"] ?? null },
    };
  },
);

async function countBytes(chunks: AsyncIterable<Buffer>, after = Number.POSITIVE_INFINITY) {
  let bytes = 0;
  const digest = createHash("sha256");
  try {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      digest.update(chunk);
      if (bytes >= after) throw new Problem("state_conflict");
    }
  } catch (error) {
    seen.push({ what: error instanceof UploadInterrupted ? error.reason : "stopped", bytes });
    throw error;
  }
  seen.push({ what: "whole", bytes });
  return { bytes, sha256: digest.digest("hex") };
}

/** Takes JSON as its body and anything else as content, like the creation of a snapshot. */
export const takeEither = endpoint(
  {
    ...common,
    id: "tests.take_either",
    method: "POST",
    path: "/v1/test-either",
    access: write,
    query: closed({ path: Type.Optional(text(100, { description: "A path." })) }),
    body: closed({ text: text(10) }, { title: "TestEitherBody" }),
    upload: { mediaTypes: ["application/x-tar"], anyTypeWith: "path", maxBytes: maxUploadBytes, stallMs },
    replies: {
      201: { description: "Taken.", body: closed({ json: nullableText, bytes: count }, { title: "TestEither" }) },
    },
  },
  async (_ctx, { body, upload }) => {
    if (upload === null) return { status: 201, body: { json: body?.text ?? null, bytes: 0 } };
    return { status: 201, body: { json: null, bytes: (await countBytes(upload.chunks())).bytes } };
  },
);

/** Writes a note and records its answer in the same commit. `dies`: fails after it. */
export const recordUpload = endpoint(
  {
    ...common,
    id: "tests.record_upload",
    method: "POST",
    path: "/v1/test-records",
    access: write,
    query: closed({ dies: Type.Optional(flag) }),
    upload: { mediaTypes: "any", maxBytes: maxUploadBytes, stallMs: 60_000 },
    replies: { 201: { description: "Recorded.", body: closed({ bytes: count, id: short }, { title: "TestRecord" }) } },
  },
  async (ctx, { principal, upload, query }) => {
    const { bytes } = await countBytes(upload.chunks());
    const reply = { status: 201, body: { bytes, id: ctx.random.uuid() } } as const;
    await ctx.tx(rowAccessOf(principal), async (tx) => {
      await insertNote(tx, { id: reply.body.id, account_id: principal.accountId, text: "upload", created_at: tx.now });
      await ctx.recordReply(tx, reply);
    });
    if (query.dies) throw new Error("the process dies before it answers");
    return reply;
  },
);

/** The byte of test content at a place. */
export function byteAt(place: number): number {
  return (place * 31 + (place >> 8)) & 0xff;
}

export function contentBytes(start: number, end: number): Buffer {
  return Buffer.from(Uint8Array.from({ length: end - start }, (_, at) => byteAt(start + at)));
}

/** No multiple of any buffer's size. */
const chunkBytes = 100_003;

/** How a test wants content to go wrong. */
interface Faults {
  /** Throws at this place. */
  readonly fails?: number | undefined;
  /** Waits for the end of the request at this place. */
  readonly hangs?: number | undefined;
}

async function* content(start: number, end: number, { fails, hangs }: Faults, signal: AbortSignal) {
  seen.push({ what: "content begun", bytes: start });
  let at = start;
  try {
    while (at < end) {
      if (fails !== undefined && at >= fails) throw new Error("the content cannot be made");
      if (hangs !== undefined && at >= hangs) await aborted(signal);
      const next = Math.min(at + chunkBytes, end);
      yield contentBytes(at, next);
      at = next;
    }
  } finally {
    seen.push({ what: "content ended", bytes: at });
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    if (signal.aborted) reject(signal.reason);
  });
}

/** The ETag of content of this size. */
export function tagOf(size: number): string {
  return `"content-${size}"`;
}

/** Content of a size, of which parts can be asked for. */
export const getContent = endpoint(
  {
    ...common,
    id: "tests.get_content",
    method: "GET",
    path: "/v1/test-content",
    access: read,
    content: true,
    query: closed({ size: count, fails: Type.Optional(count), hangs: Type.Optional(count) }),
    replies: {
      200: { description: "All.", stream: ["application/octet-stream", "application/x-tar"] },
      206: { description: "A part.", stream: ["application/octet-stream"] },
    },
    deadlineMs: 700,
  },
  async (_ctx, { query, conditions }) =>
    rangedReply(conditions, {
      size: query.size,
      etag: tagOf(query.size),
      headers: { "X-Content-Type-Options": "nosniff" },
      chunks: ({ start, end }, signal) => content(start, end, query, signal),
    }),
);

/** Content whose length nobody knows before. `says` claims one that may be wrong. */
export const getStream = endpoint(
  {
    ...common,
    id: "tests.get_stream",
    method: "GET",
    path: "/v1/test-stream",
    access: { kind: "public" },
    query: closed({ size: count, says: Type.Optional(count), fails: Type.Optional(count) }),
    replies: { 200: { description: "All.", stream: ["application/x-tar"] } },
    errors: ["state_conflict"],
  },
  async (_ctx, { query: { size, says = null, ...faults } }) => ({
    status: 200,
    body: { length: says, chunks: (signal) => content(0, size, faults, signal) },
  }),
);

const filePath = "/v1/test-files/{id}/files/{path+}";
const fileParams = closed({ id: text(40, { description: "An id." }) });
const file = closed(
  {
    id: short,
    path: Type.String({ maxLength: 20_000, pattern: "^[A-Za-z0-9+/=]*$", examples: ["YQ=="] }),
    bytes: count,
  },
  { title: "TestFile" },
);

/** Says which bytes its path has. */
export const getFile = endpoint(
  {
    ...common,
    id: "tests.get_file",
    method: "GET",
    path: filePath,
    aliases: ["/test-files/{id}/files/{path+}"],
    access: read,
    content: true,
    params: fileParams,
    query: closed({ missing: Type.Optional(flag) }),
    replies: { 200: { description: "The path.", body: file } },
  },
  async (_ctx, { params, pathBytes, query }) => {
    if (query.missing) throw new Problem("not_found");
    return { status: 200, body: { id: params.id, path: pathBytes.toString("base64"), bytes: 0 } };
  },
);

export const putFile = endpoint(
  {
    ...common,
    id: "tests.put_file",
    method: "PUT",
    path: filePath,
    access: write,
    content: true,
    params: fileParams,
    upload: { mediaTypes: "any", maxBytes: maxUploadBytes, stallMs },
    replies: { 201: { description: "Made.", body: file } },
  },
  async (_ctx, { params, pathBytes, upload }) => {
    const { bytes } = await countBytes(upload.chunks());
    return { status: 201, body: { id: params.id, path: pathBytes.toString("base64"), bytes } };
  },
);

export const transferEndpoints: readonly Endpoint[] = [
  countUpload,
  takeEither,
  recordUpload,
  getContent,
  getStream,
  getFile,
  putFile,
];
