/**
 * Access tokens: JWTs of RFC 9068, signed with ES256. Issuing and checking are in one file, because the check requires
 * everything that issuing writes: type, algorithm, issuer, audience, one of our keys, and every claim.
 *
 * A token names the session and the person. Their rights (role, package, suspension, revocation) are read from the
 * database (`authenticator.ts`). The signature of a token is checked once, its times and its key with every request.
 */

import { errors, jwtVerify, SignJWT } from "jose";
import type { Clock, Random } from "../../kernel/clock.ts";
import type { AccessTokenContent, AccessTokens, TokenCheck } from "../../kernel/principal.ts";
import type { SigningKeys } from "../../keys/index.ts";
import { type CheckedToken, CheckedTokens } from "./checked-tokens.ts";

/** The contract's 900 seconds. */
export const accessTokenSeconds = 900;

/** What a token's clock may be ahead of ours, between processes on different machines. */
const clockSkewSeconds = 5;

/** Ours are about 700 characters. */
const maxTokenLength = 4096;

export interface TokenSources {
  readonly keys: SigningKeys;
  readonly clock: Clock;
  readonly random: Random;
  readonly publicUrl: () => string;
}

/** The issuer of every token, and of the OAuth metadata. */
export function issuerOf(publicUrl: string): string {
  return `${publicUrl}/oauth2`;
}

export function createTokens(sources: TokenSources): AccessTokens {
  const { keys, clock, random, publicUrl } = sources;
  const checkedTokens = new CheckedTokens();
  return {
    async issue(content) {
      const { kid, privateKey } = await keys.signer();
      const issuedAt = Math.floor(clock.now().getTime() / 1000);
      const token = await new SignJWT(claimsOf(content))
        .setProtectedHeader({ alg: "ES256", typ: "at+jwt", kid })
        .setIssuer(issuerOf(publicUrl()))
        .setAudience(publicUrl())
        .setSubject(content.subject)
        .setJti(random.uuid())
        .setIssuedAt(issuedAt)
        .setExpirationTime(issuedAt + accessTokenSeconds)
        .sign(privateKey);
      return { token, expiresInSeconds: accessTokenSeconds };
    },
    async check(token) {
      const known = checkedTokens.find(token);
      if (known !== undefined) {
        const again = await checkAgain(sources, known);
        if (again.kind !== "valid") checkedTokens.delete(token);
        return again;
      }
      const result = await checkToken(sources, token);
      if (result.kind !== "valid") return result;
      checkedTokens.add(token, result);
      return { kind: "valid", claims: result.claims };
    },
    publicKeys: async () => (await keys.jwks()).keys,
  };
}

function claimsOf(content: AccessTokenContent): Record<string, unknown> {
  return {
    client_id: content.clientId,
    ...(content.accountId !== null && { acct: content.accountId }),
    sid: content.sessionId,
    scope: content.scopes.join(" "),
    amr: content.amr,
    auth_time: Math.floor(content.authTime.getTime() / 1000),
  };
}

/** What can change after the signature was found right: the time, and whether its key is still ours. */
async function checkAgain({ keys, clock }: TokenSources, { claims, kid }: CheckedToken): Promise<TokenCheck> {
  const nowSeconds = clock.now().getTime() / 1000;
  if (claims.expiresAt.getTime() / 1000 <= Math.floor(nowSeconds)) return { kind: "expired" };
  if (claims.issuedAt.getTime() / 1000 > nowSeconds + clockSkewSeconds) return { kind: "invalid" };
  return (await keys.verifier(kid)) === undefined ? { kind: "invalid" } : { kind: "valid", claims };
}

type FirstCheck = Exclude<TokenCheck, { kind: "valid" }> | ({ readonly kind: "valid" } & CheckedToken);

async function checkToken({ keys, clock, publicUrl }: TokenSources, token: string): Promise<FirstCheck> {
  if (token.length > maxTokenLength) return { kind: "invalid" };
  try {
    const now = clock.now();
    const { payload, protectedHeader } = await jwtVerify(
      token,
      async ({ kid }) => {
        // Only the name is taken from the token. A key, or an address of one, that a token brings along is never used.
        const key = typeof kid === "string" ? await keys.verifier(kid) : undefined;
        if (key === undefined) throw new errors.JWKSNoMatchingKey();
        return key;
      },
      {
        algorithms: ["ES256"],
        typ: "at+jwt",
        issuer: issuerOf(publicUrl()),
        audience: publicUrl(),
        currentDate: now,
        requiredClaims: ["sub", "sid", "client_id", "iat", "exp", "jti", "scope"],
      },
    );
    const { sub, jti, iat = 0, exp = 0, sid, client_id: clientId, acct = null, scope, auth_time: shownAt } = payload;
    if (iat > now.getTime() / 1000 + clockSkewSeconds) return { kind: "invalid" };
    if (!isText(sub) || !isText(jti) || !isText(clientId) || !isUuid(sid) || !isText(scope, 0))
      return { kind: "invalid" };
    if (acct !== null && !isUuid(acct)) return { kind: "invalid" };
    const scopes = scope === "" ? [] : scope.split(" ");
    // A token without the time of its second factor counts as one with an old factor.
    const authTime = new Date(typeof shownAt === "number" ? shownAt * 1000 : 0);
    const times = { authTime, issuedAt: new Date(iat * 1000), expiresAt: new Date(exp * 1000) };
    const claims = { sub, jti, clientId, accountId: acct, sessionId: sid, scopes, ...times };
    return { kind: "valid", claims, kid: protectedHeader.kid ?? "" };
  } catch (error) {
    if (error instanceof errors.JWTExpired) return { kind: "expired" };
    if (error instanceof errors.JOSEError || error instanceof TypeError) return { kind: "invalid" };
    throw error;
  }
}

function isText(value: unknown, least = 1): value is string {
  return typeof value === "string" && value.length >= least;
}

function isUuid(value: unknown): value is string {
  return typeof value === "string" && /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value);
}
