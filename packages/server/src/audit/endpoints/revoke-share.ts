/** `DELETE /v1/audit/shares/{id}`: ends a share before its time. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import { auditShareRevoked } from "../events.ts";
import { shareId, shareShape } from "../shapes.ts";
import { lockShare, revokeShare as revoke } from "../share-store.ts";

export const revokeShare = endpoint(
  {
    id: "audit_shares.revoke",
    method: "DELETE",
    path: "/v1/audit/shares/{id}",
    tag: "audit",
    summary: "Revoke an audit share",
    description:
      "The share cannot be read any more; a download that is running is cut within ten seconds. It stays in the list. This also works while the account is suspended, and again for a share that has ended.",
    access: { kind: "account", scope: "audit:read", roles: ["owner", "manager"] },
    stepUp: true,
    whileSuspended: true,
    ifMatch: "optional",
    params: shareId,
    replies: { 204: { description: "Revoked.", empty: true } },
  },
  async (ctx, { principal, params, requireMatch }) => {
    await ctx.tx(rowAccessOf(principal), async (tx) => {
      const row = await lockShare(tx, principal.accountId, params.id);
      if (row === undefined) throw new Problem("not_found");
      const share = shareShape(row, tx.now);
      requireMatch(share);
      if (share.status !== "active") return;
      await revoke(tx, params.id, principal.memberId);
      tx.audit({ action: "audit.share_revoked", targets: [{ type: "audit_share", id: params.id }] });
      tx.emit(auditShareRevoked, { share_id: params.id, reason: "revoked" });
    });
    return { status: 204 };
  },
);
