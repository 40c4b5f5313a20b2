/** `GET /v1/admin/webhook-deliveries`: the deliveries of all accounts, for staff. */

import { newestFirst, pageOf, pageQuery } from "../../kernel/cursors.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, oneOf, Type, uuid } from "../../kernel/http/schema.ts";
import { deliveryFields, deliveryStates, showDelivery } from "../shapes.ts";
import { listAllDeliveries } from "../store.ts";

const operation = "admin.list_webhook_deliveries";

const delivery = closed({ account_id: uuid("The account."), ...deliveryFields }, { title: "AdminWebhookDelivery" });

export const adminListDeliveries = endpoint(
  {
    id: operation,
    method: "GET",
    path: "/v1/admin/webhook-deliveries",
    tag: "admin",
    summary: "List the webhook deliveries of all accounts",
    description: "Newest first, with the last attempt of each. Bodies are not shown.",
    access: { kind: "staff" },
    query: closed({
      ...pageQuery,
      ...newestFirst.query,
      account_id: Type.Optional(uuid("Only of this account.")),
      webhook_id: Type.Optional(uuid("Only of this webhook.")),
      status: Type.Optional(oneOf(deliveryStates, "Only with this status.")),
    }),
    replies: { 200: { description: "A page.", body: pageOf(delivery, "AdminWebhookDeliveryPage") } },
  },
  async (ctx, { query }) => {
    const { account_id, webhook_id, status } = query;
    const filter = { ...(account_id && { account_id }), ...(webhook_id && { webhook_id }), ...(status && { status }) };
    const binding = { operation, filters: [filter], sorting: newestFirst };
    const page = ctx.cursors.start(query, binding);
    const rows = await ctx.read({ kind: "staff" }, (tx) => listAllDeliveries(tx, filter, page));
    const show = (row: (typeof rows)[number]) => ({ account_id: row.account_id, ...showDelivery(row) });
    return { status: 200, body: ctx.cursors.page(rows, query, binding, show) };
  },
);
