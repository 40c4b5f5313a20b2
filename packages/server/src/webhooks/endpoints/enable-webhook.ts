/** `POST /v1/webhooks/{id}/enable`. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { requireLockedWebhook, senderOf, shared, targetOf, writes } from "../operations.ts";
import { requireWebhooks } from "../rules.ts";
import { showWebhook, webhookId, webhookShape } from "../shapes.ts";
import { setDue, updateWebhook } from "../store.ts";

export const enableWebhook = endpoint(
  {
    ...shared,
    id: "webhooks.enable",
    method: "POST",
    path: "/v1/webhooks/{id}/enable",
    summary: "Enable a webhook",
    description:
      "Events are sent again, in your name from now on, and deliveries that waited go on. Events of the time when it was disabled are sent by `replay`, failed deliveries by `retry-failed`.",
    access: writes,
    params: webhookId,
    replies: { 200: { description: "The webhook.", body: webhookShape } },
    errors: ["feature_not_enabled"],
  },
  async (ctx, { principal, params }) => {
    requireWebhooks(principal);
    const row = await ctx.tx(rowAccessOf(principal), async (tx) => {
      const before = await requireLockedWebhook(tx, principal, params.id);
      if (before.state === "enabled") return before;
      const { member_id, client_id } = senderOf(principal);
      const sound = { failing_since: null, warned_at: null, disabled_reason: null, disabled_at: null };
      await updateWebhook(tx, params.id, { state: "enabled", ...sound, member_id, client_id });
      await setDue(tx, params.id, tx.now);
      tx.audit({ action: "webhook.enabled", targets: targetOf(params.id) });
      return requireLockedWebhook(tx, principal, params.id);
    });
    return { status: 200, body: showWebhook(row) };
  },
);
