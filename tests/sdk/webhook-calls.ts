/** Calls of the operations of webhooks and events, one each. */

import assert from "node:assert/strict";
import type { EmanetClient } from "../../sdks/typescript/src/index.ts";

type Call = (client: EmanetClient, id: string) => Promise<unknown>;

const newWebhook = { url: "https://hooks.example.com/", events: ["*" as const] };

type MakeClient = () => Promise<EmanetClient>;

/** `owner` makes a client of a new account. */
export function webhookCalls(owner: MakeClient, staff: MakeClient): Readonly<Record<string, () => Promise<unknown>>> {
  const onWebhook = (call: Call) => async () => {
    const client = await owner();
    return call(client, (await client.webhooks.create({ body: newWebhook })).id);
  };
  const onDelivery = (call: Call) =>
    onWebhook(async (client, id) => {
      await client.webhooks.test({ id });
      const [row] = (await client.webhooks.listDeliveries({ id })).data;
      return call(client, row?.id ?? assert.fail("no delivery"));
    });
  return {
    "webhooks.list": async () => (await owner()).webhooks.list({ limit: 5 }),
    "webhooks.create": async () => (await owner()).webhooks.create({ body: newWebhook }),
    "webhooks.get": onWebhook((client, id) => client.webhooks.get({ id })),
    "webhooks.update": onWebhook((client, id) => client.webhooks.update({ id, body: { description: "Başka" } })),
    "webhooks.delete": onWebhook((client, id) => client.webhooks.delete({ id })),
    "webhooks.enable": onWebhook(async (client, id) => {
      await client.webhooks.disable({ id });
      return client.webhooks.enable({ id });
    }),
    "webhooks.disable": onWebhook((client, id) => client.webhooks.disable({ id })),
    "webhooks.test": onWebhook((client, id) => client.webhooks.test({ id })),
    "webhooks.rotateSecret": onWebhook(async (client, id) => {
      const { etag } = await client.webhooks.get.answer({ id });
      return client.webhooks.rotateSecret({ id, body: {} }, { ifMatch: etag ?? assert.fail("no ETag") });
    }),
    "webhooks.verifyDebug": onWebhook((client, id) =>
      client.webhooks.verifyDebug({ id, body: { signature: "t=1,v1=0", body: "{}" } }),
    ),
    "webhooks.getStatistics": onWebhook((client, id) => client.webhooks.getStatistics({ id })),
    "webhooks.listDeliveries": onWebhook((client, id) => client.webhooks.listDeliveries({ id })),
    "webhooks.retryFailed": onWebhook((client, id) => client.webhooks.retryFailed({ id })),
    "webhooks.replay": onWebhook((client, id) =>
      client.webhooks.replay({ id, body: { from: "2026-11-01T00:00:00Z" } }),
    ),
    "webhookDeliveries.get": onDelivery((client, id) => client.webhookDeliveries.get({ id })),
    "webhookDeliveries.retry": onDelivery((client, id) => client.webhookDeliveries.retry({ id })),
    "admin.listWebhooks": async () => (await staff()).admin.listWebhooks({ limit: 5 }),
    "admin.listWebhookDeliveries": async () => (await staff()).admin.listWebhookDeliveries({ limit: 5 }),
    "events.list": async () => (await owner()).events.list({ after: 0, limit: 10 }),
    "eventTypes.list": async () => (await owner()).eventTypes.list(),
  };
}
