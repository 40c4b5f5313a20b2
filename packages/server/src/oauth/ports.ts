/**
 * What OAuth needs of the domains below it, in one place: clients and their secrets, sign-in, sessions, tokens, keys.
 * `wiring.ts` fulfils it with their faces, inside the open transaction of a visit.
 *
 * A *grant* is what a person allowed a client; it is a session of that person, with the same id, so that ending the
 * session (by its owner, by staff, by a password reset) ends the grant on every node, and the other way round.
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
  /** What its tokens count as: `api` is gated by the package, `agent` is the service's own. */
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
  /** Compares with every secret that is valid now; takes the same time when there is none. Marks the client as used. */
  verifySecret(clientId: string, secret: string): Promise<boolean>;
}

export interface Credentials {
  readonly email: string;
  readonly password: string;
  /** Six digits of the app or of an SMS, or a recovery code. */
  readonly code: string;
  /** With an SMS code: the challenge that it answers. */
  readonly challengeId: string | undefined;
}

export interface SignedIn {
  readonly memberId: string;
  readonly accountId: string;
  readonly amr: readonly string[];
  readonly authTime: Date;
  /** When the password or factor that were shown had last been replaced. */
  readonly credentialsAt: Date;
}

export interface People {
  /** What to show of an account. */
  describe(accountId: string): Promise<{ readonly accountName: string } | undefined>;
  /** The role that a member has now; undefined when they were removed. */
  roleOf(member: Pick<SignedIn, "memberId" | "accountId" | "credentialsAt">): Promise<MemberRole | undefined>;
}

export interface NewGrant extends Omit<SignedIn, "credentialsAt"> {
  readonly id: string;
  readonly kind: OauthClient["kind"];
  readonly clientId: string;
  readonly scopes: readonly OauthScope[];
}

export interface GrantSessions {
  /** Opens the session of a grant, with the id that the grant will have. */
  open(grant: NewGrant): Promise<void>;
  /** The grant, while its session, its member and its client live. */
  find(id: string): Promise<NewGrant | undefined>;
  /** Ends a session, of a grant or of client credentials, on every node within a second; nothing when it has ended. */
  end(id: string, reason: "revoked" | "reused"): Promise<void>;
}

/** What an access token that was presented stands for now. */
export interface LiveToken {
  readonly claims: TokenClaims;
  readonly accountId: string;
  /** Whether it stands for the client itself and no person. */
  readonly isMachine: boolean;
  /** What it may do now: never more than it says. */
  readonly scopes: readonly OauthScope[];
}

/** Signing is not among it: it may have to read keys, and a transaction must not wait for another. */
export interface AccessTokens {
  /** What the next token of a grant says; notes its use. */
  forGrant(grant: NewGrant, scopes: readonly OauthScope[]): Promise<AccessTokenContent>;
  /** What a token of a client itself says; opens the session that it answers to. */
  forClient(client: OauthClient, scopes: readonly OauthScope[]): Promise<AccessTokenContent>;
  /** What a token whose claims were found right is worth now (session, member, client, account); else undefined. */
  find(claims: TokenClaims): Promise<LiveToken | undefined>;
}
