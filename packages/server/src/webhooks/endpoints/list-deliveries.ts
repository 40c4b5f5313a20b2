/** `GET /v1/webhooks/{id}/deliveries`: what was sent to a webhook, by status, type and event. */

import { newestFirst, pageOf, pageQuery } from "../../kernel/cursors.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, oneOf, Type, uuid } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { eventNames } from "../catalogue.ts";
import { reads, requireWebhook, shared } from "../operations.ts";
import { requireWebhooks } from "../rules.ts";
import { deliveryShape, deliveryStates, showDelivery, webhookId } from "../shapes.ts";
import { listDeliveries as readDeliveries } from "../store.ts";

const operation = "webhooks.list_deliveries";

/** What people look for: all that did not arrive. */
const undelivered = ["retrying", "failed"] as const;

export const listDeliveries = endpoint(
  {
    ...shared,
    id: operation,
    method: "GET",
    path: "/v1/webhooks/{id}/deliveries",
    summary: "List deliveries of a webhook",
    description:
      "One row per event and webhook, newest first, with the last attempt. They are kept as long as events, 30 days.",
    access: reads,
    params: webhookId,
    query: closed({
      ...pageQuery,
      ...newestFirst.query,
      status: Type.Optional(
        oneOf([...deliveryStates, "undelivered"], "Only these; `undelivered` stands for `retrying` and `failed`."),
      ),
      event: Type.Optional(oneOf(eventNames, "Only events of this type.")),
      event_id: Type.Optional(uuid("Only of this event.")),
    }),
    replies: { 200: { description: "A page of deliveries.", body: pageOf(deliveryShape, "WebhookDeliveryPage") } },
    errors: ["feature_not_enabled"],
  },
  async (ctx, { principal, params, query }) => {
    requireWebhooks(principal);
    const { status, event, event_id: eventId } = query;
    const filters = [principal.accountId, params.id, status ?? null, event ?? null, eventId ?? null];
    const binding = { operation, filters, sorting: newestFirst };
    const page = ctx.cursors.start(query, binding);
    const states = status === "undelivered" ? undelivered : status && [status];
    const rows = await ctx.read(rowAccessOf(principal), async (tx) => {
      await requireWebhook(tx, principal, params.id);
      return readDeliveries(tx, params.id, { ...(states && { states }), event, eventId }, page);
    });
    return { status: 200, body: ctx.cursors.page(rows, query, binding, showDelivery) };
  },
);
