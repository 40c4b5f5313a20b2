/** `POST /v1/orders/{id}/finish`: the run that works on an order ends it. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, oneOf, Type } from "../../kernel/http/schema.ts";
import { invalidField } from "../../kernel/http/validate.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { type Language, Problem } from "../../kernel/problems.ts";
import { agentFailureCodes, finishOrder, type OrderEnd } from "../../restores/index.ts";
import { access, lockOwnOrder, shared } from "../own-agent.ts";
import { reportFields, reportOf } from "../report-body.ts";
import { orderId, orderShape, showOrder } from "../shapes.ts";

export const endOrder = endpoint(
  {
    ...shared,
    id: "orders.finish",
    method: "POST",
    path: "/v1/orders/{id}/finish",
    summary: "End an order",
    description:
      'For the run that works on the order. `completed`: every file was written, or is named in the warnings; with `on_damage: "fail"` no content was damaged. The same call may be repeated. 409: the order has ended otherwise, or another run has it.',
    access,
    idempotency: "none",
    params: orderId,
    body: closed(
      {
        ...reportFields,
        result: oneOf(["completed", "failed"], "How it ended."),
        failure: Type.Optional(
          oneOf(
            agentFailureCodes,
            "With `failed`: why. `target_refused`: the machine does not permit this place or overwriting. `target_full`: no space is left. `write_failed`: files could not be written.",
          ),
        ),
      },
      { title: "OrderEnd" },
    ),
    replies: { 200: { description: "The order.", body: orderShape } },
    errors: ["state_conflict"],
  },
  async (ctx, { principal, params, body, language }) => {
    const report = reportOf(body, language);
    const end = endOf(body, language);
    const order = await ctx.tx(rowAccessOf(principal), async (tx) => {
      await finishOrder(tx, await lockOwnOrder(tx, principal, params.id), body.run_id, end, report);
      return lockOwnOrder(tx, principal, params.id);
    });
    return { status: 200, body: showOrder(order) };
  },
);

function endOf(
  { result, failure }: { result: "completed" | "failed"; failure?: (typeof agentFailureCodes)[number] },
  language: Language,
): OrderEnd {
  if (result === "completed" && failure === undefined) return { result };
  if (result === "failed" && failure !== undefined) return { result, failure };
  const code = failure === undefined ? "required" : "not_allowed";
  throw new Problem("validation_failed", { errors: [invalidField("/failure", code, language)] });
}
