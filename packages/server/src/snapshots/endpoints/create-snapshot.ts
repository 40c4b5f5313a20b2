/** Creates a snapshot: from the body of this request, completed when it is answered; or queued, with a JSON body. */

import { oneLinePattern } from "../../accounts/index.ts";
import { type ArchiveEncoding, archiveEncodings, maxFileBytes } from "../../archives/index.ts";
import { type Ctx, endpoint } from "../../kernel/http/endpoint.ts";
import { closed, type Static, Type, text, uuid } from "../../kernel/http/schema.ts";
import type { Upload } from "../../kernel/http/upload.ts";
import { invalidField } from "../../kernel/http/validate.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { type Language, Problem } from "../../kernel/problems.ts";
import { createSnapshot as insertQueued } from "../lifecycle.ts";
import { type AccountCaller, type NewUpload, newRow, openTarget, seesStorage, type UploadBody } from "../new-upload.ts";
import { receiveSnapshot } from "../receive-snapshot.ts";
import { createdSnapshot, externalReference, label, metadata, showSnapshot, trigger } from "../shapes.ts";
import { findSnapshot, type SnapshotRecord } from "../store.ts";
import { queryPath } from "../tree-shapes.ts";

const tarType = "application/x-tar";
const zipType = "application/zip";

/** Between two steps of an upload: a chunk, a file that is stored. Longer than a slow object store takes for a pack. */
const deadlineMs = 120_000;

/** A client that sends less than a kilobyte in so much time has failed. */
const stallMs = 60_000;

/** Mode of a file whose client says none. */
const defaultFileMode = 0o644;

const source = text(200, {
  pattern: oneLinePattern,
  description: "What is backed up: a name in the vault, which is made if it is new, or the id of a source.",
});

const fields = {
  label: Type.Optional(label),
  vault_id: Type.Optional(uuid("The vault; the account's default vault if absent.")),
  taxpayer_id: Type.Optional(uuid("The taxpayer whose vault is meant.")),
  trigger: Type.Optional(trigger),
  external_reference: Type.Optional(externalReference),
};

const query = closed({
  source: Type.Optional(source),
  ...fields,
  path: queryPath("The body is one file, whatever its type; this is its path in the snapshot."),
});

/** As in RFC 3339, in UTC, with up to nine digits of a second's fraction. */
const isoTime = "^\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])T([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,9})?Z$";

const headers = closed({
  "Content-Digest": Type.Optional(
    Type.String({
      ...{ maxLength: 500, pattern: "^[ -~]*$" },
      description: "RFC 9530. A `sha-256` digest is compared with the body; `content_mismatch` if it differs.",
    }),
  ),
  // No `format`: openapi-python-client makes no client for a header with a time.
  "X-Emanet-Mtime": Type.Optional(
    Type.String({
      ...{ maxLength: 30, pattern: isoTime, examples: ["2026-11-16T09:30:00Z"] },
      description: "With `path`: when the file was changed last, as ISO 8601 with `Z`.",
    }),
  ),
  "X-Emanet-Mode": Type.Optional(
    Type.String({ maxLength: 5, pattern: "^0?[0-7]{3,4}$", description: "With `path`: its permissions, octal." }),
  ),
});

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
    body: closed({ source, ...fields, metadata: Type.Optional(metadata) }, { title: "NewSnapshot" }),
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
      return created(call, await createQueued(ctx, { principal, language, wanted: call.body }));
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

interface Made {
  readonly record: SnapshotRecord;
  readonly sourceCreated: boolean;
}

function created({ principal, language }: AccountCaller, { record, sourceCreated }: Made) {
  const shown = showSnapshot(record, { language, seesStorage: seesStorage(principal) });
  return {
    status: 201,
    headers: { Location: `/v1/snapshots/${record.id}` },
    body: { ...shown, source_created: sourceCreated },
  } as const;
}

/** A snapshot whose content comes in other calls. */
async function createQueued(ctx: Ctx, caller: AccountCaller & { readonly wanted: NewUpload }): Promise<Made> {
  const { principal } = caller;
  return ctx.tx(rowAccessOf(principal), async (tx) => {
    const target = await openTarget(tx, ctx.random, caller, "");
    const row = await newRow(tx, caller, target, { id: ctx.random.uuid(), upload_kind: "upload" });
    await insertQueued(tx, { ...row, state: "queued" });
    const record = await findSnapshot(tx, principal.accountId, row.id);
    if (record === undefined) throw new Error("a snapshot that was just made is gone");
    return { record, sourceCreated: target.sourceCreated };
  });
}

function bodyOf(path: Buffer | null, { mediaType, encoding }: Upload, given: Static<typeof headers>): UploadBody {
  if (path === null)
    return { kind: mediaType === zipType ? "zip" : "tar", encoding: encoding as ArchiveEncoding | null };
  // The bytes of a file are kept as they are; a coding would have to be removed first.
  if (encoding !== null) throw new Problem("unsupported_media_type");
  const mtime = given["X-Emanet-Mtime"];
  return {
    kind: "file",
    path,
    mode: given["X-Emanet-Mode"] === undefined ? defaultFileMode : Number.parseInt(given["X-Emanet-Mode"], 8),
    mtimeMs: mtime === undefined ? null : Date.parse(mtime),
  };
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
