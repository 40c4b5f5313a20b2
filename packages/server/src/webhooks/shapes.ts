/** The JSON of webhooks and deliveries that the API returns, and what requests may say of them. */

import { closed, nullable, oneOf, type Static, Type, text, timestamp, uuid } from "../kernel/http/schema.ts";
import { eventNames } from "./catalogue.ts";
import { errorClasses, maxAttempts } from "./schedule.ts";
import type { DeliveryRow, WebhookRow } from "./store.ts";
import { maxUrlLength } from "./target-url.ts";

export const disabledReasons = ["requested", "delivery_failed", "gone", "creator_lost_access"] as const;
export const deliveryStates = ["pending", "retrying", "delivered", "failed"] as const;
export const deliveryKinds = ["event", "test", "replay"] as const;

/** As long as a label. */
const maxDescriptionLength = 200;
/** Scheduled ones, and what people asked for; the newest are kept. */
export const maxShownAttempts = 20;
/** As many as a client can be held to, many times over. */
const maxVaults = 1_000;

export const webhookId = closed({ id: uuid("Id of the webhook.") });
export const deliveryId = closed({ id: uuid("Id of the delivery.") });

export const webhookFields = {
  url: text(maxUrlLength, {
    description: "Where events are sent: https, a public host, no user name or password in it.",
    examples: ["https://hooks.example.com/emanet"],
  }),
  events: Type.Array(oneOf(["*", ...eventNames], "A type of event; `*` stands for all, later ones too."), {
    ...{ minItems: 1, maxItems: 100, uniqueItems: true },
    description: "What is sent.",
  }),
  description: nullable(text(maxDescriptionLength, { description: "For people.", examples: ["Defter köprüsü"] })),
};

const version = Type.Integer({ format: "int32", minimum: 1, maximum: 2_147_483_647 });

const shown = {
  id: uuid("The webhook."),
  ...webhookFields,
  status: oneOf(["enabled", "disabled"], "Nothing is sent to a disabled one."),
  disabled_reason: nullable(
    oneOf(disabledReasons, "`delivery_failed`: the last retry of an event failed. `gone`: the receiver answered 410."),
  ),
  disabled_at: nullable(timestamp("When it was disabled.")),
  vault_ids: nullable(
    Type.Array(uuid("A vault."), {
      maxItems: maxVaults,
      description: "Only events of these vaults are sent: those of the client that made it. Null: all events.",
    }),
  ),
  created_at: timestamp("When it was created."),
  updated_at: timestamp("When it was last changed."),
  version,
};

export const webhookShape = closed(shown, { title: "Webhook" });

export const secretText = text(100, {
  description: "The secret that deliveries are signed with. It is shown only here.",
  pattern: "^whsec_[A-Za-z0-9+/]+=*$",
  examples: ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
});

export const createdShape = closed({ ...shown, secret: secretText }, { title: "WebhookCreated" });

export function showWebhook(row: WebhookRow): Static<typeof webhookShape> {
  return {
    id: row.id,
    url: row.url,
    events: [...row.events],
    description: row.description,
    status: row.state,
    disabled_reason: row.disabled_reason,
    disabled_at: row.disabled_at?.toISOString() ?? null,
    vault_ids: row.vault_ids === null ? null : [...row.vault_ids],
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    version: row.version,
  };
}

const count = (description: string) =>
  Type.Integer({ format: "int32", minimum: 0, maximum: 2_147_483_647, description });

const attempt = closed(
  {
    number: count(
      "Its number in the schedule, from 1; that of the last scheduled one for an attempt that a person asked for.",
    ),
    is_manual: Type.Boolean({ description: "A person asked for it, beside the schedule." }),
    at: timestamp("When it began; the `t` of its signature."),
    status: nullable(count("The status of the answer; null without one.")),
    error: nullable(oneOf(errorClasses, "Why it failed.")),
    duration_ms: count("Until the head of the answer, or until the failure."),
  },
  { title: "WebhookAttempt" },
);

export const deliveryFields = {
  id: uuid("The delivery."),
  webhook_id: uuid("The webhook."),
  event: text(100, { description: "The type of the event.", examples: ["snapshot.completed"] }),
  event_id: uuid("The event; the `webhook-id` of every attempt."),
  sequence: Type.Integer({ ...{ format: "int64", minimum: 1, maximum: Number.MAX_SAFE_INTEGER } }),
  kind: oneOf(deliveryKinds, "Why it was made: an event, a test, or a replay of an event."),
  status: oneOf(deliveryStates, "`retrying`: an attempt failed and there is a next one. `failed`: there is none."),
  attempt_count: count(`Attempts of the schedule so far, of ${maxAttempts}.`),
  next_attempt_at: nullable(timestamp("When the next attempt of the schedule is made.")),
  last_attempt: nullable(attempt),
  created_at: timestamp("When the event happened, or was replayed."),
};

export const deliveryShape = closed(deliveryFields, { title: "WebhookDelivery" });

export const deliveryDetail = closed(
  {
    ...deliveryFields,
    attempts: Type.Array(attempt, { maxItems: maxShownAttempts, description: "The newest, oldest first." }),
    body: nullable(
      text(100_000, {
        description: "The body of every attempt, byte for byte; null when the event is not kept any more.",
        examples: ['{"event":"snapshot.completed"}'],
      }),
    ),
  },
  { title: "WebhookDeliveryDetail" },
);

export function showDelivery(row: DeliveryRow): Static<typeof deliveryShape> {
  return {
    id: row.id,
    webhook_id: row.webhook_id,
    event: row.event_type,
    event_id: row.event_id,
    sequence: row.sequence,
    kind: row.kind,
    status: row.state,
    attempt_count: row.attempt_count,
    next_attempt_at: row.next_attempt_at?.toISOString() ?? null,
    last_attempt: attemptsOf(row).at(-1) ?? null,
    created_at: row.created_at.toISOString(),
  };
}

export function showDetail(row: DeliveryRow, body: string | undefined): Static<typeof deliveryDetail> {
  return { ...showDelivery(row), attempts: [...attemptsOf(row)], body: body ?? null };
}

function attemptsOf(row: DeliveryRow): readonly Static<typeof attempt>[] {
  return row.attempts as readonly Static<typeof attempt>[];
}

export const queuedShape = closed({ queued: count("Deliveries that will be sent.") }, { title: "WebhookQueued" });
