/**
 * What domains declare, collected: error codes, policies, OAuth scopes, member roles and rules for paths. The kernel gets these
 * tables when the service is put together. A domain imports this file where it needs all names, for example for an enum.
 * The files collected here import the kernel alone, so there is no cycle (decision 0022).
 */

import { memberRoles } from "./accounts/roles.ts";
import { accountScopes } from "./accounts/scopes.ts";
import { adminPath } from "./admin/paths.ts";
import { adminPolicies } from "./admin/policies.ts";
import { agentProblems } from "./agents/problems.ts";
import { applicationPolicies } from "./applications/policies.ts";
import { auditPolicies } from "./audit/policies.ts";
import { auditProblems } from "./audit/problems.ts";
import { auditScopes } from "./audit/scopes.ts";
import { downloadProblems } from "./downloads/problems.ts";
import { identityPolicies } from "./identity/policies.ts";
import { identityProblems } from "./identity/problems.ts";
import type { Declared } from "./kernel/declared.ts";
import { accountPoliciesOf, kernelPolicies, type PolicyName, sortedBySet } from "./kernel/limits/policies.ts";
import type { OauthScopes } from "./kernel/principal.ts";
import { groupedByStatus, kernelProblems, type ProblemCode } from "./kernel/problems.ts";
import { oauthPath } from "./oauth/paths.ts";
import { oauthPolicies } from "./oauth/policies.ts";
import { restorePolicies } from "./restores/policies.ts";
import { restoreScopes } from "./restores/scopes.ts";
import { snapshotPolicies } from "./snapshots/policies.ts";
import { snapshotProblems } from "./snapshots/problems.ts";
import { snapshotScopes } from "./snapshots/scopes.ts";
import { taxpayerScopes } from "./taxpayers/scopes.ts";
import { vaultProblems } from "./vaults/problems.ts";
import { webhookPolicies } from "./webhooks/policies.ts";
import { webhookProblems } from "./webhooks/problems.ts";
import { webhookScopes } from "./webhooks/scopes.ts";

export { memberRoles };

const allProblems = {
  ...kernelProblems,
  ...identityProblems,
  ...agentProblems,
  ...vaultProblems,
  ...snapshotProblems,
  ...webhookProblems,
  ...downloadProblems,
  ...auditProblems,
};

const allPolicies = {
  ...identityPolicies,
  ...applicationPolicies,
  ...snapshotPolicies,
  ...webhookPolicies,
  ...restorePolicies,
  ...auditPolicies,
  ...adminPolicies,
  ...oauthPolicies,
  ...kernelPolicies,
};

const allScopes = {
  ...snapshotScopes,
  ...restoreScopes,
  ...auditScopes,
  ...webhookScopes,
  ...accountScopes,
  ...taxpayerScopes,
};

declare module "./kernel/declared-names.ts" {
  interface DeclaredNames {
    problemCode: keyof typeof allProblems;
    policy: keyof typeof allPolicies;
    oauthScope: keyof typeof allScopes;
    memberRole: (typeof memberRoles)[number];
  }
}

export const problems = groupedByStatus(allProblems);
export const policies = sortedBySet(allPolicies);
export const oauthScopes: OauthScopes = allScopes;

export const declared: Declared = {
  problems,
  policies,
  oauthScopes,
  paths: { staffOnly: adminPath, oauth: oauthPath },
};

export const problemCodes = Object.keys(problems) as readonly ProblemCode[];
export const policyNames = Object.keys(policies) as readonly PolicyName[];
/** The policies whose rate staff may set for one account. */
export const accountPolicyNames = accountPoliciesOf(policies);
