/** `docs/ROLES.md`: what each role may do, made from the table and the endpoints that the service itself reads. */

import { memberRoles, oauthScopes } from "../packages/server/src/declarations.ts";
import {
  type EndpointSpec,
  needsApiPackage,
  refusedWhileSuspended,
} from "../packages/server/src/kernel/http/endpoint.ts";
import type { MemberRole, OauthScope } from "../packages/server/src/kernel/principal.ts";

const inWords: Readonly<Record<MemberRole, string>> = {
  owner: "everything, owners and the account's own settings included; the last one cannot be removed",
  manager: "everything but what concerns owners and the account's own settings",
  operator: "backs up and restores",
  viewer: "looks",
  auditor: "reads the audit log",
};

export function rolesPage(specs: readonly EndpointSpec[]): string {
  const scopes = Object.keys(oauthScopes) as OauthScope[];
  return [
    "# Roles",
    "",
    "What members may do. This page is made from `packages/server/src/kernel/principal.ts` and the endpoints by",
    "`npm run generate`; the service checks every request against the same table. Programs (OAuth clients) have scopes and a",
    "role of their own, at most that of the member who made them; one that acts for a member is held to that member's role",
    "too. Staff of the platform are no members: they use `/v1/admin` and nothing of an account.",
    "",
    ...memberRoles.map((role) => `- **${role}**: ${inWords[role]}`),
    "",
    "## By scope",
    "",
    `| scope | for | ${memberRoles.join(" | ")} |`,
    `|---|---|${memberRoles.map(() => "---|").join("")}`,
    ...scopes.map(
      (scope) => `| \`${scope}\` | ${oauthScopes[scope].description} | ${marks(oauthScopes[scope].roles)} |`,
    ),
    "",
    "## By operation",
    "",
    "*code*: only for people, with a second factor shown within the last ten minutes; programs are refused. *API*: tokens of kind `api` need a package that",
    "includes the API. *stopped*: refused while the account is suspended or closed. Operations about oneself are open to",
    "every role and to staff, never to programs. *pages*: on the service's own pages open to every role.",
    "",
    `| operation | scope | ${memberRoles.join(" | ")} | also |`,
    `|---|---|${memberRoles.map(() => "---|").join("")}---|`,
    ...specs.flatMap(operationRow).sort(),
    "",
  ].join("\n");
}

function operationRow(spec: EndpointSpec): readonly string[] {
  const { access } = spec;
  if (access.kind !== "account" && access.kind !== "person") return [];
  const allowed = access.kind === "person" ? memberRoles : (access.roles ?? oauthScopes[access.scope].roles);
  const also = [
    spec.stepUp === true && "code",
    needsApiPackage(spec, oauthScopes) && "API",
    refusedWhileSuspended(spec) && "stopped",
    access.kind === "person" && "oneself",
    access.kind === "account" && access.dashboard !== undefined && "pages",
  ].filter((word) => word !== false);
  return [`| \`${spec.id}\` | \`${access.scope}\` | ${marks(allowed)} | ${also.join(", ")} |`];
}

function marks(allowed: readonly MemberRole[]): string {
  return memberRoles.map((role) => (allowed.includes(role) ? "✓" : "")).join(" | ");
}
