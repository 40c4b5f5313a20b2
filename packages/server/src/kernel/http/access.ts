/**
 * Who may call an endpoint: every check that its spec declares, in this order: token, kind of principal, scope, whether
 * programs may, role, package, state of the account, age of the second factor.
 */

import type { OauthScopes, Principal } from "../principal.ts";
import { Problem } from "../problems.ts";
import { type AccessSpec, needsApiPackage, refusedWhileSuspended } from "./endpoint.ts";

/** A second factor counts as fresh for this long: the contract's ten minutes. */
export const stepUpFreshMs = 10 * 60 * 1000;

/** Throws the first problem. */
export function checkAccess(
  spec: AccessSpec,
  scopes: OauthScopes,
  principal: Principal,
  now: Date,
  method: string | undefined = spec.method,
): void {
  const { access } = spec;
  // The token of a share is looked up by the operation.
  if (access.kind === "public" || access.kind === "share") return;
  if (principal.kind === "anonymous") throw new Problem("missing_token");
  if (access.kind === "staff" && principal.kind !== "staff") throw new Problem("admin_required");
  if (access.kind === "account") checkAccount(spec, scopes, accessBy(access, method, principal), principal);
  if (access.kind === "person" && principal.kind !== "staff") {
    // These operations are about the person who asks. A program is refused, also when it acts for a person.
    if (principal.kind === "client" || !principal.scopes.has(access.scope)) throw new Problem("insufficient_scope");
  }
  if (spec.stepUp === true) requireFreshPerson(principal, now);
}

type AccountAccess = Extract<AccessSpec["access"], { kind: "account" }>;

/** Where the principal lacks the scope, the other one counts; and for HEAD the one for HEAD. */
function accessBy(
  access: AccountAccess,
  method: string | undefined,
  principal: Exclude<Principal, { kind: "anonymous" }>,
): AccountAccess {
  const { headScope, orScope, scope } = access;
  if (principal.kind === "staff" || principal.scopes.has(scope)) return access;
  if (orScope !== undefined && principal.scopes.has(orScope)) return { ...access, scope: orScope };
  return method === "HEAD" && headScope !== undefined ? { kind: "account", scope: headScope } : access;
}

function checkAccount(
  spec: AccessSpec,
  scopes: OauthScopes,
  access: AccountAccess,
  principal: Exclude<Principal, { kind: "anonymous" }>,
): void {
  if (principal.kind === "staff") throw new Problem("member_required");
  if (!isOwnPage(access, principal)) checkScopeAndRole(spec, scopes, access, principal);
  const { account, tokenKind } = principal;
  if (needsApiPackage(spec, scopes) && tokenKind === "api" && !account.entitlements.has("api")) {
    throw new Problem("package_required", { members: { required: account.apiPackage, current: account.package } });
  }
  if (refusedWhileSuspended(spec) && account.state !== "active") throw new Problem("account_suspended");
}

/** A person who uses the service's own pages, where the operation is open to all of them. */
function isOwnPage({ dashboard }: AccountAccess, principal: Exclude<Principal, { kind: "anonymous" }>): boolean {
  return dashboard === "every_role" && principal.kind === "member" && principal.tokenKind === "dashboard";
}

function checkScopeAndRole(
  spec: AccessSpec,
  scopes: OauthScopes,
  access: AccountAccess,
  principal: Extract<Principal, { accountId: string }>,
): void {
  if (!principal.scopes.has(access.scope)) throw new Problem("insufficient_scope");
  if (principal.kind === "client" && !isOpenToClient(spec, principal)) throw new Problem("insufficient_scope");
  const allowed = access.roles ?? scopes[access.scope].roles;
  const roles = principal.kind === "client" ? principal.roles : [principal.role];
  if (!roles.every((role) => allowed.includes(role))) throw new Problem("insufficient_role");
}

/** A program cannot do what needs a person. A program with a list of vaults may use only operations that respect it. */
function isOpenToClient(spec: AccessSpec, { vaultIds }: Extract<Principal, { kind: "client" }>): boolean {
  return spec.stepUp !== true && (vaultIds === null || spec.withinVaults === true);
}

/** Refuses programs, and people whose last second factor is too old. */
export function requireFreshPerson(principal: Principal, now: Date): void {
  if (!("authTime" in principal)) throw new Problem("insufficient_scope");
  if (now.getTime() - principal.authTime.getTime() > stepUpFreshMs) throw new Problem("step_up_required");
}
