/**
 * Who is asking. A *principal* is what authentication made of a request; an *actor* is how the audit names it.
 * A principal of an account carries that account's id, which is the only way a handler learns which account it
 * works for. Staff of the platform belong to no account.
 *
 * People and programs are different kinds. A *member* is a person who signed in. A *client* is a program, also when a
 * member allowed it to act for them: it never counts as that person.
 */

import type { DeclaredNames } from "./declared-names.ts";
import type { PolicyName, Rate } from "./limits/policies.ts";
import type { ProblemCode } from "./problems.ts";

/** Every OAuth scope that a domain declares. */
export type OauthScope = DeclaredNames["oauthScope"];

/** The roles of members. */
export type MemberRole = DeclaredNames["memberRole"];

/** One OAuth scope: what an access token may be allowed to do. */
export interface OauthScopeDefinition {
  /** Shown to the person who grants the scope. */
  readonly description: string;
  /** The roles that have it. An endpoint that needs the scope is open to them, unless it names fewer. */
  readonly roles: readonly MemberRole[];
  /** Its operations do not need a package that includes the API. */
  readonly anyPackage?: true;
}

/** All scopes: the one table that access checks, the OpenAPI document and `docs/ROLES.md` read. */
export type OauthScopes = Readonly<Record<OauthScope, OauthScopeDefinition>>;

/** The kind of a token: `api` needs a package that includes the API; the dashboard and the agent do not. */
export type TokenKind = "api" | "dashboard" | "agent";

export type Principal =
  | { readonly kind: "anonymous" }
  | (AccountPrincipal & PersonFacts & { readonly kind: "member"; readonly memberId: string; readonly role: MemberRole })
  | (AccountPrincipal & {
      readonly kind: "client";
      readonly clientId: string;
      /** The member who allowed it to act for them; null when it acts in its own name. */
      readonly memberId: string | null;
      /** An operation must be open to each of these: the client's own role, and that of the member it acts for. */
      readonly roles: readonly MemberRole[];
      /** The vaults that the client is held to; null: all. */
      readonly vaultIds: readonly string[] | null;
    })
  | (PersonFacts & { readonly kind: "staff"; readonly staffId: string });

interface AccountPrincipal {
  readonly accountId: string;
  readonly scopes: ReadonlySet<OauthScope>;
  readonly sessionId: string;
  readonly tokenKind: TokenKind;
  readonly account: AccountFacts;
}

/** About the account, read for every request. */
export interface AccountFacts {
  readonly state: "active" | "suspended" | "closed";
  readonly package: string;
  readonly entitlements: ReadonlySet<string>;
  /** The smallest package that includes the API, for the problem `package_required`. */
  readonly apiPackage: string;
  readonly earlyAccess: boolean;
  readonly limits: AccountLimits;
}

/** The rates of one account: its package's, and those that staff set for it. */
export interface AccountLimits {
  readonly package: Rate;
  readonly custom: Readonly<Partial<Record<PolicyName, Rate>>>;
}

/** About a person's sign-in. */
interface PersonFacts {
  readonly sessionId: string;
  /** When the second factor was last shown. */
  readonly authTime: Date;
  /** How (RFC 8176): `pwd`, `otp`, `sms`. */
  readonly amr: readonly string[];
}

/** What an access token says; the rest is read from the session it names. */
export interface AccessTokenContent {
  readonly subject: string;
  readonly sessionId: string;
  readonly clientId: string;
  readonly accountId: string | null;
  readonly scopes: readonly string[];
  readonly amr: readonly string[];
  readonly authTime: Date;
}

export interface IssuedToken {
  readonly token: string;
  readonly expiresInSeconds: number;
}

/** The claims of an access token whose signature, times and addressees were found right. */
export interface TokenClaims {
  readonly jti: string;
  readonly sub: string;
  readonly clientId: string;
  readonly accountId: string | null;
  readonly sessionId: string;
  readonly scopes: readonly string[];
  /** When the second factor had been shown as the token was issued. */
  readonly authTime: Date;
  readonly issuedAt: Date;
  readonly expiresAt: Date;
}

