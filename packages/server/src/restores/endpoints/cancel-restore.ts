/** Ends a restore that is not completed yet. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import { isVaultAllowed } from "../../vaults/index.ts";
import { endOpenRestore } from "../lifecycle.ts";
import { restoreId, restoreShape, showRestore } from "../shapes.ts";
import { findRestore, lockRestore } from "../store.ts";

export const cancelRestore = endpoint(
  {
    id: "restores.cancel",
    method: "POST",
    path: "/v1/restore/{id}/cancel",
    tag: "restores",
    summary: "Cancel a restore",
    description: "Ends a restore that is pending or running. `restore.failed` says so with the failure `canceled`.",
    access: { kind: "account", scope: "restores:write" },
    withinVaults: true,
    whileSuspended: true,
    params: restoreId,
    replies: { 200: { description: "The canceled restore.", body: restoreShape } },
    errors: ["state_conflict"],
  },
  async (ctx, { principal, params, language }) => {
    const { accountId } = principal;
    const restore = await ctx.tx(rowAccessOf(principal), async (tx) => {
      const before = await lockRestore(tx, accountId, params.id);
      if (before === undefined || !isVaultAllowed(principal, before.vault_id)) throw new Problem("not_found");
      if (!(await endOpenRestore(tx, before, { state: "canceled", code: "canceled" })))
        throw new Problem("state_conflict");
      return (await findRestore(tx, accountId, params.id)) ?? before;
    });
    return { status: 200, body: showRestore(restore, language, ctx.clock.now()) };
  },
);
