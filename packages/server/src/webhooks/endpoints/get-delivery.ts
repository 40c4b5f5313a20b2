/** `GET /v1/webhook-deliveries/{id}`: a delivery with its attempts and the body that is sent. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import { reads, requireWebhook, shared } from "../operations.ts";
import { requireWebhooks } from "../rules.ts";
import { deliveryDetail, deliveryId, showDetail } from "../shapes.ts";
import { findDelivery, findPayload } from "../store.ts";

export const getDelivery = endpoint(
  {
    ...shared,
    id: "webhook_deliveries.get",
    method: "GET",
    path: "/v1/webhook-deliveries/{id}",
    summary: "Read a delivery",
    description:
      "With its attempts and the body, which is the same in all of them. What receivers answered is not kept.",
    access: reads,
    params: deliveryId,
    replies: { 200: { description: "The delivery.", body: deliveryDetail } },
    errors: ["feature_not_enabled"],
  },
  async (ctx, { principal, params }) => {
    requireWebhooks(principal);
    const { row, body } = await ctx.read(rowAccessOf(principal), async (tx) => {
      const found = await findDelivery(tx, principal.accountId, params.id);
      if (found === undefined) throw new Problem("not_found");
      await requireWebhook(tx, principal, found.webhook_id);
      return { row: found, body: await findPayload(tx, found) };
    });
    return { status: 200, body: showDetail(row, body) };
  },
);
