/** `POST /v1/webhooks/{id}/replay`: kept events of a range are sent again. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, oneOf, Type, timestamp } from "../../kernel/http/schema.ts";
import { invalidField } from "../../kernel/http/validate.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import { eventNames } from "../catalogue.ts";
import { requireLockedWebhook, shared, targetOf, writes } from "../operations.ts";
import { requireEnabled, requireWebhooks } from "../rules.ts";
import { queuedShape, webhookId } from "../shapes.ts";
import { countWaiting, replayEvents, setDue } from "../store.ts";

/**
 * Written in one transaction, in a few seconds. A month of a large office has a tenth of it. Together with what waits already: replays that
 * are repeated faster than a receiver answers would otherwise fill the database.
 */
const maxReplayed = 100_000;

export const replayWebhook = endpoint(
  {
    ...shared,
    id: "webhooks.replay",
    method: "POST",
    path: "/v1/webhooks/{id}/replay",
    summary: "Send events of a time again",
    description: `Sends the events from \`from\` (inclusive) to \`to\` (exclusive; now when absent) that the webhook is subscribed to, in their order, also those of a time when it was disabled. \`webhook-id\` and body are the same as before. More than ${maxReplayed} events, with those that still wait for their first attempt, are 409 \`quota_exceeded\`. For a disabled webhook it is 409.`,
    access: writes,
    limits: ["webhook_sends"],
    params: webhookId,
    body: closed(
      {
        from: timestamp("The first moment."),
        to: Type.Optional(timestamp("The moment after the last one.")),
        events: Type.Optional(
          Type.Array(oneOf(eventNames, "A type of event."), {
            ...{ minItems: 1, maxItems: 100, uniqueItems: true },
            description: "Only these types.",
          }),
        ),
      },
      { title: "WebhookReplay" },
    ),
    replies: { 202: { description: "How many events will be sent.", body: queuedShape } },
    errors: ["feature_not_enabled", "state_conflict", "quota_exceeded"],
  },
  async (ctx, { principal, params, body, language }) => {
    requireWebhooks(principal);
    const queued = await ctx.tx(rowAccessOf(principal), async (tx) => {
      const from = new Date(body.from);
      // Without an end everything up to now, this moment included.
      const to = body.to === undefined ? new Date(tx.now.getTime() + 1) : new Date(body.to);
      if (from > to)
        throw new Problem("validation_failed", { errors: [invalidField("/to", "out_of_range", language)] });
      const webhook = await requireLockedWebhook(tx, principal, params.id);
      requireEnabled(webhook);
      const free = maxReplayed - (await countWaiting(tx, params.id, maxReplayed));
      const count = await replayEvents(tx, webhook, { from, to, events: body.events ?? null, most: free + 1 });
      if (count > free) throw new Problem("quota_exceeded");
      await setDue(tx, params.id, tx.now);
      tx.audit({ action: "webhook.replayed", targets: targetOf(params.id), metadata: { count: String(count) } });
      return count;
    });
    return { status: 202, body: { queued } };
  },
);
