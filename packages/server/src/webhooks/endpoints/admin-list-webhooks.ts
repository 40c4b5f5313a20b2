/** `GET /v1/admin/webhooks`: the webhooks of all accounts, for staff. Of their addresses only the host is shown. */

import { newestFirst, pageOf, pageQuery } from "../../kernel/cursors.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, nullable, oneOf, Type, text, timestamp, uuid } from "../../kernel/http/schema.ts";
import { disabledReasons } from "../shapes.ts";
import { listAllWebhooks, type WebhookRow } from "../store.ts";

const operation = "admin.list_webhooks";

const webhook = closed(
  {
    id: uuid("The webhook."),
    account_id: uuid("The account."),
    host: text(300, { description: "The host of its address, with its port.", examples: ["hooks.example.com"] }),
    status: oneOf(["enabled", "disabled"], "Nothing is sent to a disabled one."),
    disabled_reason: nullable(oneOf(disabledReasons, "Why it is disabled.")),
    failing_since: nullable(timestamp("The first failure after the last success.")),
    created_at: timestamp("When it was created."),
  },
  { title: "AdminWebhook" },
);

export const adminListWebhooks = endpoint(
  {
    id: operation,
    method: "GET",
    path: "/v1/admin/webhooks",
    tag: "admin",
    summary: "List the webhooks of all accounts",
    description: "Newest first. Paths and queries of addresses, and descriptions, are not shown.",
    access: { kind: "staff" },
    query: closed({
      ...pageQuery,
      ...newestFirst.query,
      account_id: Type.Optional(uuid("Only webhooks of this account.")),
    }),
    replies: { 200: { description: "A page.", body: pageOf(webhook, "AdminWebhookPage") } },
  },
  async (ctx, { query }) => {
    const binding = { operation, filters: [query.account_id ?? null], sorting: newestFirst };
    const page = ctx.cursors.start(query, binding);
    const rows = await ctx.read({ kind: "staff" }, (tx) => listAllWebhooks(tx, query.account_id, page));
    return { status: 200, body: ctx.cursors.page(rows, query, binding, show) };
  },
);

function show(row: WebhookRow) {
  return {
    ...{ id: row.id, account_id: row.account_id, host: new URL(row.url).host, status: row.state },
    ...{ disabled_reason: row.disabled_reason, failing_since: row.failing_since?.toISOString() ?? null },
    created_at: row.created_at.toISOString(),
  };
}
