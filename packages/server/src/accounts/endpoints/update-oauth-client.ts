/** `PATCH /v1/oauth-clients/{id}`: another name, other scopes, role or vaults. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type } from "../../kernel/http/schema.ts";
import { actorOf, rowAccessOf } from "../../kernel/principal.ts";
import {
  clientId,
  requireClient,
  requireRankOver,
  requireVaults,
  requireWithin,
  shared,
  writes,
} from "../client-rules.ts";
import { findClient, lockClient, updateClient } from "../client-store.ts";
import { mailAboutChange } from "../mail-about-change.ts";
import { clientFields, clientSchema, clientShape } from "../shapes.ts";

export const updateOauthClient = endpoint(
  {
    ...shared,
    id: "oauth_clients.update",
    method: "PATCH",
    path: "/v1/oauth-clients/{id}",
    summary: "Change an OAuth client",
    description:
      "Changes name, scopes, role and vaults. Removed rights are also removed from tokens that were issued before. The client's role can be at most your role, and you must have all its scopes.",
    access: writes,
    stepUp: true,
    params: clientId,
    body: closed(
      {
        name: Type.Optional(clientFields.name),
        scopes: Type.Optional(clientFields.scopes),
        role: Type.Optional(clientFields.role),
        vault_ids: Type.Optional(clientFields.vault_ids),
      },
      { title: "OauthClientChange" },
    ),
    ifMatch: "optional",
    replies: { 200: { description: "The client.", body: clientSchema } },
  },
  async (ctx, { principal, params, body, language, requireMatch }) => {
    const { accountId } = principal;
    const row = await ctx.tx(rowAccessOf(principal), async (tx) => {
      const before = await requireClient(lockClient(tx, accountId, params.id));
      requireMatch(clientShape(before));
      requireRankOver(principal, before);
      requireWithin(principal, body);
      await requireVaults(tx, { accountId, language }, body.vault_ids);
      await updateClient(tx, accountId, params.id, body);
      const metadata = { fields: Object.keys(body).sort().join(" ") };
      tx.audit({ action: "oauth_client.changed", targets: [{ type: "oauth_client", id: params.id }], metadata });
      const client = await requireClient(findClient(tx, accountId, params.id));
      await mailAboutChange(tx, ctx, { what: "client_changed", accountId, of: { client }, by: actorOf(principal) });
      return client;
    });
    return { status: 200, body: clientShape(row) };
  },
);
