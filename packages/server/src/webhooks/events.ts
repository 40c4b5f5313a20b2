/** The event of a webhook's own test. */

import { eventType } from "../kernel/events.ts";
import { closed, uuid } from "../kernel/http/schema.ts";

export const webhookTest = eventType({
  name: "webhook.test",
  summary: "A test of a webhook",
  description: "Somebody asked for it. It is sent to that webhook alone, whatever it is subscribed to.",
  fields: closed({ webhook_id: uuid("The webhook.") }, { title: "WebhookTest" }),
});

export const webhookEvents = [webhookTest];
