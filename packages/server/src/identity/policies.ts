/** The limits of signing in and of text messages. */

import { type Policy, windowPolicy } from "../kernel/limits/policies.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

export const identityPolicies = {
  login: windowPolicy("in_force", "content", 5, minuteMs, "refuse"),
  // Beside `login`, so that one address cannot try many e-mail addresses.
  login_ip: windowPolicy("in_force", "address", 60, minuteMs, "refuse"),
  sms_minute: windowPolicy("in_force", "content", 1, minuteMs, "refuse"),
  sms_hour: windowPolicy("in_force", "content", 5, hourMs, "refuse"),
} as const satisfies Record<string, Policy>;
