import assert from "node:assert/strict";
import { globSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { oauthScopes, policies, problems } from "./declarations.ts";

/** The names in the tables that the domains export, each as often as it is declared. */
async function declaredNames(files: readonly string[], table: RegExp): Promise<readonly string[]> {
  const names: string[] = [];
  for (const file of globSync(files, { cwd: import.meta.dirname })) {
    const exported = (await import(pathToFileURL(path.join(import.meta.dirname, file)).href)) as Record<string, object>;
    for (const [name, value] of Object.entries(exported)) if (table.test(name)) names.push(...Object.keys(value));
  }
  return names.sort();
}

test("no two domains declare the same error code, policy or scope, and none is left out", async () => {
  const ofProblems = await declaredNames(["**/problems.ts"], /Problems$/);
  assert.deepEqual(ofProblems, Object.keys(problems).sort());
  const ofPolicies = await declaredNames(["**/policies.ts"], /Policies$/);
  assert.deepEqual(ofPolicies, Object.keys(policies).sort());
  const ofScopes = await declaredNames(["**/scopes.ts"], /Scopes$/);
  assert.deepEqual(ofScopes, Object.keys(oauthScopes).sort());
});
