/**
 * Who may call an endpoint: every check that its spec declares, in one order. Token first, then whose token it is, its
 * scope, whether a program may, the role, the package, the account's state, and last how fresh the second factor is.
 */

import type { OauthScopes, Principal } from "../principal.ts";
import { Problem } from "../problems.ts";
import { type EndpointSpec, needsApiPackage, refusedWhileSuspended } from "./endpoint.ts";

/** A second factor counts as fresh for this long: the contract's ten minutes. */
export const stepUpFreshMs = 10 * 60 * 1000;

/** Throws the problem that the principal meets first, if any. */
export function checkAccess(spec: EndpointSpec, scopes: OauthScopes, principal: Principal, now: Date): void {
  const { access } = spec;
  if (access.kind === "public") return;
  if (principal.kind === "anonymous") throw new Problem("missing_token");
  if (access.kind === "staff" && principal.kind !== "staff") throw new Problem("admin_required");
  if (access.kind === "account") checkAccount(spec, scopes, access, principal);
  if (access.kind === "person" && principal.kind !== "staff") {
    // Programs have nothing of their own here, whatever their scopes are and whoever they act for.
    if (principal.kind === "client" || !principal.scopes.has(access.scope)) throw new Problem("insufficient_scope");
  }
  if (spec.stepUp === true) requireFreshPerson(principal, now);
}

function checkAccount(
  spec: EndpointSpec,
  scopes: OauthScopes,
  access: Extract<EndpointSpec["access"], { kind: "account" }>,
  principal: Exclude<Principal, { kind: "anonymous" }>,
): void {
  if (principal.kind === "staff") throw new Problem("member_required");
  if (!principal.scopes.has(access.scope)) throw new Problem("insufficient_scope");
  if (principal.kind === "client" && !isOpenToClient(spec, principal)) throw new Problem("insufficient_scope");
  const allowed = access.roles ?? scopes[access.scope].roles;
  const roles = principal.kind === "client" ? principal.roles : [principal.role];
  if (!roles.every((role) => allowed.includes(role))) throw new Problem("insufficient_role");
  const { account, tokenKind } = principal;
  if (needsApiPackage(spec, scopes) && tokenKind === "api" && !account.entitlements.has("api")) {
    throw new Problem("package_required", { members: { required: account.apiPackage, current: account.package } });
  }
  if (refusedWhileSuspended(spec) && account.state !== "active") throw new Problem("account_suspended");
}

/** A program never takes the place of a person, and one that is held to vaults uses only what keeps to them. */
function isOpenToClient(spec: EndpointSpec, { vaultIds }: Extract<Principal, { kind: "client" }>): boolean {
  return spec.stepUp !== true && (vaultIds === null || spec.withinVaults === true);
}

/** Refuses programs, and people whose second factor is not fresh. */
export function requireFreshPerson(principal: Principal, now: Date): void {
  if (!("authTime" in principal)) throw new Problem("insufficient_scope");
  if (now.getTime() - principal.authTime.getTime() > stepUpFreshMs) throw new Problem("step_up_required");
}
