/**
 * Shared by the staff operations of all domains. They are under `/v1/admin`. Reading runs with row access
 * `staff` (every account, read-only). A change runs with row access to the account that it concerns, has a reason, and is
 * in the audit chain of that account, where the customer can see it.
 */

import { closed, text, uuid } from "../kernel/http/schema.ts";

export const staffOperation = { tag: "admin", access: { kind: "staff" } } as const;

/** Why. It stays in the audit trail, so it must not hold names, addresses or numbers of people. */
export const reasonSchema = text(500, {
  minLength: 3,
  pattern: "^[^\\u0000-\\u001f\\u007f]+$",
  description: "The reason. It is stored in the audit trail, so it must not contain personal data.",
});

export const idParam = closed({ id: uuid("Id.") });
