/** `POST /v1/recovery-kits/{id}/cancel`: an owner stops an order. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import { kitId, kitShape, ownersOnly, showKit } from "../shapes.ts";
import { endKit, lockKit } from "../store.ts";

export const cancelRecoveryKit = endpoint(
  {
    id: "recovery_kits.cancel",
    method: "POST",
    path: "/v1/recovery-kits/{id}/cancel",
    tag: "vaults",
    summary: "Cancel the order of a recovery kit",
    description: "It cannot be fetched any more. Any owner can do this, without a fresh second factor.",
    access: { ...ownersOnly, scope: "snapshots:write" },
    whileSuspended: true,
    params: kitId,
    replies: { 200: { description: "The order, canceled.", body: kitShape } },
    errors: ["not_found", "state_conflict"],
  },
  async (ctx, { principal, params }) => {
    const { memberId } = principal;
    const kit = await ctx.tx(rowAccessOf(principal), async (tx) => {
      const found = await lockKit(tx, principal.accountId, params.id);
      if (found === undefined) throw new Problem("not_found");
      if (found.state !== "waiting" || memberId === null) throw new Problem("state_conflict");
      tx.audit({ action: "recovery_kit.canceled", targets: [{ type: "recovery_kit", id: found.id }] });
      return endKit(tx, found.id, { state: "canceled", by: memberId, epoch: null });
    });
    return { status: 200, body: showKit(ctx.clock.now())(kit) };
  },
);
