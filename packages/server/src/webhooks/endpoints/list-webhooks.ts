/** `GET /v1/webhooks`. */

import { newestFirst, pageOf, pageQuery } from "../../kernel/cursors.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { allowedVaults } from "../../vaults/index.ts";
import { reads, shared } from "../operations.ts";
import { requireWebhooks } from "../rules.ts";
import { showWebhook, webhookShape } from "../shapes.ts";
import { listWebhooks as readWebhooks } from "../store.ts";

const operation = "webhooks.list";

export const listWebhooks = endpoint(
  {
    ...shared,
    id: operation,
    method: "GET",
    path: "/v1/webhooks",
    summary: "List webhooks",
    description:
      "The account's webhooks, newest first. A client that is held to vaults sees those that send events of these vaults alone.",
    access: reads,
    query: closed({ ...pageQuery, ...newestFirst.query }),
    replies: { 200: { description: "A page of webhooks.", body: pageOf(webhookShape, "WebhookPage") } },
    errors: ["feature_not_enabled"],
  },
  async (ctx, { principal, query }) => {
    requireWebhooks(principal);
    const { accountId } = principal;
    const vaults = allowedVaults(principal);
    const binding = { operation, filters: [accountId, vaults], sorting: newestFirst };
    const page = ctx.cursors.start(query, binding);
    const rows = await ctx.read(rowAccessOf(principal), (tx) => readWebhooks(tx, accountId, vaults, page));
    return { status: 200, body: ctx.cursors.page(rows, query, binding, showWebhook) };
  },
);
