/** `GET /v1/event-types`: what an account can subscribe to. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type, text } from "../../kernel/http/schema.ts";
import { eventCatalogue } from "../catalogue.ts";

/** More types than there will be. */
const maxTypes = 200;

const list = {
  data: eventCatalogue.map(({ name, summary, description, ofVault }) => ({
    ...{ name, summary, description },
    of_vault: ofVault,
  })),
};

export const listEventTypes = endpoint(
  {
    id: "event_types.list",
    method: "GET",
    path: "/v1/event-types",
    tag: "webhooks",
    summary: "List the types of events",
    description:
      "Everything that a webhook can subscribe to. The `webhooks` section of this document has their fields.",
    access: { kind: "account", scope: "webhooks:read", dashboard: "every_role" },
    withinVaults: true,
    replies: {
      200: {
        description: "The types.",
        body: closed(
          {
            data: Type.Array(
              closed(
                {
                  name: text(100, { description: "The type, as payloads have it.", examples: ["snapshot.completed"] }),
                  summary: text(200, { description: "What happened.", examples: ["A backup completed"] }),
                  description: text(500, { description: "When it is sent.", examples: ["The snapshot is stored."] }),
                  of_vault: Type.Boolean({ description: "It happens in a vault: clients of that vault see it too." }),
                },
                { title: "EventType" },
              ),
              { maxItems: maxTypes },
            ),
          },
          { title: "EventTypes" },
        ),
      },
    },
  },
  async () => ({ status: 200, body: list }),
);
