/** Who writes to a source. The engine knows a writer by its name, as the owner of what it stores. */

import { isAgent, type Principal } from "../kernel/principal.ts";

export const writerKinds = ["client", "agent", "member"] as const;

export interface Writer {
  readonly kind: (typeof writerKinds)[number];
  readonly id: string;
}

/** A program writes in its own name, also when it acts for a member: the member may leave, and the backups go on. */
export function writerOf(principal: Extract<Principal, { accountId: string }>): Writer {
  if (principal.kind === "member") return { kind: "member", id: principal.memberId };
  return isAgent(principal) ? { kind: "agent", id: principal.sessionId } : { kind: "client", id: principal.clientId };
}

export function writerName({ kind, id }: Writer): string {
  return `${kind}:${id}`;
}
