import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, test } from "node:test";
import { check, rules } from "./rules.ts";
import { cases, type Files } from "./testing.ts";
import { readTree, treeOf } from "./tree.ts";

test("this checkout keeps every rule", () => {
  const findings = check(readTree(path.resolve(import.meta.dirname, "../..")));
  assert.equal(findings.join("\n"), "");
});

test("a checkout is read the same way with git and without: what is ignored is not read", async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), "emanet-tidy-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await mkdir(path.join(folder, "node_modules"));
  await mkdir(path.join(folder, "tools"));
  await writeFile(path.join(folder, ".gitignore"), "node_modules/\n");
  await writeFile(path.join(folder, "tools/a.ts"), "export const a = 1;\n");
  await writeFile(path.join(folder, "tools/a.bin"), Buffer.from([1, 0, 2]));
  await writeFile(path.join(folder, "node_modules/b.ts"), "export default 1;\n");
  const expected = [".gitignore", "tools/a.ts"];
  assert.deepEqual([...readTree(folder).files.keys()].sort(), expected);
  if (spawnSync("git", ["init", "--quiet", folder]).status !== 0) return t.skip("git is not installed");
  assert.deepEqual([...readTree(folder).files.keys()].sort(), expected);
});

describe("a rule", () => {
  for (const rule of rules) {
    const { breaks, keeps } = cases[rule.name] ?? { breaks: [], keeps: [] };

    test(`${rule.name}: finds what breaks it, with its line`, () => {
      assert.ok(breaks.length > 0, "no case breaks this rule; add one");
      for (const { files, line, says } of breaks) {
        const findings = rule.check(tree(files));
        assert.equal(findings.length, 1, `${JSON.stringify(files)} gave ${JSON.stringify(findings)}`);
        assert.equal(findings[0]?.line, line, JSON.stringify(files));
        assert.match(findings[0]?.message ?? "", says);
      }
    });

    test(`${rule.name}: leaves alone what keeps it`, () => {
      assert.ok(keeps.length > 0, "no case keeps this rule; add one");
      for (const files of keeps) assert.deepEqual(rule.check(tree(files)), [], JSON.stringify(files));
    });
  }

  test("has cases under its name and no other", () => {
    assert.deepEqual(Object.keys(cases).sort(), rules.map(({ name }) => name).sort());
  });
});

test("a finding names file, line and rule, and findings come by file", () => {
  const findings = check(
    tree({
      "packages/server/src/kernel/b.ts": "export const a = Date.now();",
      "packages/engine/src/a.ts": "\nexport const b = Math.random();",
    }),
  );
  assert.deepEqual(
    findings.map((finding) => finding.split(": ", 1)[0]),
    ["packages/engine/src/a.ts:2 randomness", "packages/server/src/kernel/b.ts:1 clock"],
  );
});

function tree(files: Files) {
  return treeOf(new Map(Object.entries(files)));
}
