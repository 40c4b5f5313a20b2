/** `POST /v1/webhooks/{id}/disable`. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { requireLockedWebhook, shared, targetOf, writes } from "../operations.ts";
import { requireWebhooks } from "../rules.ts";
import { showWebhook, webhookId, webhookShape } from "../shapes.ts";
import { setDue, updateWebhook } from "../store.ts";

export const disableWebhook = endpoint(
  {
    ...shared,
    id: "webhooks.disable",
    method: "POST",
    path: "/v1/webhooks/{id}/disable",
    summary: "Disable a webhook",
    description: "Nothing is sent until it is enabled. Events are kept for 30 days and can be replayed.",
    access: writes,
    params: webhookId,
    replies: { 200: { description: "The webhook.", body: webhookShape } },
    errors: ["feature_not_enabled"],
  },
  async (ctx, { principal, params }) => {
    requireWebhooks(principal);
    const row = await ctx.tx(rowAccessOf(principal), async (tx) => {
      const before = await requireLockedWebhook(tx, principal, params.id);
      if (before.state === "disabled") return before;
      await updateWebhook(tx, params.id, { state: "disabled", disabled_reason: "requested", disabled_at: tx.now });
      await setDue(tx, params.id, null);
      tx.audit({ action: "webhook.disabled", targets: targetOf(params.id), metadata: { reason: "requested" } });
      return requireLockedWebhook(tx, principal, params.id);
    });
    return { status: 200, body: showWebhook(row) };
  },
);
