/** `POST /v1/webhooks/{id}/retry-failed`: one attempt for all that did not arrive. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { requireLockedWebhook, shared, targetOf, writes } from "../operations.ts";
import { requireEnabled, requireWebhooks } from "../rules.ts";
import { queuedShape, webhookId } from "../shapes.ts";
import { askForFailed, setDue } from "../store.ts";

export const retryFailed = endpoint(
  {
    ...shared,
    id: "webhooks.retry_failed",
    method: "POST",
    path: "/v1/webhooks/{id}/retry-failed",
    summary: "Send all failed deliveries again now",
    description:
      "One attempt now for every delivery that is `retrying` or `failed`, beside their schedules. For a disabled webhook it is 409.",
    access: writes,
    limits: ["webhook_sends"],
    params: webhookId,
    replies: { 202: { description: "How many attempts will be made.", body: queuedShape } },
    errors: ["feature_not_enabled", "state_conflict"],
  },
  async (ctx, { principal, params }) => {
    requireWebhooks(principal);
    const queued = await ctx.tx(rowAccessOf(principal), async (tx) => {
      requireEnabled(await requireLockedWebhook(tx, principal, params.id));
      const count = await askForFailed(tx, params.id);
      await setDue(tx, params.id, tx.now);
      tx.audit({ action: "webhook.failed_retried", targets: targetOf(params.id), metadata: { count: String(count) } });
      return count;
    });
    return { status: 202, body: { queued } };
  },
);
