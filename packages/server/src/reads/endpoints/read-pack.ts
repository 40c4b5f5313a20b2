/** `GET /v1/snapshots/{id}/packs/{name}`: sealed bytes of a pack. Without keys of its frames they say nothing. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, identifier, uuid } from "../../kernel/http/schema.ts";
import type { Principal } from "../../kernel/principal.ts";
import { isVaultAllowed } from "../../vaults/index.ts";
import { packReply } from "../pack-reply.ts";
import { deadlineMs, openPacks } from "../readable-snapshot.ts";

const octets = "application/octet-stream";

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
    const { vault, vaultId } = await openPacks(ctx, principal, params.id);
    const isAllowed = (caller: Principal) => "accountId" in caller && isVaultAllowed(caller, vaultId);
    return packReply(ctx, conditions, { vault, name: params.name }, { isAllowed });
  },
);
