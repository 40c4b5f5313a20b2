/** `POST /v1/orders/{id}/start`: a run of the agent takes an order. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { takeOrder } from "../../restores/index.ts";
import { access, lockOwnOrder, shared } from "../own-agent.ts";
import { orderId, orderShape, runId, showOrder } from "../shapes.ts";

export const startOrder = endpoint(
  {
    ...shared,
    id: "orders.start",
    method: "POST",
    path: "/v1/orders/{id}/start",
    summary: "Take an order",
    description:
      "For the agent that the order is for; everybody else gets 404. From now on the run may read what the order names. The same run may repeat it. 409: the order has ended, or another run of the agent works on it and reported within the last two minutes.",
    access,
    params: orderId,
    body: closed({ run_id: runId }, { title: "OrderStart" }),
    replies: { 200: { description: "The order.", body: orderShape } },
    errors: ["state_conflict"],
  },
  async (ctx, { principal, params, body }) => {
    const order = await ctx.tx(rowAccessOf(principal), async (tx) => {
      await takeOrder(tx, await lockOwnOrder(tx, principal, params.id), body.run_id);
      return lockOwnOrder(tx, principal, params.id);
    });
    return { status: 200, body: showOrder(order) };
  },
);
