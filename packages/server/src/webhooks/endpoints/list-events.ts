/** `GET /v1/events`: the account's events in their order, with long polling, for systems that no webhook can reach. */

import { monotonicMs } from "../../kernel/clock.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type, text, timestamp, uuid } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import { allowedVaults } from "../../vaults/index.ts";
import { readEvents } from "../event-store.ts";
import { requireEvents } from "../rules.ts";

/** Proxies and load balancers cut requests after 60 seconds, some after 30. */
const maxWaitSeconds = 30;
/** The wait, and the time that a busy database needs. */
const deadlineMs = (maxWaitSeconds + 15) * 1000;
/** An event has some 300 bytes. */
const maxEvents = 1_000;
const defaultEvents = 100;
/** The contract's time between two checks of the caller's rights while it waits. */
const recheckMs = 10_000;

const sequence = (description: string, minimum: number) =>
  Type.Integer({ format: "int64", minimum, maximum: Number.MAX_SAFE_INTEGER, description });

/** Open: each type has fields of its own, which the document's `webhooks` section describes. */
const event = Type.Object(
  {
    event: text(100, { description: "The type of the event.", examples: ["snapshot.completed"] }),
    event_id: uuid("The event; the same as `webhook-id` of its deliveries."),
    sequence: sequence("Its number in the account's stream.", 1),
    account_id: uuid("The account."),
    created_at: timestamp("When it happened."),
  },
  { title: "Event", description: "A payload as webhooks get it, with the fields of its type." },
);

export const listEvents = endpoint(
  {
    id: "events.list",
    method: "GET",
    path: "/v1/events",
    tag: "webhooks",
    summary: "Read events, or wait for the next one",
    description:
      "The events after `after`, oldest first. With `wait` the answer comes as soon as there is one, or empty after so many seconds. Ask again with `last_sequence` of the answer: what a lost answer had comes again. Events are kept for 30 days; asking for older ones is 410 `events_expired`. Without `after` the oldest kept one is the first. A number above the newest is answered at once with the newest one, for who wants what comes from now on. Numbers can be missing for clients that are held to vaults.",
    access: { kind: "account", scope: "webhooks:read", dashboard: "every_role" },
    withinVaults: true,
    deadlineMs,
    query: closed({
      after: Type.Optional(sequence("The last number that you have; 0 before the first.", 0)),
      wait: Type.Optional(
        Type.Integer({
          ...{ format: "int32", minimum: 0, maximum: maxWaitSeconds },
          description: "Seconds to wait for an event when there is none (0).",
        }),
      ),
      limit: Type.Optional(
        Type.Integer({ format: "int32", minimum: 1, maximum: maxEvents, description: "Most events (100)." }),
      ),
    }),
    replies: {
      200: {
        description: "The events; none if there is no newer one.",
        body: closed(
          {
            data: Type.Array(event, { maxItems: maxEvents }),
            last_sequence: sequence("The `after` of the next request.", 0),
          },
          { title: "Events" },
        ),
      },
    },
    errors: ["events_expired", "feature_not_enabled"],
  },
  async (ctx, call) => {
    const { query } = call;
    const { waits } = ctx.services.webhooks;
    const endsAtMs = monotonicMs() + (query.wait ?? 0) * 1000;
    let { principal } = call;
    let checkedAtMs = monotonicMs();
    let after = query.after ?? null;
    for (;;) {
      requireEvents(principal);
      const filter = { after, vaultIds: allowedVaults(principal), limit: query.limit ?? defaultEvents };
      const { accountId } = principal;
      const found = await ctx.read(rowAccessOf(principal), (tx) => readEvents(tx, accountId, filter));
      if (after !== null && after < found.expiredThrough) throw new Problem("events_expired");
      const leftMs = endsAtMs - monotonicMs();
      const isAhead = after !== null && after > found.lastSequence;
      if (found.payloads.length > 0 || isAhead || leftMs <= 0 || waits.isClosed || ctx.signal.aborted) {
        const data = found.payloads.map((payload) => JSON.parse(payload));
        return { status: 200, body: { data, last_sequence: found.lastSequence } };
      }
      after = found.lastSequence;
      const untilCheckMs = checkedAtMs + recheckMs - monotonicMs();
      await waits.wait(accountId, after, Math.min(leftMs, Math.max(untilCheckMs, 0)), ctx.signal);
      if (monotonicMs() >= checkedAtMs + recheckMs) {
        principal = (await ctx.recheck()) as typeof principal;
        checkedAtMs = monotonicMs();
      }
    }
  },
);
