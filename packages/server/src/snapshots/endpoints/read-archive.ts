/** A snapshot or a part of it as a tar or zip archive, made while it is sent. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, oneOf, Type, text } from "../../kernel/http/schema.ts";
import { Problem } from "../../kernel/problems.ts";
import { archiveFormats, archiveMediaTypes, archiveReply } from "../archive-content.ts";
import { entryAt, openContent } from "../read-content.ts";
import { snapshotId } from "../shapes.ts";
import { queryPath } from "../tree-shapes.ts";

/** Between two chunks: longer than a slow object store takes for a batch. */
const deadlineMs = 60_000;

export const readArchive = endpoint(
  {
    id: "snapshots.read_archive",
    method: "GET",
    path: "/v1/snapshots/{id}/archive",
    aliases: ["/snapshots/{id}/archive"],
    tag: "snapshots",
    summary: "Download a snapshot as an archive",
    description: [
      "All files, or those below `path`, as an archive that is made while it is sent. Entries have their whole path in the snapshot.",
      "**tar** has every name, mode, time, owner and link as it was; without its end mark it was cut off. **zip** is for programs",
      "that read no tar, Windows among them. It is not compressed and has no hard links. Names that are not UTF-8 and those that",
      "Windows does not allow have `%` and two hexadecimal digits in their place; the comment of the archive says how many. Without",
      "its directory, which is at its end, it was cut off.",
    ].join(" "),
    access: { kind: "account", scope: "snapshots:read" },
    withinVaults: true,
    content: true,
    params: snapshotId,
    bytesParameter: "path",
    query: closed({
      format: Type.Optional(oneOf(archiveFormats, "The kind of archive (`tar`).")),
      path: queryPath("Only this file or directory."),
    }),
    deadlineMs,
    replies: {
      200: {
        description: "The archive.",
        stream: archiveMediaTypes,
        headers: {
          "Content-Disposition": text(300, { description: "`attachment` with a name.", examples: ["attachment"] }),
        },
      },
    },
    errors: ["state_conflict", "snapshot_expired"],
  },
  async (ctx, { principal, params, query, queryBytes }) => {
    const content = await openContent(ctx, principal, params.id);
    const path = queryBytes ?? Buffer.alloc(0);
    const entry = await entryAt(content, path);
    if (entry === null) throw new Problem("not_found");
    return { status: 200, ...archiveReply(ctx, content, { entry, path }, query.format ?? "tar") };
  },
);
