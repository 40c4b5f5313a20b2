/** `PUT /v1/snapshots/{id}/packs/{name}`. */

import { maxRequestBytes } from "@emanet/engine";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, identifier, uuid } from "../../kernel/http/schema.ts";
import { guardedTarget } from "../guarded-target.ts";
import { answerUpload, deadlineMs, messageType, stallMs, uploadErrors } from "../message-operations.ts";
import { storePack } from "../store-pack.ts";

export const putPack = endpoint(
  {
    id: "uploads.put_pack",
    method: "PUT",
    path: "/v1/snapshots/{id}/packs/{name}",
    tag: "uploads",
    summary: "Store a pack",
    description:
      "Stores a pack of the upload, see `docs/PROTOCOL.md`. It needs a `Content-Length`, which counts against the quota of the vault before the pack is stored. The same pack again changes nothing; another one under the same name is refused.",
    access: { kind: "account", scope: "snapshots:write" },
    withinVaults: true,
    content: true,
    params: closed({
      id: uuid("The snapshot."),
      name: identifier("^[0-9a-f]{32}$", "The pack's id: 16 random bytes in hexadecimal.", "0a".repeat(16)),
    }),
    upload: { mediaTypes: ["application/octet-stream"], maxBytes: maxRequestBytes.pack, stallMs },
    deadlineMs,
    replies: {
      200: { description: "It is stored. A message of the upload protocol.", content: [messageType], example: "…" },
    },
    errors: [...uploadErrors, "storage_full", "invalid_header"],
  },
  async (ctx, { principal, params, upload }) => {
    const body = await answerUpload(ctx, principal, params.id, (open) =>
      storePack(ctx, open, guardedTarget(open), params.name, upload),
    );
    return { status: 200, headers: { "Content-Type": messageType }, body };
  },
);
