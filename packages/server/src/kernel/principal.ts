/**
 * Who is asking. A *principal* is what authentication made of a request; an *actor* is how the audit names it.
 * A principal of an account carries that account's id, which is the only way a handler learns which account it
 * works for. Staff of the platform belong to no account.
 */

import type { ProblemCode } from "./problems.ts";

/** What an access token may be allowed to do, with the words shown to whoever grants it. */
export const oauthScopes = {
  "snapshots:read": "Read snapshots, vaults, sources and files",
  "snapshots:write": "Create and delete snapshots",
  "restores:read": "Read restores and download their files",
  "restores:write": "Start and cancel restores",
  "restores:agent": "Restore files onto a machine that runs the agent",
  "audit:read": "Read and export the audit log",
  "webhooks:read": "Read webhooks, their deliveries and events",
  "webhooks:write": "Create, change and delete webhooks",
  "account:read": "Read the account, its members, sessions and clients",
  "account:write": "Change the account, its members, sessions and clients",
  "taxpayers:read": "Read taxpayers",
  "taxpayers:write": "Create and change taxpayers",
} as const;

export type OauthScope = keyof typeof oauthScopes;

export type Principal =
  | { readonly kind: "anonymous" }
  | (AccountPrincipal & { readonly kind: "member"; readonly memberId: string })
  | (AccountPrincipal & { readonly kind: "client" })
  | { readonly kind: "staff"; readonly staffId: string; readonly clientId: string };

interface AccountPrincipal {
  readonly accountId: string;
  /** The OAuth client or the session that the token was issued to; idempotency keys are kept apart by it. */
  readonly clientId: string;
  readonly scopes: ReadonlySet<OauthScope>;
}

/** Turns a bearer token into a principal, or says which problem of the catalogue it meets. */
export interface Authenticator {
  authenticate(token: string): Promise<Exclude<Principal, { kind: "anonymous" }> | AuthenticationFailure>;
}

export interface AuthenticationFailure {
  readonly kind: "refused";
  readonly code: Extract<ProblemCode, "invalid_token" | "token_expired" | "banned">;
}

/** For a service that issues no tokens yet: every token is refused. */
export const refuseEveryToken: Authenticator = {
  authenticate: async () => ({ kind: "refused", code: "invalid_token" }),
};

/** Whose rows a transaction sees; row-level security holds it to that. */
export type Scope =
  | { readonly kind: "account"; readonly accountId: string }
  /** Rows that belong to no account. */
  | { readonly kind: "platform" }
  /** Upkeep of the service itself: all rows. Never on behalf of a request. */
  | { readonly kind: "system" };

/** The audit's name for whoever acted: ids only, so that erasing a person does not break a chain. */
export type Actor =
  | { readonly kind: "anonymous" | "system" }
  | { readonly kind: "member" | "client" | "staff"; readonly id: string };

export function actorOf(principal: Principal): Actor {
  switch (principal.kind) {
    case "anonymous":
      return { kind: "anonymous" };
    case "member":
      return { kind: "member", id: principal.memberId };
    case "client":
      return { kind: "client", id: principal.clientId };
    case "staff":
      return { kind: "staff", id: principal.staffId };
  }
}

/** The rows that a principal's own transactions see. */
export function scopeOf(principal: Principal): Scope {
  return "accountId" in principal ? { kind: "account", accountId: principal.accountId } : { kind: "platform" };
}
