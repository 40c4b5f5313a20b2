/** `GET /v1/snapshots/{id}/packs/{name}`: sealed bytes of a pack. Without keys of its frames they say nothing. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { rangedReply } from "../../kernel/http/range.ts";
import { closed, identifier, uuid } from "../../kernel/http/schema.ts";
import { Problem } from "../../kernel/problems.ts";
import { sent, withStoreProblems } from "../../snapshots/index.ts";
import { isVaultAllowed } from "../../vaults/index.ts";
import { deadlineMs, openReadable } from "../readable-snapshot.ts";

const octets = "application/octet-stream";

/** What is read of the store at a time. */
const pieceBytes = 4 * 1024 * 1024;

export const readPack = endpoint(
  {
    id: "reads.read_pack",
    method: "GET",
    path: "/v1/snapshots/{id}/packs/{name}",
    tag: "reads",
    summary: "Read a pack",
    description:
      "A pack of the snapshot's vault, or a range of it, sealed as it is stored. See `docs/PROTOCOL.md`. A pack that is gone is `not_found`: its frames were moved, ask for them again.",
    access: { kind: "account", scope: "snapshots:read" },
    withinVaults: true,
    content: true,
    params: closed({
      id: uuid("The snapshot."),
      name: identifier("^[0-9a-f]{32}$", "The pack's id.", "0a".repeat(16)),
    }),
    deadlineMs,
    replies: {
      200: { description: "The pack.", stream: [octets] },
      206: { description: "A part of the pack.", stream: [octets] },
    },
    errors: ["state_conflict", "snapshot_expired"],
  },
  async (ctx, { principal, params, conditions }) => {
    const { vault, vaultId } = await openReadable(ctx, principal, params.id);
    const object = vault.names.pack(params.name);
    const stat = await withStoreProblems(() => vault.store.stat(object));
    if (stat === null) throw new Problem("not_found");
    return rangedReply(conditions, {
      // A pack is written once and never changed.
      ...{ size: stat.size, etag: `"${params.name}"` },
      isAllowed: (caller) => "accountId" in caller && isVaultAllowed(caller, vaultId),
      chunks: ({ start, end }) =>
        sent(
          ctx,
          pieces(start, end, (range) => vault.store.get(object, { range })),
        ),
    });
  },
);

async function* pieces(
  start: number,
  end: number,
  read: (range: { readonly offset: number; readonly length: number }) => Promise<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  for (let offset = start; offset < end; offset += pieceBytes)
    yield await read({ offset, length: Math.min(pieceBytes, end - offset) });
}
