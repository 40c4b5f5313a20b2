/**
 * Webhooks and events: what happened in an account is told to its own systems. Reads the tables `events` and `event_heads`,
 * which transactions write (`kernel/events.ts`), and removes events after thirty days.
 *
 * Invariants: an event is told in the order of its account's stream; a client that is held to vaults is told of these vaults
 * alone; what is gone after thirty days is said to be gone (410), never skipped.
 */

export { eventCatalogue } from "./catalogue.ts";
export { webhookRecurrences } from "./jobs.ts";
export { openWebhooks, type WebhookServices } from "./open-webhooks.ts";
