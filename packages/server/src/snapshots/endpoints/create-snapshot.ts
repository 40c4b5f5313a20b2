/** Creates a snapshot: from the body of this request, completed when it is answered; or queued, with a JSON body. */

import { type ArchiveEncoding, archiveEncodings, maxFileBytes } from "../../archives/index.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, type Static, Type, text } from "../../kernel/http/schema.ts";
import type { Upload } from "../../kernel/http/upload.ts";
import { invalidField } from "../../kernel/http/validate.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { type Language, Problem } from "../../kernel/problems.ts";
import { fileHeadersOf, fileStatOf, mtimeMsOf } from "../file-headers.ts";
import { type CreatedRecord, createQueued, newSnapshot, newSnapshotFields, optionalFields } from "../new-snapshot.ts";
import { type AccountCaller, seesStorage, type UploadBody } from "../new-upload.ts";
import { receiveSnapshot } from "../receive-snapshot.ts";
import { createdSnapshot, showSnapshot } from "../shapes.ts";
import { queryPath } from "../tree-shapes.ts";

const tarType = "application/x-tar";
const zipType = "application/zip";

/** Between two steps of an upload: a chunk, a file that is stored. Longer than a slow object store takes for a pack. */
const deadlineMs = 120_000;

/** A client that sends less than a kilobyte in so much time has failed. */
const stallMs = 60_000;

const query = closed({
  source: Type.Optional(newSnapshotFields.source),
  ...optionalFields,
  path: queryPath("The body is one file, whatever its type; this is its path in the snapshot."),
});

const headers = fileHeadersOf("A `sha-256` digest is", "With `path`: ");

export const createSnapshot = endpoint(
  {
    id: "snapshots.create",
    method: "POST",
    path: "/v1/snapshots",
    aliases: ["/snapshots"],
    tag: "snapshots",
    summary: "Create a snapshot",
    description: [
      "**In one call**: the body is a tar archive (`application/x-tar` or no type; also with `Content-Encoding: gzip` or `zstd`),",
      "a zip archive (`application/zip`; entries stored or deflated, not encrypted), or with `path` one file of any type. What is said about",
      "the snapshot is in the query. The answer comes when every byte is stored: the snapshot is `completed`. A tar without its end",
      "mark is refused, and so is a zip with an entry whose size or CRC-32 is wrong. Whatever fails after the first byte",
      "leaves a `failed` snapshot, and the problem has its `snapshot_id`. A body without a byte leaves none.",
      "**With a JSON body** the snapshot is `queued` and its content follows in other calls; nothing is in the query then.",
    ].join(" "),
    access: { kind: "account", scope: "snapshots:write" },
    withinVaults: true,
    limits: ["snapshots_create", "snapshots_create_hour"],
    bytesParameter: "path",
    query,
    headers,
    body: newSnapshot,
    upload: {
      ...{ mediaTypes: [tarType, zipType], anyTypeWith: "path", encodings: archiveEncodings },
      ...{ maxBytes: maxFileBytes, stallMs },
    },
    deadlineMs,
    replies: {
      201: {
        description: "The snapshot.",
        headers: { Location: text(200, { description: "Path of the snapshot.", examples: ["/v1/snapshots/…"] }) },
        body: createdSnapshot,
      },
    },
    errors: [
      ...(["writer_not_bound", "agent_required", "quota_exceeded", "invalid_archive"] as const),
      ...(["content_mismatch", "state_conflict"] as const),
    ],
  },
  async (ctx, call) => {
    const { principal, language, upload } = call;
    const { "X-Emanet-Mtime": mtime, "X-Emanet-Mode": mode } = call.headers;
    // They say something about one file. An archive says it itself.
    if (call.queryBytes === null && (mtime !== undefined || mode !== undefined)) throw new Problem("invalid_header");
    if (upload === null) {
      if (Object.keys(call.query).length > 0 || call.body === undefined) throw new Problem("unknown_parameter");
      const caller = { principal, language, wanted: call.body };
      return created(call, await ctx.tx(rowAccessOf(principal), (tx) => createQueued(tx, ctx.random, caller)));
    }
    const { source: name, path: _text, ...rest } = call.query;
    if (name === undefined) throw wrongField("/query/source", "required", language);
    const body = bodyOf(call.queryBytes, upload, call.headers);
    const digest = digestOf(call.headers["Content-Digest"]);
    const wanted = { source: name, ...rest };
    const oneCall = { principal, language, wanted, upload, body, digest };
    return receiveSnapshot(ctx, oneCall, (received) => created(call, received));
  },
);

function created({ principal, language }: AccountCaller, { record, sourceCreated }: CreatedRecord) {
  const shown = showSnapshot(record, { language, seesStorage: seesStorage(principal) });
  return {
    status: 201,
    headers: { Location: `/v1/snapshots/${record.id}` },
    body: { ...shown, source_created: sourceCreated },
  } as const;
}

function bodyOf(path: Buffer | null, { mediaType, encoding }: Upload, given: Static<typeof headers>): UploadBody {
  if (path === null)
    return { kind: mediaType === zipType ? "zip" : "tar", encoding: encoding as ArchiveEncoding | null };
  // The bytes of a file are kept as they are; a coding would have to be removed first.
  if (encoding !== null) throw new Problem("unsupported_media_type");
  const stat = fileStatOf(given);
  return { kind: "file", path, mode: stat.mode, mtimeMs: mtimeMsOf(stat) };
}

/**
 * The SHA-256 of a `Content-Digest` (RFC 9530); null if it has none. Other digests are ignored. One that cannot be read is
 * refused: the client wants the content to be compared.
 */
function digestOf(header: string | undefined): Buffer | null {
  const found = /(?:^|,)\s*sha-256=:([A-Za-z0-9+/]{43}=):\s*(?:,|$)/.exec(header ?? "");
  if (found?.[1] !== undefined) return Buffer.from(found[1], "base64");
  if (/(?:^|,)\s*sha-256\s*=/i.test(header ?? "")) throw new Problem("invalid_header");
  return null;
}

function wrongField(pointer: string, code: "required", language: Language): Problem {
  return new Problem("validation_failed", { errors: [invalidField(pointer, code, language)] });
}
