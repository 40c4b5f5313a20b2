/** The events of an account. */

import { eventType } from "../kernel/events.ts";
import { closed, oneOf } from "../kernel/http/schema.ts";

export const suspensionCauses = ["unpaid", "abuse", "security", "request", "other"] as const;

export const accountSuspended = eventType({
  name: "account.suspended",
  summary: "The account was suspended",
  description: "Members can read and restore, but not write, until the account is resumed.",
  fields: closed({ reason: oneOf(suspensionCauses, "Why.") }, { title: "AccountSuspended" }),
});

export const accountEvents = [accountSuspended];
