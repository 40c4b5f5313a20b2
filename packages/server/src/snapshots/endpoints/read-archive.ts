/** A snapshot or a part of it as a tar archive, made while it is sent. */

import { tarLayoutVersion } from "../../archives/index.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, oneOf, Type, text } from "../../kernel/http/schema.ts";
import { Problem } from "../../kernel/problems.ts";
import { downloadHeaders } from "../content-headers.ts";
import { entryAt, openContent, readerOf, sent } from "../read-content.ts";
import { snapshotId } from "../shapes.ts";
import { tarOf } from "../tar-stream.ts";
import { queryPath } from "../tree-shapes.ts";

/** Between two chunks: longer than a slow object store takes for a batch. */
const deadlineMs = 60_000;

const tarType = "application/x-tar";

export const readArchive = endpoint(
  {
    id: "snapshots.read_archive",
    method: "GET",
    path: "/v1/snapshots/{id}/archive",
    aliases: ["/snapshots/{id}/archive"],
    tag: "snapshots",
    summary: "Download a snapshot as an archive",
    description:
      "All files, or those below `path`, as a tar archive that is made while it is sent. Entries have their whole path in the snapshot. The archive ends with an end mark: one without it was cut off.",
    access: { kind: "account", scope: "snapshots:read" },
    withinVaults: true,
    content: true,
    params: snapshotId,
    bytesParameter: "path",
    query: closed({
      format: Type.Optional(oneOf(["tar"], "The kind of archive (`tar`).")),
      path: queryPath("Only this file or directory."),
    }),
    deadlineMs,
    replies: {
      200: {
        description: "The archive.",
        stream: [tarType],
        headers: {
          "Content-Disposition": text(300, { description: "`attachment` with a name.", examples: ["attachment"] }),
        },
      },
    },
    errors: ["state_conflict", "snapshot_expired"],
  },
  async (ctx, { principal, params, queryBytes }) => {
    const content = await openContent(ctx, principal, params.id);
    const path = queryBytes ?? Buffer.alloc(0);
    const entry = await entryAt(content, path);
    if (entry === null) throw new Problem("not_found");
    const { reads } = ctx.services.snapshots;
    const name = Buffer.from(`${params.id}.tar`);
    // The bytes follow from the tree, the path and the layout.
    const tag = `${params.id}-${path.toString("base64url")}`;
    return {
      status: 200,
      headers: downloadHeaders(name),
      body: {
        length: null,
        etag: `"tar${tarLayoutVersion}-${tag}"`,
        isAllowed: readerOf(content),
        chunks: (signal) =>
          reads.stream(principal.accountId, signal, () =>
            sent(ctx, tarOf(content.newReader(), { entry, path }, signal)),
          ),
      },
    };
  },
);
