/**
 * Finds the principal of a bearer token. First the token is verified (`tokens.ts`), then everything that it depends on is
 * read in one statement: session, person, client, account, package, ban. The row is kept for less than a second
 * (`subject-cache.ts`). So the end of a session, the removal of a member, a new role, a suspension or a ban counts from
 * the next request on in the process that makes the change, and within a second on every other one.
 */

import { memberRoles, oauthScopes, policies } from "../../declarations.ts";
import type { Clock } from "../../kernel/clock.ts";
import { errorFields, type Log } from "../../kernel/log.ts";
import type {
  AccessTokens,
  AccountFacts,
  AccountLimits,
  AuthenticationFailure,
  Authenticator,
  LinkedSession,
  MemberRole,
  OauthScope,
  Principal,
  TokenClaims,
} from "../../kernel/principal.ts";
import { packageRate, ratesOf } from "../../limits/index.ts";
import type { SubjectCache } from "./subject-cache.ts";
import type { SubjectRow } from "./subject-store.ts";

/** The contract's time in which a closed account can still be read and restored. */
const closedReadableMs = 90 * 24 * 60 * 60 * 1000;

export interface AuthenticatorSources {
  readonly tokens: AccessTokens;
  readonly subjects: Pick<SubjectCache, "find">;
  readonly clock: Clock;
  readonly log: Log;
}

export function createAuthenticator({ tokens, subjects, clock, log }: AuthenticatorSources): Authenticator {
  const principals = new Principals();
  const claimsOf = new WeakMap<Signed, SessionClaims>();
  const bySession = async (claims: SessionClaims): Promise<Signed | AuthenticationFailure> => {
    const row = await subjects.find(claims.sessionId);
    const now = clock.now();
    const principal = row && principals.of(claims, row, now);
    if (row === undefined || principal === undefined) return { kind: "refused", code: "invalid_token" };
    claimsOf.set(principal, claims);
    return isBanned(row, now) ? { kind: "refused", code: "banned" } : principal;
  };
  const orUnavailable = async (look: () => Promise<Signed | AuthenticationFailure>) => {
    try {
      return await look();
    } catch (error) {
      log.error("authentication_failed", errorFields(error));
      return { kind: "refused", code: "unavailable" } as const;
    }
  };
  return {
    authenticate: (token) =>
      orUnavailable(async () => {
        const checked = await tokens.check(token);
        if (checked.kind === "valid") return bySession(checked.claims);
        return { kind: "refused", code: checked.kind === "expired" ? "token_expired" : "invalid_token" };
      }),
    again(principal) {
      const claims = claimsOf.get(principal);
      if (claims === undefined) throw new Error("a principal of another authenticator");
      return orUnavailable(() => bySession(claims));
    },
    ofSession: (session) => orUnavailable(() => bySession({ ...session, authTime: longAgo })),
  };
}

type Signed = Exclude<Principal, { kind: "anonymous" }>;

/** What a principal is made of beside the row of its session. */
type SessionClaims = LinkedSession & Pick<TokenClaims, "authTime">;

const longAgo = new Date(0);

/** The principal that was last made of each token. It depends on the row and, for its end, on the time. */
class Principals {
  readonly #made = new WeakMap<SessionClaims, { readonly row: SubjectRow; readonly principal: Signed }>();

  of(claims: SessionClaims, row: SubjectRow, now: Date): Signed | undefined {
    const made = this.#made.get(claims);
    if (made?.row === row) return isAlive(row, now) ? made.principal : undefined;
    const principal = principalOf(claims, row, now);
    if (principal !== undefined) this.#made.set(claims, { row, principal });
    return principal;
  }
}

/** The principal of a token now; undefined when the token is no longer valid. */
export function principalOf(claims: SessionClaims, row: SubjectRow, now: Date): Signed | undefined {
  if (!isAlive(row, now)) return undefined;
  // A step-up issues a new token. Tokens from before keep their older authentication time.
  const authTime = claims.authTime < row.auth_time ? claims.authTime : row.auth_time;
  const person = { sessionId: claims.sessionId, authTime, amr: row.amr };
  if (row.person_role === "staff") {
    // Staff cannot have programs, so a session of staff with a client is refused.
    const isPerson = row.person_id !== null && row.client_id === null;
    return isPerson ? { kind: "staff", staffId: row.person_id, ...person } : undefined;
  }
  if (row.account_id === null || row.account_id !== claims.accountId) return undefined;
  const account = accountOf(row);
  if (account === undefined) return undefined;
  const shared = {
    accountId: row.account_id,
    scopes: scopesOf(claims, row),
    sessionId: claims.sessionId,
    tokenKind: row.kind,
    account,
  };
  const { person_id: memberId, client_id: clientId, client_vaults: vaultIds } = row;
  if (clientId !== null) return { kind: "client", clientId, memberId, roles: rolesOf(row), vaultIds, ...shared };
  const role = asRole(row.person_role);
  return memberId === null || role === undefined ? undefined : { kind: "member", memberId, role, ...shared, ...person };
}

/** The roles that a program is held to. While it waits for a review it only backs up, and its member does not count. */
function rolesOf(row: SubjectRow): MemberRole[] {
  const words = [row.client_role, row.in_review ? roleInReview : row.person_role];
  return words.map(asRole).filter((role) => role !== undefined);
}

const roleInReview: MemberRole = "operator";

function asRole(word: string | null): MemberRole | undefined {
  return memberRoles.find((known) => known === word);
}

function isAlive(row: SubjectRow, now: Date): boolean {
  if (row.session_ended || row.idle_expires_at <= now) return false;
  if (row.expires_at !== null && row.expires_at <= now) return false;
  if (row.client_revoked === true) return false;
  const answeredFor = row.person_id === null || row.person_state === "active";
  // A program that waits for a review goes on without its person: it belongs to the account.
  if (!answeredFor && !(row.client_id !== null && row.in_review)) return false;
  if (row.account_closed_at === null) return true;
  // Later only owners: they read what a lock has kept, and the proofs of erasure.
  const isOwner = row.person_role === "owner" && row.client_id === null;
  return isOwner || now.getTime() - row.account_closed_at.getTime() < closedReadableMs;
}

function isBanned(row: SubjectRow, now: Date): boolean {
  return row.is_banned && (row.ban_expires_at === null || row.ban_expires_at > now);
}

function accountOf(row: SubjectRow): AccountFacts | undefined {
  if (row.account_state === null || row.package === null) return undefined;
  return {
    state: row.account_state,
    package: row.package,
    entitlements: new Set(row.entitlements),
    apiPackage: row.api_package ?? row.package,
    earlyAccess: row.early_access === true,
    limits: limitsOf(row),
  };
}

function limitsOf(row: SubjectRow): AccountLimits {
  const { requests_per_minute: limit, burst, custom_limits: custom } = row;
  return {
    package: limit === null || burst === null ? policies.package.rate : packageRate(limit, burst),
    custom: ratesOf(custom),
  };
}

/** The only scopes of a program in review: the nightly backup continues. */
export const scopesInReview: readonly OauthScope[] = ["snapshots:write"];

/** The scopes of the token that its session and its client still have. */
function scopesOf(claims: SessionClaims, row: SubjectRow): ReadonlySet<OauthScope> {
  const reviewed: readonly string[] | null = row.in_review ? scopesInReview : null;
  const limits = [row.scopes, row.client_scopes, reviewed].filter((limit) => limit !== null);
  const allowed = claims.scopes.filter((scope) => limits.every((limit) => limit.includes(scope)));
  return new Set(allowed.filter((scope): scope is OauthScope => Object.hasOwn(oauthScopes, scope)));
}
