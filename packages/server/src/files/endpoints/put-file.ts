/** `PUT /v1/snapshots/{id}/files/{path}`: one file of a snapshot that is open. */

import { maxFileBytes } from "../../archives/index.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import { fileHeaders, fileStatOf, snapshotId } from "../../snapshots/index.ts";
import { digestsOf } from "../content-digest.ts";
import { requirePath } from "../file-paths.ts";
import { assertTakesFiles, findOwn } from "../open-snapshot.ts";
import { receiveFile } from "../receive-parts.ts";
import { recordFile, startedBy, storing } from "../record-file.ts";
import { etag, storedFile } from "../shapes.ts";
import { findFile } from "../store.ts";

/** Between two steps: a chunk, a stripe that is stored. Longer than a slow object store takes for a pack. */
const deadlineMs = 120_000;

/** A client that sends less than a kilobyte in so much time has failed. */
const stallMs = 60_000;

export const putFile = endpoint(
  {
    id: "snapshots.put_file",
    method: "PUT",
    path: "/v1/snapshots/{id}/files/{path+}",
    aliases: ["/snapshots/{id}/files/{path+}"],
    tag: "snapshots",
    summary: "Send a file of a snapshot",
    description: [
      "Adds a file to a snapshot that was created with a JSON body, or replaces one. The body is the file, whatever its type. When it is answered,",
      "the file is stored durably. The path is percent-encoded byte by byte, also where its name is not UTF-8. Directories follow from the paths.",
      "Without `X-Emanet-Mtime` a file keeps the time that it has in the snapshot before, if its content is the same; else it has the time of",
      "receipt. A part of a file (`Content-Range`) is refused. Only the creator of the snapshot sends files, and any number at the same time.",
    ].join(" "),
    access: { kind: "account", scope: "snapshots:write" },
    withinVaults: true,
    content: true,
    params: snapshotId,
    headers: closed({
      ...fileHeaders.properties,
      "If-None-Match": Type.Optional(
        Type.String({
          ...{ maxLength: 1, pattern: "^\\*$" },
          description:
            "With `*` the file is stored only if the snapshot has none at the path; else `precondition_failed`.",
        }),
      ),
    }),
    upload: { mediaTypes: "any", maxBytes: maxFileBytes, stallMs },
    deadlineMs,
    replies: {
      200: { description: "The file has replaced another one.", body: storedFile, headers: etag },
      201: { description: "The file is stored.", body: storedFile, headers: etag },
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
    const path = requirePath(pathBytes, language);
    const digests = digestsOf(headers["Content-Digest"]);
    const stat = fileStatOf(headers);
    const isOnlyNew = headers["If-None-Match"] !== undefined;
    const { record, found } = await ctx.read(rowAccessOf(principal), async (tx) => ({
      record: await findOwn(tx, principal, params.id),
      found: isOnlyNew ? await findFile(tx, params.id, path) : undefined,
    }));
    assertTakesFiles(record);
    if (found?.kind === "file") throw new Problem("precondition_failed");
    const chunks = record.status === "queued" ? startedBy(ctx, principal, params.id, upload.chunks()) : upload.chunks();
    const received = await storing(ctx, record, language, () => receiveFile(ctx, record, chunks, digests));
    const file = { path, ...received, ...stat, contentId: ctx.random.uuid(), firstPart: 0 };
    const isNew = await ctx.tx(rowAccessOf(principal), async (tx) => {
      const made = await recordFile(tx, principal, params.id, file);
      // Another request has stored one meanwhile. Thrown here, it is not replaced.
      if (isOnlyNew && !made) throw new Problem("precondition_failed");
      return made;
    });
    const hash = Buffer.from(received.hash).toString("hex");
    const reply = { headers: { ETag: `"${hash}"` }, body: { size_bytes: received.size, hash } };
    return isNew ? { status: 201, ...reply } : { status: 200, ...reply };
  },
);
