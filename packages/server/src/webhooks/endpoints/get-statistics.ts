/** `GET /v1/webhooks/{id}/statistics`: how well a webhook does. Apart from the webhook, whose ETag they would change. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, nullable, Type, timestamp, uuid } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { reads, requireWebhook, shared } from "../operations.ts";
import { requireWebhooks } from "../rules.ts";
import { webhookId } from "../shapes.ts";
import { readStatistics } from "../store.ts";

const hourMs = 60 * 60 * 1000;
/** What the dashboard draws. */
const shownHours = 48;
/** The share and the median are of the last day. */
const dayHours = 24;

const count = (description: string) =>
  Type.Integer({ format: "int32", minimum: 0, maximum: 2_147_483_647, description });

export const getStatistics = endpoint(
  {
    ...shared,
    id: "webhooks.get_statistics",
    method: "GET",
    path: "/v1/webhooks/{id}/statistics",
    summary: "Read how well a webhook does",
    description:
      "The share of attempts that succeeded and their median time over 24 hours, attempts per hour over 48 hours, what waits, and when the webhook is disabled if everything goes on failing.",
    access: reads,
    params: webhookId,
    replies: {
      200: {
        description: "The figures.",
        body: closed(
          {
            webhook_id: uuid("The webhook."),
            success_share: nullable(
              Type.Number({ minimum: 0, maximum: 1, description: "Of the attempts of 24 hours; null without any." }),
            ),
            median_ms: nullable(count("The median time to an answer in these hours, within 5 %.")),
            retrying: count("Deliveries that failed and will be tried again."),
            failed: count("Deliveries that failed for good."),
            failing_since: nullable(timestamp("The first failure after the last success.")),
            will_disable_at: nullable(
              timestamp("When the webhook is disabled if every attempt fails; null: no attempt waits."),
            ),
            hours: Type.Array(
              closed(
                {
                  hour: timestamp("The beginning of the hour."),
                  delivered: count("Attempts that succeeded."),
                  failed: count("Attempts that failed."),
                },
                { title: "WebhookHour" },
              ),
              { maxItems: shownHours, description: "The last 48 hours, oldest first." },
            ),
          },
          { title: "WebhookStatistics" },
        ),
      },
    },
    errors: ["feature_not_enabled"],
  },
  async (ctx, { principal, params }) => {
    requireWebhooks(principal);
    const thisHour = Math.floor(ctx.clock.now().getTime() / hourMs) * hourMs;
    const begin = (hours: number) => new Date(thisHour - (hours - 1) * hourMs);
    const { webhook, found } = await ctx.read(rowAccessOf(principal), async (tx) => ({
      webhook: await requireWebhook(tx, principal, params.id),
      found: await readStatistics(tx, params.id, { hours: begin(shownHours), day: begin(dayHours) }),
    }));
    const attempts = found.delivered + found.failed;
    const byHour = new Map(found.hours.map((row) => [row.hour.getTime(), row]));
    return {
      status: 200,
      body: {
        webhook_id: params.id,
        success_share: attempts === 0 ? null : found.delivered / attempts,
        median_ms: found.medianMs,
        ...{ retrying: found.waiting.retrying, failed: found.waiting.failed },
        failing_since: webhook.failing_since?.toISOString() ?? null,
        will_disable_at: webhook.state === "disabled" ? null : (found.willDisableAt?.toISOString() ?? null),
        hours: Array.from({ length: shownHours }, (_, at) => {
          const hour = begin(shownHours - at);
          const { delivered = 0, failed = 0 } = byHour.get(hour.getTime()) ?? {};
          return { hour: hour.toISOString(), delivered, failed };
        }),
      },
    };
  },
);
