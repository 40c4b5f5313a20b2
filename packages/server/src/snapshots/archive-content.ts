/** A snapshot or a part of it as an archive that is made while it is sent. */

import { tarLayoutVersion, zipLayoutVersion } from "../archives/index.ts";
import type { Ctx } from "../kernel/http/endpoint.ts";
import type { ArchiveRoot } from "./archive-entries.ts";
import { downloadHeaders } from "./content-headers.ts";
import { readerOf, type SnapshotContent, sent } from "./read-content.ts";
import { keptWhileSent } from "./read-lease.ts";
import { tarOf } from "./tar-stream.ts";
import { zipOf } from "./zip-stream.ts";

export const archiveFormats = ["tar", "zip"] as const;
export type ArchiveFormat = (typeof archiveFormats)[number];

const formats = {
  tar: { mediaType: "application/x-tar", layout: `tar${tarLayoutVersion}`, write: tarOf },
  zip: { mediaType: "application/zip", layout: `zip${zipLayoutVersion}`, write: zipOf },
} as const satisfies Record<ArchiveFormat, unknown>;

export const archiveMediaTypes = [formats.tar.mediaType, formats.zip.mediaType] as const;

/** The headers and the body of the answer. */
export function archiveReply(ctx: Ctx, content: SnapshotContent, { entry, path }: ArchiveRoot, format: ArchiveFormat) {
  const { id, account_id: accountId } = content.record;
  const { reads } = ctx.services.snapshots;
  const { mediaType, layout, write } = formats[format];
  // The bytes follow from the tree, the path and the layout.
  const tag = `${id}-${path.toString("base64url")}`;
  return {
    headers: { ...downloadHeaders(Buffer.from(`${id}.${format}`)), "Content-Type": mediaType },
    body: {
      length: null,
      etag: `"${layout}-${tag}"`,
      isAllowed: readerOf(content),
      chunks: (signal: AbortSignal) =>
        reads.stream(accountId, signal, () =>
          keptWhileSent(ctx, content.record, sent(ctx, write(content.newReader(), { entry, path }, signal))),
        ),
    },
  };
}
