/** `POST /v1/orders/{id}/report`: the run that works on an order says how far it is. */

import { noteSeen } from "../../agents/index.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { reportOrder } from "../../restores/index.ts";
import { access, lockOwnOrder, ownAgent, shared } from "../own-agent.ts";
import { reportFields, reportOf } from "../report-body.ts";
import { orderId, orderShape, showOrder } from "../shapes.ts";

export const reportProgress = endpoint(
  {
    ...shared,
    id: "orders.report",
    method: "POST",
    path: "/v1/orders/{id}/report",
    summary: "Report progress",
    description:
      "For the run that works on the order, at least once a minute. 409: the order was canceled, has ended, or another run has it. Then the run stops; what it has written stays.",
    access,
    // Its numbers say what is new, and warnings are counted.
    idempotency: "none",
    params: orderId,
    body: closed(reportFields, { title: "OrderReport" }),
    replies: { 200: { description: "The order.", body: orderShape } },
    errors: ["state_conflict"],
  },
  async (ctx, { principal, params, body, language }) => {
    const report = reportOf(body, language);
    const order = await ctx.tx(rowAccessOf(principal), async (tx) => {
      await reportOrder(tx, await lockOwnOrder(tx, principal, params.id), body.run_id, report);
      await noteSeen(tx, await ownAgent(tx, principal));
      return lockOwnOrder(tx, principal, params.id);
    });
    return { status: 200, body: showOrder(order) };
  },
);
