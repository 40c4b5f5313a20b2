/** `PATCH /v1/snapshots/{id}/files/{path}`: the next part of a file (tus 1.0). */

import { maxFileBytes } from "../../archives/index.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import { fileHeaders, snapshotId } from "../../snapshots/index.ts";
import { appendParts, wrongOffset } from "../append-parts.ts";
import { digestsOf } from "../content-digest.ts";
import { requirePath } from "../file-paths.ts";
import { findFileUpload } from "../file-upload-store.ts";
import { assertTakesFiles, findOwn } from "../open-snapshot.ts";
import { startedBy, storing } from "../record-file.ts";
import { offsetHeader, requireVersion, tusHeader, tusHeaders, tusReplyHeaders } from "../tus.ts";

/** Between two steps: a chunk, a stripe that is stored. Longer than a slow object store takes for a pack. */
const deadlineMs = 120_000;

/** A client that sends less than a kilobyte in so much time has failed. */
const stallMs = 60_000;

export const appendFile = endpoint(
  {
    id: "snapshots.append_file",
    method: "PATCH",
    path: "/v1/snapshots/{id}/files/{path+}",
    aliases: ["/snapshots/{id}/files/{path+}"],
    tag: "snapshots",
    summary: "Send a part of a file",
    description: [
      "Appends to a file that was begun with `POST`, from `Upload-Offset` on, which must be the offset that the file has (`HEAD`); any other is `state_conflict` with the reason",
      "`wrong_offset`. A body without a type is refused. What was answered is stored durably. A request that breaks off keeps what came of it; a process that dies keeps all but the last 64 MiB of it.",
      "A part with a `Content-Digest` of it is kept as a whole or not at all: if its digest differs (`content_mismatch`), or if the request breaks off, the offset stays.",
    ].join(" "),
    access: { kind: "account", scope: "snapshots:write" },
    withinVaults: true,
    content: true,
    params: snapshotId,
    headers: closed({
      "Upload-Offset": Type.Integer({
        ...{ minimum: 0, maximum: maxFileBytes, format: "int64" },
        description: "Where the part begins.",
      }),
      "Tus-Resumable": Type.Optional(tusHeader),
      "Content-Digest": fileHeaders.properties["Content-Digest"],
    }),
    // A client of tus always sends the type.
    upload: { mediaTypes: ["application/offset+octet-stream"], needsType: true, maxBytes: maxFileBytes, stallMs },
    deadlineMs,
    replies: {
      204: {
        description: "The part is stored.",
        empty: true,
        headers: { ...tusReplyHeaders, "Upload-Offset": offsetHeader },
      },
    },
    errors: [
      "state_conflict",
      "agent_required",
      "quota_exceeded",
      "content_mismatch",
      "validation_failed",
      "precondition_failed",
    ],
  },
  async (ctx, { principal, params, pathBytes, headers, upload, language }) => {
    requireVersion(headers["Tus-Resumable"]);
    const path = requirePath(pathBytes, language);
    const digests = digestsOf(headers["Content-Digest"]);
    const { record, found } = await ctx.read(rowAccessOf(principal), async (tx) => ({
      record: await findOwn(tx, principal, params.id),
      found: await findFileUpload(tx, params.id, path),
    }));
    assertTakesFiles(record);
    if (found === undefined) throw new Problem("not_found");
    if (headers["Upload-Offset"] !== found.offset_bytes) throw wrongOffset();
    if (found.offset_bytes + (upload.announcedBytes ?? 0) > found.length_bytes) throw new Problem("payload_too_large");
    const body = upload.chunks();
    const chunks = record.status === "queued" ? startedBy(ctx, principal, params.id, body) : body;
    const append = { ctx, principal, record, path, upload: found, digests };
    const offset = await storing(ctx, record, language, () => appendParts(append, chunks));
    return { status: 204, headers: tusHeaders({ "Upload-Offset": String(offset) }) };
  },
);
