/** Who sends a request: the bearer token of its `Authorization` header (RFC 6750), turned into a principal. */

import type { IncomingHttpHeaders } from "node:http";
import type { Principal } from "../principal.ts";
import { Problem } from "../problems.ts";
import type { HttpKernel } from "./kernel.ts";
import type { RequestContext } from "./request-context.ts";

export interface Authentication {
  readonly principal: Principal;
  readonly refusal: Problem | null;
}

/** RFC 6750 tokens; ours are below 2 KiB. */
const bearerPattern = /^Bearer ([A-Za-z0-9\-._~+/]{1,8192}=*)$/i;

/** Tokens are looked up in the database; seconds after which it is likely to answer again. */
const retrySoon = { headers: { "Retry-After": "5" } };

const anonymous: Principal = { kind: "anonymous" };

/** Of a request without the header. */
export const withoutCredential: Authentication = { principal: anonymous, refusal: null };

/** The token of an `Authorization` header; undefined when it has none. */
export function bearerOf(header: string): string | undefined {
  return bearerPattern.exec(header)?.[1];
}

export async function authenticate(kernel: HttpKernel, header: string): Promise<Authentication> {
  const token = bearerOf(header);
  if (token === undefined) return { principal: anonymous, refusal: new Problem("invalid_token") };
  try {
    const result = await kernel.authenticator.authenticate(token);
    if (result.kind !== "refused") return { principal: result, refusal: null };
    const extras = result.code === "unavailable" ? retrySoon : {};
    return { principal: anonymous, refusal: new Problem(result.code, extras) };
  } catch (error) {
    // The token could not be checked. That says nothing about the token.
    const problem = error instanceof Problem ? error : new Problem("internal_error", { cause: error });
    return { principal: anonymous, refusal: problem };
  }
}

/** The contract's time after which a revocation holds on every process. A body may take longer to arrive. */
const principalValidMs = 1_000;

/** Whether the body took so long that a right may have been revoked meanwhile. */
export function isPrincipalOld({ clock }: HttpKernel, { principal, startedAtMs }: RequestContext): boolean {
  return principal.kind !== "anonymous" && clock.now().getTime() - startedAtMs >= principalValidMs;
}

/**
 * The principal, looked up again: a request that began before a revocation must not finish after it. Throws what a new
 * request would be refused with.
 */
export async function currentPrincipal(kernel: HttpKernel, { authorization }: IncomingHttpHeaders): Promise<Principal> {
  const again = authorization === undefined ? withoutCredential : await authenticate(kernel, authorization);
  if (again.refusal !== null) throw again.refusal;
  return again.principal;
}

/**
 * What the principal of an answer that is still being sent is now, also after the end of its token. Null when the database does not
 * answer: the answer goes on, because rights are changed only in the database, and the next check looks again. Throws when its session is gone.
 */
export async function principalOfLongAnswer(
  { authenticator }: HttpKernel,
  { principal }: RequestContext,
): Promise<Principal | null> {
  if (principal.kind === "anonymous") return principal;
  const again = await authenticator.again(principal);
  if (again.kind !== "refused") return again;
  if (again.code === "unavailable") return null;
  throw new Problem(again.code);
}
