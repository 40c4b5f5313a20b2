/** The operations of webhooks and events, in the order of the document. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import type { OpenapiTag } from "../../kernel/http/openapi.ts";
import { listEventTypes } from "./list-event-types.ts";
import { listEvents } from "./list-events.ts";

export const webhookEndpoints: readonly Endpoint[] = [listEvents, listEventTypes];

export const webhookTags: readonly OpenapiTag[] = [
  { name: "webhooks", description: "Events that are sent to your systems, and the same events to be fetched." },
];
