/**
 * Events of domains that are not built yet. Customers can subscribe to them today, and the document describes them. When a
 * domain is built, its events move to its own `events.ts`.
 */

import { eventType } from "../kernel/events.ts";
import { closed, nullable, oneOf, Type, text, timestamp, uuid } from "../kernel/http/schema.ts";

const count = (description: string) =>
  Type.Integer({ format: "int64", minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description });
const code = (description: string, example: string) =>
  text(64, { pattern: "^[a-z][a-z0-9_]*$", description, examples: [example] });

const period = text(7, { pattern: "^\\d{4}-\\d{2}$", description: "The month.", examples: ["2026-11"] });
const packageName = oneOf(["starter", "professional", "accountant", "corporate"], "The package.");
const subscription = { subscription_id: uuid("The subscription."), package: packageName };

const billingCharged = eventType({
  name: "billing.charged",
  summary: "A payment was received",
  description: "The payment of an invoice was confirmed.",
  fields: closed(
    {
      invoice_id: uuid("The invoice."),
      amount_minor: count("The amount in the smallest unit of the currency."),
      currency: text(3, { minLength: 3, pattern: "^[A-Z]{3}$", description: "ISO 4217.", examples: ["TRY"] }),
      period,
    },
    { title: "BillingCharged" },
  ),
});

const subscriptionRenewed = eventType({
  name: "subscription.renewed",
  summary: "The subscription was renewed",
  description: "The next period is paid.",
  fields: closed({ ...subscription, period }, { title: "SubscriptionRenewed" }),
});

const subscriptionFailed = eventType({
  name: "subscription.failed",
  summary: "A renewal failed",
  description: "The payment of the next period was refused; `next_retry_at` says when it is tried again.",
  fields: closed(
    {
      ...subscription,
      failure: code("Why.", "card_declined"),
      attempt: Type.Integer({ format: "int32", minimum: 1, maximum: 1000, description: "Number of the attempt." }),
      next_retry_at: nullable(timestamp("The next attempt; null after the last one.")),
    },
    { title: "SubscriptionFailed" },
  ),
});

const byosTokenExpired = eventType({
  name: "byos.token_expired",
  summary: "Your own storage must be connected again",
  description: "The provider refuses the token of a storage connection. Sent once, until the connection is renewed.",
  fields: closed(
    {
      connection_id: uuid("The connection."),
      provider: code("The provider of the storage.", "google_drive"),
      expired_at: timestamp("When the token expired, or was found refused."),
    },
    { title: "ByosTokenExpired" },
  ),
});

const taxpayerTransferred = eventType({
  name: "mukellef.transferred",
  summary: "A taxpayer was transferred",
  description: "The receiving account accepted the transfer. Both accounts get the event.",
  ofVault: true,
  fields: closed(
    {
      taxpayer_id: uuid("The taxpayer."),
      from_account_id: uuid("The account that had it."),
      to_account_id: uuid("The account that has it now."),
    },
    { title: "MukellefTransferred" },
  ),
});

export const plannedEvents = [
  billingCharged,
  subscriptionRenewed,
  subscriptionFailed,
  byosTokenExpired,
  taxpayerTransferred,
];
