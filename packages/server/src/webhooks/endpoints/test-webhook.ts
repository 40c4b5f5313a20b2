/** `POST /v1/webhooks/{id}/test`: a signed event for this webhook alone. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, uuid } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { webhookTest } from "../events.ts";
import { requireLockedWebhook, shared, targetOf, writes } from "../operations.ts";
import { requireEnabled, requireWebhooks } from "../rules.ts";
import { webhookId } from "../shapes.ts";

export const testWebhook = endpoint(
  {
    ...shared,
    id: "webhooks.test",
    method: "POST",
    path: "/v1/webhooks/{id}/test",
    summary: "Send a test event",
    description:
      "Sends `webhook.test` to this webhook, signed and repeated like any event. `GET /v1/webhooks/{id}/deliveries?event_id=` shows what became of it. A disabled webhook is 409.",
    access: writes,
    limits: ["webhook_sends"],
    params: webhookId,
    replies: {
      202: {
        description: "The event will be sent.",
        body: closed({ event_id: uuid("The event.") }, { title: "WebhookTestSent" }),
      },
    },
    errors: ["feature_not_enabled", "state_conflict"],
  },
  async (ctx, { principal, params }) => {
    requireWebhooks(principal);
    const eventId = await ctx.tx(rowAccessOf(principal), async (tx) => {
      requireEnabled(await requireLockedWebhook(tx, principal, params.id));
      tx.audit({ action: "webhook.tested", targets: targetOf(params.id) });
      return tx.emit(webhookTest, { webhook_id: params.id });
    });
    return { status: 202, body: { event_id: eventId } };
  },
);
