/** `GET /v1/vaults/{id}/retention`: what a vault keeps. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, uuid } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { findVault, reads, requireVault } from "../../vaults/index.ts";
import { readRetention } from "../change-policy.ts";
import { retentionShape } from "../shapes.ts";

export const getVaultRetention = endpoint(
  {
    id: "vaults.get_retention",
    method: "GET",
    path: "/v1/vaults/{id}/retention",
    tag: "retention",
    summary: "Read the retention policy of a vault",
    description:
      "Its rules keep snapshots of the sources without a policy of their own. Without rules everything stays.",
    access: reads,
    withinVaults: true,
    params: closed({ id: uuid("Id of the vault.") }),
    replies: { 200: { description: "The policy.", body: retentionShape } },
  },
  async (ctx, { principal, params }) => {
    const { accountId } = principal;
    const body = await ctx.read(rowAccessOf(principal), async (tx) => {
      const { id: vaultId } = await requireVault(principal, findVault(tx, accountId, params.id));
      return readRetention(tx, { accountId, vaultId, sourceId: null });
    });
    return { status: 200, body };
  },
);
