/** The operations of webhooks and events, in the order of the document. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import type { OpenapiTag } from "../../kernel/http/openapi.ts";
import { adminListDeliveries } from "./admin-list-deliveries.ts";
import { adminListWebhooks } from "./admin-list-webhooks.ts";
import { createWebhook } from "./create-webhook.ts";
import { deleteWebhook } from "./delete-webhook.ts";
import { disableWebhook } from "./disable-webhook.ts";
import { enableWebhook } from "./enable-webhook.ts";
import { getDelivery } from "./get-delivery.ts";
import { getStatistics } from "./get-statistics.ts";
import { getWebhook } from "./get-webhook.ts";
import { listDeliveries } from "./list-deliveries.ts";
import { listEventTypes } from "./list-event-types.ts";
import { listEvents } from "./list-events.ts";
import { listWebhooks } from "./list-webhooks.ts";
import { replayWebhook } from "./replay-webhook.ts";
import { retryDelivery } from "./retry-delivery.ts";
import { retryFailed } from "./retry-failed.ts";
import { rotateWebhookSecret } from "./rotate-webhook-secret.ts";
import { testWebhook } from "./test-webhook.ts";
import { updateWebhook } from "./update-webhook.ts";
import { verifyDebug } from "./verify-debug.ts";

export const webhookEndpoints: readonly Endpoint[] = [
  listWebhooks,
  createWebhook,
  getWebhook,
  updateWebhook,
  deleteWebhook,
  enableWebhook,
  disableWebhook,
  testWebhook,
  rotateWebhookSecret,
  verifyDebug,
  getStatistics,
  listDeliveries,
  retryFailed,
  replayWebhook,
  getDelivery,
  retryDelivery,
  listEvents,
  listEventTypes,
  adminListWebhooks,
  adminListDeliveries,
];

export const webhookTags: readonly OpenapiTag[] = [
  { name: "webhooks", description: "Events that are sent to your systems, and the same events to be fetched." },
];
