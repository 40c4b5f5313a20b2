/** The archive of a completed restore, or any range of it. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { rangedReply } from "../../kernel/http/range.ts";
import { text } from "../../kernel/http/schema.ts";
import { archiveMediaTypes } from "../../snapshots/index.ts";
import { openArchive, restoreAccess, visibleRestore } from "../read-restore.ts";
import { restoreId } from "../shapes.ts";

/** Between two chunks: longer than a slow object store takes for a batch. */
const deadlineMs = 60_000;

const headers = {
  "Content-Disposition": text(300, { description: "`attachment` with a name.", examples: ["attachment"] }),
};

export const downloadRestore = endpoint(
  {
    id: "restores.download",
    path: "/v1/restore/{id}/download",
    tag: "restores",
    summary: "Download a restore",
    description:
      "The archive of a completed restore. One range can be asked for, and an interrupted download continued: the bytes never change until the restore expires, after seven days. Every byte is compared with its hash before it is sent.",
    ...restoreAccess,
    content: true,
    params: restoreId,
    deadlineMs,
    replies: {
      200: { description: "The archive.", stream: archiveMediaTypes, headers },
      206: { description: "A part of the archive.", stream: archiveMediaTypes, headers },
    },
    errors: ["state_conflict", "download_expired"],
  },
  async (ctx, { principal, params, conditions }) => {
    const restore = await visibleRestore(ctx, principal, params.id);
    return rangedReply(conditions, await openArchive(ctx, restore));
  },
);
