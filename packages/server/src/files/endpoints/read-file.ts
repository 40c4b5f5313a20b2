/** One file of a snapshot, or one range of it. Every byte is compared with its hash before it is sent. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { rangedReply } from "../../kernel/http/range.ts";
import { text } from "../../kernel/http/schema.ts";
import { Problem } from "../../kernel/problems.ts";
import { entryAt, openContent, rangedFile, snapshotId } from "../../snapshots/index.ts";
import { fileOffset } from "../file-offset.ts";
import { offsetHeader, tusHeaders, tusReplyHeaders } from "../tus.ts";

/** Between two chunks: longer than a slow object store takes for a batch. */
const deadlineMs = 60_000;

const octets = "application/octet-stream";

const headers = {
  "Content-Disposition": text(20_000, { description: "`attachment` with the file's name.", examples: ["attachment"] }),
};

const offsetHeaders = {
  ...tusReplyHeaders,
  "Upload-Offset": offsetHeader,
  "Upload-Length": text(20, { description: "Bytes that the file will have.", examples: ["134217728"] }),
};

export const readFile = endpoint(
  {
    id: "snapshots.read_file",
    method: "GET",
    path: "/v1/snapshots/{id}/files/{path+}",
    aliases: ["/snapshots/{id}/files/{path+}"],
    tag: "snapshots",
    summary: "Download a file of a snapshot",
    description:
      "The bytes of one file. The path is percent-encoded byte by byte, also where its name is not UTF-8. One range can be asked for, and an interrupted download continued. Every byte is compared with its hash before it is sent. For a file that its creator sends in parts, `HEAD` answers `Upload-Offset` and `Upload-Length`; `snapshots:write` is enough for that.",
    access: { kind: "account", scope: "snapshots:read", headScope: "snapshots:write" },
    withinVaults: true,
    content: true,
    params: snapshotId,
    deadlineMs,
    replies: {
      200: { description: "The file.", stream: [octets], headers: { ...headers, ...offsetHeaders } },
      206: { description: "A part of the file.", stream: [octets], headers },
    },
    errors: ["state_conflict", "snapshot_expired"],
  },
  async (ctx, { principal, params, pathBytes, conditions, isHead, language }) => {
    const sent = isHead ? await fileOffset(ctx, principal, params.id, { pathBytes, language }) : null;
    if (sent !== null) return offsetReply(sent);
    if (!principal.scopes.has("snapshots:read")) throw new Problem("not_found");
    const content = await openContent(ctx, principal, params.id);
    const entry = await entryAt(content, pathBytes);
    if (entry?.type !== "file") throw new Problem("not_found");
    return rangedReply(conditions, rangedFile(ctx, content, entry));
  },
);

/** How far a file has come that is sent in parts. */
function offsetReply({ offset, length }: { readonly offset: number; readonly length: number }) {
  const sizes = { "Upload-Offset": String(offset), "Upload-Length": String(length), "Cache-Control": "no-store" };
  const nothing = { length: null, chunks: async function* (): AsyncGenerator<Uint8Array> {} };
  return { status: 200, headers: tusHeaders(sizes), body: nothing } as const;
}
