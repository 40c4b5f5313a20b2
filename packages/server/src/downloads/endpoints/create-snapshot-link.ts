/** A link that downloads a file or an archive of a snapshot once, without a token. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, oneOf, Type } from "../../kernel/http/schema.ts";
import { archiveFormats, bodyPath, bytesOfPath, snapshotId } from "../../snapshots/index.ts";
import { snapshotAccess } from "../link-content.ts";
import { linkShape, makeLink } from "../new-link.ts";

export const createSnapshotLink = endpoint(
  {
    id: "snapshots.create_download_link",
    path: "/v1/snapshots/{id}/download-link",
    aliases: ["/snapshots/{id}/download-link"],
    tag: "snapshots",
    summary: "Make a download link",
    description: [
      "A link for browsers, which cannot send a token with a download. It can be used once, within five minutes; `HEAD` does not use it.",
      "The answer to the first `GET` sets a cookie for the link alone, with which the same browser can continue an interrupted download",
      "for a day. The link reads with the rights of the one who made it, and ends with them. A `path` of a file without `format` is the",
      "file itself; anything else is an archive (`tar` unless `format` says another).",
    ].join(" "),
    ...snapshotAccess,
    params: snapshotId,
    body: closed(
      {
        path: Type.Optional(bodyPath("Only this file or directory.")),
        format: Type.Optional(oneOf(archiveFormats, "An archive of this kind.")),
      },
      { title: "NewDownloadLink" },
    ),
    replies: { 201: { description: "The link.", body: linkShape } },
    errors: ["state_conflict", "snapshot_expired"],
  },
  async (ctx, { principal, params, body }) => {
    const path = body.path === undefined ? null : bytesOfPath(body.path);
    const target = { kind: "snapshot", id: params.id, path, format: body.format ?? null } as const;
    return { status: 201, body: await makeLink(ctx, principal, target) };
  },
);
