/**
 * The order in which a request is refused. A step is reached only when the steps before it let the request pass:
 *
 *   1. ban               banned
 *   2. limits            rate_limited, unavailable
 *   3. token             invalid_token, token_expired, unavailable
 *   4. staff-only path   missing_token, admin_required
 *   5. length of URL     uri_too_long
 *   6. router            not_found, unknown_version, method_not_allowed, malformed_request
 *   7. retired           endpoint_sunset
 *   8. access            the order of `access.ts`
 *   9. origin            origin_not_allowed
 *
 * After them the body is read and validated (`pipeline.ts`). Requests that are not HTTP are refused before all of them, by
 * the transport. `problem-answer.ts` writes the answer of every refusal.
 */

import type { IncomingMessage } from "node:http";
import type { Principal } from "../principal.ts";
import { Problem } from "../problems.ts";
import { checkAccess } from "./access.ts";
import type { Authentication } from "./authentication.ts";
import { requireOwnOrigin } from "./cookies.ts";
import type { Retirement } from "./deprecation.ts";
import { type Endpoint, type EndpointSpec, openWhileBanned } from "./endpoint.ts";
import type { HttpKernel } from "./kernel.ts";
import { isStaffOnlyPath, maxUrlLength, type PathRules } from "./path-rules.ts";
import type { RequestContext, RequestHead } from "./request-context.ts";

/** Step 1. It comes before the limits, because a banned request is not counted. */
export function banRefusal(
  kernel: HttpKernel,
  endpoint: Endpoint | null,
  { principal, refusal }: Authentication,
  address: string,
): Problem | null {
  if (refusal?.code === "banned") return refusal;
  // The ban of an address holds for requests without a credential. People behind it who signed in are not refused.
  if (principal.kind !== "anonymous" || (endpoint !== null && openWhileBanned(endpoint.spec))) return null;
  // The client has to learn that it must renew its token. The ban does not stop it from renewing.
  if (refusal?.code === "token_expired") return null;
  return kernel.bans.isBanned(address) ? new Problem("banned") : null;
}

/** Steps 1 to 5: the first refusal that does not depend on the endpoint. */
export function refusalBeforeRouting(
  refusals: { readonly ban: Problem | null; readonly limits: Problem | null; readonly token: Problem | null },
  paths: PathRules,
  head: RequestHead,
  principal: Principal,
): Problem | null {
  const { ban, limits, token } = refusals;
  return ban ?? limits ?? token ?? staffOnlyRefusal(paths, head, principal) ?? urlRefusal(head);
}

/** Comes before the router, so that only staff can find out which addresses exist. */
function staffOnlyRefusal(paths: PathRules, head: RequestHead, principal: Principal): Problem | null {
  if (principal.kind === "staff" || !isStaffOnlyPath(paths, head.url)) return null;
  return new Problem(principal.kind === "anonymous" ? "missing_token" : "admin_required");
}

function urlRefusal(head: RequestHead): Problem | null {
  return head.url.length > maxUrlLength ? new Problem("uri_too_long") : null;
}

/** Step 6: an earlier refusal hides what the router found. */
export function refusalAtRouter(context: RequestContext, found: unknown): unknown {
  return context.refusal ?? found;
}

/** Steps 1 to 9 for an endpoint; throws the first refusal. */
export function checkRefusals(
  kernel: HttpKernel,
  { spec, retirement }: { readonly spec: EndpointSpec; readonly retirement: Retirement },
  context: RequestContext,
  { headers, method }: Pick<IncomingMessage, "headers" | "method">,
): void {
  if (context.refusal !== null) throw context.refusal;
  const now = kernel.clock.now();
  retirement.check(now);
  checkAccess(spec, kernel.declared.oauthScopes, context.principal, now, method);
  if (spec.cookies !== undefined && spec.anyOrigin !== true) requireOwnOrigin(headers, kernel.publicUrl());
}
