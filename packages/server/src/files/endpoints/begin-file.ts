/** `POST /v1/snapshots/{id}/files/{path}`: begins a file that comes in several requests (tus 1.0). */

import { hashOfParts } from "@emanet/engine";
import { maxFileBytes } from "../../archives/index.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type, text } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { fileHeaders, fileStatOf, snapshotId } from "../../snapshots/index.ts";
import { DigestCheck, digestsOf } from "../content-digest.ts";
import { encodedPath, requirePath } from "../file-paths.ts";
import { beginFileUpload } from "../file-upload-store.ts";
import { assertTakesFiles, lockOwn } from "../open-snapshot.ts";
import { recordFile, requirePlace } from "../record-file.ts";
import { noteFiles } from "../store.ts";
import { requireVersion, tusHeader, tusHeaders, tusReplyHeaders } from "../tus.ts";

const { "Content-Digest": digest, "X-Emanet-Mtime": mtime, "X-Emanet-Mode": mode } = fileHeaders.properties;

export const beginFile = endpoint(
  {
    id: "snapshots.begin_file",
    method: "POST",
    path: "/v1/snapshots/{id}/files/{path+}",
    aliases: ["/snapshots/{id}/files/{path+}"],
    tag: "snapshots",
    summary: "Begin a file in parts",
    description: [
      "Begins a file that is sent in parts and can be resumed, as tus 1.0 has it: this call with `Upload-Length`, then `PATCH` of the same URL from `Upload-Offset` on, and",
      "`HEAD` of it to ask for the offset. The file is in the snapshot when its last byte has come. Begun again, it starts at 0. A file that has not",
      "come to its end stops the completion of the snapshot; `PUT` of its path replaces it. This call has no body: a `Content-Digest` of the",
      "file is `content_mismatch`; send that of each part with its `PATCH`.",
    ].join(" "),
    access: { kind: "account", scope: "snapshots:write" },
    withinVaults: true,
    content: true,
    // Repeated, it begins anew, which is what a client that asks again wants.
    idempotency: "none",
    params: snapshotId,
    headers: closed({
      "Upload-Length": Type.Integer({
        ...{ minimum: 0, maximum: maxFileBytes, format: "int64" },
        description: "Bytes of the file.",
      }),
      "Tus-Resumable": Type.Optional(tusHeader),
      "Content-Digest": digest,
      "X-Emanet-Mtime": mtime,
      "X-Emanet-Mode": mode,
    }),
    replies: {
      201: {
        description: "The file can be sent.",
        empty: true,
        headers: {
          ...tusReplyHeaders,
          Location: text(13_000, { description: "The same path.", examples: ["/v1/snapshots/…/files/a.bak"] }),
        },
      },
    },
    errors: ["state_conflict", "agent_required", "content_mismatch", "validation_failed", "precondition_failed"],
  },
  async (ctx, { principal, params, pathBytes, headers, language }) => {
    requireVersion(headers["Tus-Resumable"]);
    // This request has no body; the digest of the file that will come is not compared here, and so differs.
    new DigestCheck(digestsOf(headers["Content-Digest"])).finish();
    const path = requirePath(pathBytes, language);
    const file = { path, ...fileStatOf(headers), contentId: ctx.random.uuid() };
    const length = headers["Upload-Length"];
    await ctx.tx(rowAccessOf(principal), async (tx) => {
      const record = await lockOwn(tx, principal, params.id);
      assertTakesFiles(record);
      if (length === 0) {
        const empty = { size: 0, hash: hashOfParts([]), sha256: null, parts: [], firstPart: 0 };
        await recordFile(tx, principal, record.id, { ...file, ...empty });
        return;
      }
      await requirePlace(tx, record, path);
      await beginFileUpload(tx, record, { ...file, length });
      if (!record.has_files) await noteFiles(tx, record);
    });
    const location = `/v1/snapshots/${params.id}/files/${encodedPath(pathBytes)}`;
    return { status: 201, headers: tusHeaders({ Location: location }) };
  },
);
