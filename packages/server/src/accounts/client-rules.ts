/** What the operations on an account's programs share. */

import { closed, Type, uuid } from "../kernel/http/schema.ts";
import { Problem } from "../kernel/problems.ts";
import type { ClientRow } from "./clients.ts";

export const shared = { tag: "oauth-clients", package: "api" } as const;
export const reads = { kind: "account", scope: "account:read", roles: ["owner", "manager"] } as const;
export const writes = { kind: "account", scope: "account:write" } as const;
export const clientId = closed({ id: uuid("The `client_id`.") });
export const secretText = Type.String({
  maxLength: 60,
  pattern: "^ems_[A-Za-z0-9_-]{43}$",
  description: "Shown this once. Keep it where only the client can read it.",
});

export async function requireClient(found: Promise<ClientRow | undefined>): Promise<ClientRow> {
  const row = await found;
  if (row === undefined) throw new Problem("not_found");
  return row;
}
