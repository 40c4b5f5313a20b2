/** The person behind a principal, and the scope that their rows are in. */

import type { Principal, RowAccess } from "../../kernel/principal.ts";

export interface Who {
  readonly personId: string;
  /** Null for staff. */
  readonly accountId: string | null;
  readonly scope: RowAccess;
}

export function personOf(principal: Extract<Principal, { authTime: Date }>): Who {
  if (principal.kind === "staff") return { personId: principal.staffId, accountId: null, scope: { kind: "platform" } };
  const { accountId, memberId } = principal;
  return { personId: memberId, accountId, scope: { kind: "account", accountId } };
}
