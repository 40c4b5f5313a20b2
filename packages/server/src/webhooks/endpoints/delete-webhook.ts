/** `DELETE /v1/webhooks/{id}`. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { requireLockedWebhook, shared, targetOf, writes } from "../operations.ts";
import { requireWebhooks } from "../rules.ts";
import { showWebhook, webhookId } from "../shapes.ts";
import { setDue, updateWebhook } from "../store.ts";

export const deleteWebhook = endpoint(
  {
    ...shared,
    id: "webhooks.delete",
    method: "DELETE",
    path: "/v1/webhooks/{id}",
    summary: "Delete a webhook",
    description: "Nothing more is sent, and its deliveries are gone. Events stay readable at `/v1/events`.",
    access: writes,
    ifMatch: "optional",
    params: webhookId,
    replies: { 204: { description: "Deleted.", empty: true } },
    errors: ["feature_not_enabled"],
  },
  async (ctx, { principal, params, requireMatch }) => {
    requireWebhooks(principal);
    await ctx.tx(rowAccessOf(principal), async (tx) => {
      requireMatch(showWebhook(await requireLockedWebhook(tx, principal, params.id)));
      await updateWebhook(tx, params.id, { removed_at: tx.now });
      await setDue(tx, params.id, null);
      tx.audit({ action: "webhook.deleted", targets: targetOf(params.id) });
    });
    return { status: 204 };
  },
);
