/**
 * What OAuth needs from other domains, in one place: clients and their secrets, sign-in, sessions, tokens, keys.
 * `ports-implementation.ts` implements it with their public APIs, inside the open transaction of a library context.
 *
 * A *grant* is the access that a person gave to a client. It is a session of that person, with the same id. So ending the
 * session (by its owner, by staff, by a password reset) ends the grant on every process, and the other way round.
 */

import type { AccessTokenContent, MemberRole, OauthScope, TokenClaims } from "../kernel/principal.ts";

export interface OauthPorts {
  readonly clients: ClientDirectory;
  readonly people: People;
  readonly grants: GrantSessions;
  readonly tokens: AccessTokens;
}

export type ClientGrant = "client_credentials" | "device_code" | "authorization_code";

/** A client that may use OAuth now: not deleted, its account open. */
export interface OauthClient {
  readonly id: string;
  /** The account that registered it; null for the service's own. */
  readonly accountId: string | null;
  /** The kind of its tokens: `api` needs a package with the API, `agent` is the service's own client. */
  readonly kind: "api" | "agent";
  readonly name: string;
  readonly grants: readonly ClientGrant[];
  readonly authentication: "secret" | "key" | "none";
  /** Public keys of `private_key_jwt`, as JWKs. */
  readonly keys: readonly Readonly<Record<string, unknown>>[];
  readonly redirectUris: readonly string[];
  readonly scopes: readonly OauthScope[];
}

export interface ClientDirectory {
  find(clientId: string): Promise<OauthClient | undefined>;
  /** Compares with every valid secret, in the same time when there is none. Marks the client as used. */
  verifySecret(clientId: string, secret: string): Promise<boolean>;
}

export interface Credentials {
  readonly email: string;
  readonly password: string;
  /** Six digits of the app or of an SMS, or a recovery code. */
  readonly code: string;
  /** For an SMS code: its challenge. */
  readonly challengeId: string | undefined;
}

export interface SignedIn {
  readonly memberId: string;
  readonly accountId: string;
  readonly amr: readonly string[];
  readonly authTime: Date;
  /** When the password or factor of this sign-in was last replaced. */
  readonly credentialsAt: Date;
}

export interface People {
  /** The account data for the pages. */
  describe(accountId: string): Promise<{ readonly accountName: string } | undefined>;
  /** The current role of a member; undefined when they were removed. */
  roleOf(member: Pick<SignedIn, "memberId" | "accountId" | "credentialsAt">): Promise<MemberRole | undefined>;
}

export interface NewGrant extends Omit<SignedIn, "credentialsAt"> {
  readonly id: string;
  readonly kind: OauthClient["kind"];
  readonly clientId: string;
  readonly scopes: readonly OauthScope[];
}

/** What shows what files contain. */
const readingScopes: readonly OauthScope[] = ["snapshots:read", "restores:read"];

/** Whether a machine could read backups with the grant: that is approved for an hour at a time. */
export function isReading({ kind, scopes }: Pick<NewGrant, "kind" | "scopes">): boolean {
  return kind === "agent" && scopes.some((scope) => readingScopes.includes(scope));
}

export interface GrantSessions {
  /** Opens the session of a grant, with the id of the grant. */
  open(grant: NewGrant): Promise<void>;
  /** The grant, while its session, member and client exist. */
  find(id: string): Promise<NewGrant | undefined>;
  /** Ends a session of a grant or of client credentials, on every process within a second. Does nothing if it has ended. */
  end(id: string, reason: "revoked" | "reused"): Promise<void>;
}

/** The current meaning of a presented access token. */
export interface LiveToken {
  readonly claims: TokenClaims;
  readonly accountId: string;
  /** Whether it belongs to the client itself and not to a person. */
  readonly isMachine: boolean;
  /** Its current scopes: never more than the token says. */
  readonly scopes: readonly OauthScope[];
}

/** Signing is not included: it may have to read keys, and a transaction must not wait for another. */
export interface AccessTokens {
  /** The claims of the next token of a grant. Records the use. */
  forGrant(grant: NewGrant, scopes: readonly OauthScope[]): Promise<AccessTokenContent>;
  /** The claims of a token of the client itself. Opens its session. */
  forClient(client: OauthClient, scopes: readonly OauthScope[]): Promise<AccessTokenContent>;
  /** The current state of a token with verified claims (session, member, client, account); else undefined. */
  find(claims: TokenClaims): Promise<LiveToken | undefined>;
}
