/** Implements `ports.ts` with the other domains. */

import {
  type ClientRow,
  findAccount,
  findClientById,
  findPerson,
  touchClient,
  verifyClientSecret,
} from "../accounts/index.ts";
import { memberRoles, oauthScopes } from "../declarations.ts";
import {
  areCredentialsCurrent,
  findTokenSubject,
  insertSession,
  principalOf,
  prolongSession,
  recordClientFailure,
  requestSignInCode,
  revokeSession,
  type SubjectRow,
  signIn,
} from "../identity/index.ts";
import type { NewCookie } from "../kernel/http/cookies.ts";
import type { Call, Ctx } from "../kernel/http/endpoint.ts";
import type { OauthScope, PublicKey, TokenClaims } from "../kernel/principal.ts";
import type { RunTx, Tx } from "../kernel/tx.ts";
import type {
  AccessTokens,
  ClientGrant,
  Credentials,
  GrantSessions,
  NewGrant,
  OauthClient,
  OauthPorts,
  SignedIn,
} from "./ports.ts";
import { isReading } from "./ports.ts";

/** The ports inside an open transaction with row access `system`. */
export function oauthPorts(ctx: Ctx, tx: Tx): OauthPorts {
  // The other domains use the open transaction.
  const inside: RunTx = (_scope, work) => work(tx);
  const joined = { secrets: ctx.secrets, tx: inside };
  return {
    clients: {
      find: async (id) => {
        const row = await findClientById(joined, id);
        return row && clientOf(row);
      },
      verifySecret: (id, secret) => verifyClientSecret(joined, id, secret),
    },
    people: {
      describe: async (accountId) => {
        const account = await findAccount(tx, accountId);
        return account && { accountName: account.name };
      },
      roleOf: async ({ memberId, accountId, credentialsAt }) => {
        const person = await findPerson(tx, accountId, memberId);
        const isCurrent = await areCredentialsCurrent(tx, memberId, credentialsAt);
        return isCurrent && person?.state === "active" ? memberRoles.find((role) => role === person.role) : undefined;
      },
    },
    grants: grantSessions(ctx, tx),
    tokens: accessTokens(ctx, tx),
  };
}

/** Signs a person in by the rules of every sign-in. The cookie identifies the device. */
export async function signInPerson(
  ctx: Ctx,
  call: Call,
  credentials: Credentials,
): Promise<SignedIn & { readonly deviceCookie: NewCookie }> {
  const claim = { ...credentials, deviceToken: call.cookies["__Host-device"], allowStaff: false };
  const { personId, accountId, amr, authTime, credentialsAt, deviceCookie } = await signIn(ctx, claim);
  if (accountId === null) throw new Error("a member without an account signed in");
  return { memberId: personId, accountId, amr, authTime, credentialsAt, deviceCookie };
}

/** Sends an SMS code by the rules of the API and returns its challenge. */
export function sendSignInCode(ctx: Ctx, call: Call, claim: Pick<Credentials, "email" | "password">): Promise<string> {
  return requestSignInCode(ctx, { ...claim, deviceToken: call.cookies["__Host-device"] });
}

/** Records a failed authentication of this client. */
export async function noteFailure(ctx: Ctx, tx: Tx, { id, accountId }: OauthClient): Promise<void> {
  if (accountId === null) return;
  await tx.within({ kind: "account", accountId }, (inner) => recordClientFailure(inner, ctx.secrets, id));
}

export async function publicKeys(ctx: Ctx): Promise<{ keys: PublicKey[] }> {
  return { keys: [...(await ctx.tokens.publicKeys())] };
}

function clientOf(row: ClientRow): OauthClient {
  const authentication = { client_secret: "secret", private_key_jwt: "key", none: "none" } as const;
  const method = row.auth_method as keyof typeof authentication;
  const { keys = [] } = (row.jwks ?? {}) as { keys?: Readonly<Record<string, unknown>>[] };
  return {
    id: row.id,
    accountId: row.account_id,
    kind: row.kind === "agent" ? "agent" : "api",
    name: row.name,
    grants: row.grant_types.map(grantOf).filter((grant) => grant !== undefined),
    authentication: authentication[method],
    keys,
    redirectUris: row.redirect_uris,
    scopes: scopesIn(row.scopes),
  };
}

