/** `POST /v1/webhook-deliveries/{id}/retry`: what the button of the dashboard calls. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import { requireLockedWebhook, shared, targetOf, writes } from "../operations.ts";
import { requireEnabled, requireWebhooks } from "../rules.ts";
import { deliveryId, deliveryShape, showDelivery } from "../shapes.ts";
import { askForAttempt, findDelivery, lockDelivery, setDue } from "../store.ts";

export const retryDelivery = endpoint(
  {
    ...shared,
    id: "webhook_deliveries.retry",
    method: "POST",
    path: "/v1/webhook-deliveries/{id}/retry",
    summary: "Send a delivery again now",
    description:
      "One attempt now, beside the schedule: it uses no step of it, and if it fails, the schedule goes on as before. A delivery that arrived can be sent again too. For a disabled webhook it is 409.",
    access: writes,
    params: deliveryId,
    replies: { 202: { description: "The attempt will be made.", body: deliveryShape } },
    errors: ["feature_not_enabled", "state_conflict"],
  },
  async (ctx, { principal, params }) => {
    requireWebhooks(principal);
    const { accountId } = principal;
    const row = await ctx.tx(rowAccessOf(principal), async (tx) => {
      const found = await findDelivery(tx, accountId, params.id);
      if (found === undefined) throw new Problem("not_found");
      requireEnabled(await requireLockedWebhook(tx, principal, found.webhook_id));
      await askForAttempt(tx, params.id);
      tx.audit({
        action: "webhook.delivery_retried",
        targets: targetOf(found.webhook_id),
        metadata: { delivery: params.id },
      });
      const asked = await lockDelivery(tx, accountId, params.id);
      await setDue(tx, found.webhook_id, tx.now);
      return asked ?? found;
    });
    return { status: 202, body: showDelivery(row) };
  },
);
