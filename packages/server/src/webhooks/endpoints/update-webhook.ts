/** `PATCH /v1/webhooks/{id}`: another address, which is checked like the first, other types of events, another description. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { requireLockedWebhook, requireTarget, requireWebhook, shared, targetOf, writes } from "../operations.ts";
import { requireWebhooks } from "../rules.ts";
import { showWebhook, webhookFields, webhookId, webhookShape } from "../shapes.ts";
import { updateWebhook as storeWebhook } from "../store.ts";

export const updateWebhook = endpoint(
  {
    ...shared,
    id: "webhooks.update",
    method: "PATCH",
    path: "/v1/webhooks/{id}",
    summary: "Change a webhook",
    description:
      "Members that are left out stay as they are. A new address holds for every later attempt, also of events before. New types hold for later events.",
    access: writes,
    ifMatch: "optional",
    params: webhookId,
    body: closed(
      {
        url: Type.Optional(webhookFields.url),
        events: Type.Optional(webhookFields.events),
        description: Type.Optional(webhookFields.description),
      },
      { title: "WebhookChange" },
    ),
    replies: { 200: { description: "The webhook.", body: webhookShape } },
    errors: ["webhook_url_blocked", "feature_not_enabled"],
  },
  async (ctx, { principal, params, body, language, requireMatch }) => {
    requireWebhooks(principal);
    // Before the look at the address, which asks DNS for callers that may not see the webhook otherwise.
    await ctx.read(rowAccessOf(principal), (tx) => requireWebhook(tx, principal, params.id));
    const url = body.url === undefined ? {} : { url: await requireTarget(ctx, body.url, language) };
    const { events, description } = body;
    const row = await ctx.tx(rowAccessOf(principal), async (tx) => {
      requireMatch(showWebhook(await requireLockedWebhook(tx, principal, params.id)));
      await storeWebhook(tx, params.id, {
        ...url,
        ...(events !== undefined && { events }),
        ...(description !== undefined && { description }),
      });
      tx.audit({ action: "webhook.updated", targets: targetOf(params.id) });
      return requireLockedWebhook(tx, principal, params.id);
    });
    return { status: 200, body: showWebhook(row) };
  },
);
