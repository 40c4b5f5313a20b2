import assert from "node:assert/strict";
import { test } from "node:test";
import { accountScopes } from "./accounts/scopes.ts";
import { adminPolicies } from "./admin/policies.ts";
import { agentProblems } from "./agents/problems.ts";
import { applicationPolicies } from "./applications/policies.ts";
import { oauthScopes, policies, problems } from "./declarations.ts";
import { identityPolicies } from "./identity/policies.ts";
import { identityProblems } from "./identity/problems.ts";
import { kernelPolicies } from "./kernel/limits/policies.ts";
import { kernelProblems } from "./kernel/problems.ts";
import { oauthPolicies } from "./oauth/policies.ts";
import { plannedPolicies, plannedProblems, plannedScopes } from "./planned-domains.ts";
import { snapshotPolicies } from "./snapshots/policies.ts";
import { snapshotProblems } from "./snapshots/problems.ts";
import { snapshotScopes } from "./snapshots/scopes.ts";
import { taxpayerScopes } from "./taxpayers/scopes.ts";
import { vaultProblems } from "./vaults/problems.ts";

const count = (...tables: readonly object[]) => tables.flatMap((table) => Object.keys(table)).length;

test("no two domains declare the same error code, policy or scope", () => {
  assert.equal(
    count(problems),
    count(kernelProblems, identityProblems, agentProblems, vaultProblems, snapshotProblems, plannedProblems),
  );
  assert.equal(
    count(policies),
    count(
      ...[identityPolicies, applicationPolicies, snapshotPolicies, plannedPolicies],
      ...[adminPolicies, oauthPolicies, kernelPolicies],
    ),
  );
  assert.equal(count(oauthScopes), count(snapshotScopes, plannedScopes, accountScopes, taxpayerScopes));
});
