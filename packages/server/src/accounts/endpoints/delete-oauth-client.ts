/** `DELETE /v1/oauth-clients/{id}`: a program loses its access. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { actorOf, rowAccessOf } from "../../kernel/principal.ts";
import { clientId, requireClient, requireRankOver, shared, writes } from "../client-rules.ts";
import { lockClient, revokeClient } from "../client-store.ts";
import { mailAboutChange } from "../mail-about-change.ts";
import { clientShape } from "../shapes.ts";

export const deleteOauthClient = endpoint(
  {
    ...shared,
    id: "oauth_clients.delete",
    method: "DELETE",
    path: "/v1/oauth-clients/{id}",
    summary: "Remove an OAuth client",
    description: "Its tokens are refused from now on. This also works while the account is suspended.",
    access: writes,
    stepUp: true,
    whileSuspended: true,
    params: clientId,
    ifMatch: "optional",
    replies: { 204: { description: "Removed.", empty: true } },
  },
  async (ctx, { principal, params, requireMatch }) => {
    const { accountId } = principal;
    await ctx.tx(rowAccessOf(principal), async (tx) => {
      const client = await requireClient(lockClient(tx, accountId, params.id));
      requireMatch(clientShape(client));
      requireRankOver(principal, client);
      await revokeClient(tx, accountId, params.id);
      tx.audit({ action: "oauth_client.removed", targets: [{ type: "oauth_client", id: params.id }] });
      await mailAboutChange(tx, ctx, { what: "client_removed", accountId, of: { client }, by: actorOf(principal) });
    });
    return { status: 204 };
  },
);