export type TokenCheck =
  | { readonly kind: "valid"; readonly claims: TokenClaims }
  | { readonly kind: "expired" }
  | { readonly kind: "invalid" };

/** A public key that verifies access tokens (RFC 7517). */
export interface PublicKey {
  readonly kty: "EC";
  readonly crv: "P-256";
  readonly x: string;
  readonly y: string;
  readonly kid: string;
  readonly alg: "ES256";
  readonly use: "sig";
}

/** Issues access tokens; the other side of {@link Authenticator}. */
export interface AccessTokens {
  issue(content: AccessTokenContent): Promise<IssuedToken>;
  /** Checks everything that the token itself can show; whether its session lives is not among it. */
  check(token: string): Promise<TokenCheck>;
  /** The keys that verify tokens now or soon. */
  publicKeys(): Promise<readonly PublicKey[]>;
}

/** Turns a bearer token into a principal, or says with which problem it is refused. */
export interface Authenticator {
  authenticate(token: string): Promise<Exclude<Principal, { kind: "anonymous" }> | AuthenticationFailure>;
  /**
   * What a principal of {@link authenticate} is now, for an answer that takes long. The end of the token does not matter, the end of its
   * session does.
   */
  again(
    principal: Exclude<Principal, { kind: "anonymous" }>,
  ): Promise<Exclude<Principal, { kind: "anonymous" }> | AuthenticationFailure>;
  /**
   * The principal of a session without a token, for a link that its holder made: as {@link again}, with these scopes at most. Its second
   * factor never counts as fresh.
   */
  ofSession(session: LinkedSession): Promise<Exclude<Principal, { kind: "anonymous" }> | AuthenticationFailure>;
}

/** The session whose rights a link has. */
export type LinkedSession = Pick<TokenClaims, "sessionId" | "accountId" | "scopes">;

export interface AuthenticationFailure {
  readonly kind: "refused";
  readonly code: Extract<ProblemCode, "invalid_token" | "token_expired" | "banned" | "unavailable">;
}

/** Whose rows a transaction sees. Row-level security enforces it. */
export type RowAccess =
  | { readonly kind: "account"; readonly accountId: string }
  /** Rows that belong to no account. */
  | { readonly kind: "platform" }
  /** Rows of every account, for staff; the transaction is read-only. */
  | { readonly kind: "staff" }
  /** All rows: for upkeep, and for sign-in before the account is known. */
  | { readonly kind: "system" };

/** Who acted, in an audit record: ids only, so that erasing a person does not break a chain. */
export type Actor =
  | { readonly kind: "anonymous" | "system" }
  | { readonly kind: "member" | "client" | "agent" | "staff" | "share"; readonly id: string };

export function actorOf(principal: Principal): Actor {
  switch (principal.kind) {
    case "anonymous":
      return { kind: "anonymous" };
    case "member":
      return { kind: "member", id: principal.memberId };
    case "client":
      return isAgent(principal)
        ? { kind: "agent", id: principal.sessionId }
        : { kind: "client", id: principal.clientId };
    case "staff":
      return { kind: "staff", id: principal.staffId };
  }
}

/** All agents share one OAuth client, so what tells one from another is the session that it was granted. */
export function isAgent(principal: Extract<Principal, { kind: "client" }>): boolean {
  return principal.tokenKind === "agent";
}

/** To whom idempotency keys belong: the same after a new sign-in, and different for every caller. */
export function callerOf(principal: Exclude<Principal, { kind: "anonymous" }>): readonly string[] {
  switch (principal.kind) {
    case "member":
      return ["member", principal.memberId];
    case "staff":
      return ["staff", principal.staffId];
    case "client":
      return isAgent(principal)
        ? ["agent", principal.sessionId]
        : ["client", principal.clientId, principal.memberId ?? ""];
  }
}

/** The rows that a principal's own transactions see. */
export function rowAccessOf(principal: Principal): RowAccess {
  return "accountId" in principal ? { kind: "account", accountId: principal.accountId } : { kind: "platform" };
}
