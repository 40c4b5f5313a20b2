/** `GET /v1/webhooks/{id}`. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { reads, requireWebhook, shared } from "../operations.ts";
import { requireWebhooks } from "../rules.ts";
import { showWebhook, webhookId, webhookShape } from "../shapes.ts";

export const getWebhook = endpoint(
  {
    ...shared,
    id: "webhooks.get",
    method: "GET",
    path: "/v1/webhooks/{id}",
    summary: "Read a webhook",
    description: "Its address, its types of events and its state. The secret is never shown again.",
    access: reads,
    params: webhookId,
    replies: { 200: { description: "The webhook.", body: webhookShape } },
    errors: ["feature_not_enabled"],
  },
  async (ctx, { principal, params }) => {
    requireWebhooks(principal);
    const row = await ctx.read(rowAccessOf(principal), (tx) => requireWebhook(tx, principal, params.id));
    return { status: 200, body: showWebhook(row) };
  },
);