function grantOf(name: string): ClientGrant | undefined {
  const known: Readonly<Record<string, ClientGrant>> = {
    client_credentials: "client_credentials",
    authorization_code: "authorization_code",
    device_code: "device_code",
    "urn:ietf:params:oauth:grant-type:device_code": "device_code",
  };
  return known[name];
}

function scopesIn(names: readonly string[]): OauthScope[] {
  return names.filter((name): name is OauthScope => Object.hasOwn(oauthScopes, name));
}

/** Events of a grant are in the audit chain of its account. */
function grantSessions(ctx: Ctx, tx: Tx): GrantSessions {
  return {
    open: (grant) =>
      tx.within({ kind: "account", accountId: grant.accountId }, async (inner) => {
        const { id, accountId, memberId: personId, clientId, kind, scopes, amr, authTime } = grant;
        const life = isReading(grant) ? "reading" : "agent";
        const session = { id, accountId, personId, clientId, kind, scopes, amr, authTime, life } as const;
        await insertSession(inner, ctx.secrets, session);
        inner.audit({ action: "oauth.grant_opened", targets: targetsOf(id, personId, clientId) });
      }),
    find: async (id) => {
      const row = await findTokenSubject(tx, id);
      return row && grantFrom(id, row, tx.now);
    },
    end: async (id, reason) => {
      const row = await findTokenSubject(tx, id);
      const accountId = row?.account_id ?? null;
      if (row === undefined || accountId === null) return;
      await tx.within({ kind: "account", accountId }, async (inner) => {
        if (!(await revokeSession(inner, id, reason))) return;
        const outcome = reason === "reused" ? "failure" : "success";
        inner.audit({ action: `oauth.grant_${reason}`, targets: targetsOf(id, row.person_id, row.client_id), outcome });
      });
    },
  };
}

function targetsOf(sessionId: string, personId: string | null, clientId: string | null) {
  const all = [
    { type: "session", id: sessionId },
    { type: "person", id: personId },
    { type: "client", id: clientId },
  ];
  return all.flatMap(({ type, id }) => (id === null ? [] : [{ type, id }]));
}

function grantFrom(id: string, row: SubjectRow, now: Date): NewGrant | undefined {
  const { account_id: accountId, person_id: memberId, client_id: clientId } = row;
  if (accountId === null || memberId === null || clientId === null) return undefined;
  const scopes = scopesIn(row.scopes ?? []);
  // Checked with the claims that the session would have now.
  const claims: TokenClaims = {
    jti: id,
    sub: memberId,
    clientId,
    accountId,
    sessionId: id,
    scopes,
    authTime: row.auth_time,
    issuedAt: now,
    expiresAt: now,
  };
  const principal = principalOf(claims, row, now);
  if (principal?.kind !== "client") return undefined;
  const kind = row.kind === "agent" ? "agent" : "api";
  return {
    id,
    kind,
    memberId,
    accountId,
    clientId,
    scopes: [...principal.scopes],
    amr: row.amr,
    authTime: row.auth_time,
  };
}

function accessTokens(ctx: Ctx, tx: Tx): AccessTokens {
  return {
    forGrant: async (grant, scopes) => {
      await prolongSession(tx, grant.id, "agent");
      await touchClient(tx, grant.clientId);
      const { id: sessionId, clientId, accountId, amr, authTime } = grant;
      // Never more than the current scopes of the grant, whatever the refresh token was issued for.
      const left = scopes.filter((scope) => grant.scopes.includes(scope));
      return { subject: grant.memberId, sessionId, clientId, accountId, scopes: left, amr, authTime };
    },
    forClient: async (client, scopes) => {
      if (client.accountId === null) throw new Error("a client without an account has nothing to be credited with");
      const sessionId = ctx.random.uuid();
      const shared = { accountId: client.accountId, clientId: client.id, scopes, amr: [], authTime: tx.now };
      const machine = { ...shared, id: sessionId, personId: null, kind: client.kind, life: "machine" } as const;
      await insertSession(tx, ctx.secrets, machine);
      await touchClient(tx, client.id);
      return { ...shared, subject: client.id, sessionId };
    },
    find: async (claims) => {
      const row = await findTokenSubject(tx, claims.sessionId);
      const principal = row && principalOf(claims, row, tx.now);
      if (principal === undefined || principal.kind === "staff") return undefined;
      const { accountId, scopes } = principal;
      const isMachine = principal.kind === "client" && principal.memberId === null;
      return { claims, accountId, isMachine, scopes: [...scopes] };
    },
  };
}
