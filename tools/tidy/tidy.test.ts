import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, type TestContext, test } from "node:test";
import { checkImports, importRules } from "./imports.ts";
import { check, readFiles } from "./main.ts";
import { type Files, importCases, lintCases, textCases } from "./testing.ts";
import { checkTexts, textRules } from "./texts.ts";

const root = path.resolve(import.meta.dirname, "../..");

test("this checkout keeps every rule", async () => {
  assert.equal((await check(root, readFiles(root))).join("\n"), "");
});

test("a checkout is read the same way with git and without: what is ignored is not read", async (t) => {
  const folder = await write(t, {
    ".gitignore": "node_modules/\n",
    "tools/a.ts": "a();\n",
    "node_modules/b.ts": "b();",
  });
  await writeFile(path.join(folder, "tools/a.bin"), Buffer.from([1, 0, 2]));
  const expected = [".gitignore", "tools/a.ts"];
  assert.deepEqual([...readFiles(folder).keys()].sort(), expected);
  if (spawnSync("git", ["init", "--quiet", folder]).status !== 0) return t.skip("git is not installed");
  assert.deepEqual([...readFiles(folder).keys()].sort(), expected);
});

describe("a rule about texts", () => {
  for (const { name } of textRules) {
    test(`${name}: finds what breaks it, with its line, and nothing else`, () => {
      const { breaks, keeps } = textCases[name] ?? assert.fail("no cases; add them to testing.ts");
      for (const { files, line, says } of breaks) {
        const findings = findTexts(files, name);
        assert.equal(findings.length, 1, `${JSON.stringify(files)} gave ${JSON.stringify(findings)}`);
        assert.equal(findings[0]?.line, line, JSON.stringify(files));
        assert.match(findings[0]?.message ?? "", says);
      }
      for (const files of keeps) assert.deepEqual(findTexts(files, name), [], JSON.stringify(files));
    });
  }
});

describe("a rule about imports", () => {
  for (const name of importRules.keys()) {
    test(`${name}: finds what breaks it and nothing else`, async (t) => {
      const { breaks, keeps } = importCases[name] ?? assert.fail("no cases; add them to testing.ts");
      const findings = await findImports(t, { ...keeps, ...breaks }, name);
      assert.deepEqual(findings.map(({ file }) => file).sort(), Object.keys(breaks).sort());
    });
  }
});

test("biome finds each planted violation by the rule that replaced ours, and nothing in files that keep the rules", async (t) => {
  const folder = await write(t, { ".gitignore": "node_modules/\n", ...manifests });
  await cp(path.join(root, "biome.json"), path.join(folder, "biome.json"));
  await cp(path.join(root, "tools/biome"), path.join(folder, "tools/biome"), { recursive: true });
  for (const { file, text } of lintCases) await writeInto(folder, { [file]: text });
  const found = runBiome(folder);
  const wrong = lintCases.flatMap(({ file, finds }) => {
    const findings = found.filter((line) => line.startsWith(`${file} `));
    const ok = finds === undefined ? findings.length === 0 : findings.some((line) => finds.test(line));
    return ok ? [] : [`${file} should give ${finds ?? "nothing"}, gave: ${findings.join("; ")}`];
  });
  assert.deepEqual(wrong, []);
});

test("a finding names file, line and rule, and findings come by file", async (t) => {
  const files = { "tools/b.ts": 'import "unheard";', "tools/a.ts": "\nconst waitMs = 1;" };
  const folder = await write(t, { ...manifests, ...files });
  assert.deepEqual(
    (await check(folder, new Map(Object.entries(files)))).map((finding) => finding.split(": ", 1)[0]),
    ["tools/a.ts:2 limits", "tools/b.ts:1 dependencies"],
  );
});

/** The packages of a small repository; `listed` is what its root depends on. */
const packages = ["engine", "engine-cli", "storage", "server", "agent", "dashboard"];
const manifests: Files = {
  "package.json": JSON.stringify({ workspaces: ["packages/*"], devDependencies: { listed: "1" } }),
  "node_modules/listed/package.json": '{"name":"listed","main":"index.js"}',
  "node_modules/listed/index.js": "",
  ...Object.fromEntries(
    packages.flatMap((name) => [
      [`packages/${name}/package.json`, JSON.stringify({ name: `@emanet/${name}`, exports: "./src/index.ts" })],
      [`packages/${name}/src/index.ts`, ""],
    ]),
  ),
};

function findTexts(files: Files, rule: string) {
  return checkTexts(new Map(Object.entries(files))).filter((finding) => finding.rule === rule);
}

async function findImports(t: TestContext, files: Files, rule: string) {
  const folder = await write(t, { ...manifests, ...importedBy(files), ...files });
  await mkdir(path.join(folder, "node_modules/@emanet"));
  for (const name of packages) {
    await symlink(path.join("../../packages", name), path.join(folder, "node_modules/@emanet", name));
  }
  return (await checkImports(folder)).filter((finding) => finding.rule === rule);
}

/** An empty file for every relative import. */
function importedBy(files: Files): Files {
  return Object.fromEntries(
    Object.entries(files).flatMap(([file, text]) =>
      [...text.matchAll(/"(\..*?)"/g)].map(([, target = ""]) => [
        path.posix.join(path.posix.dirname(file), target),
        "",
      ]),
    ),
  );
}

/** What biome finds: `file rule message`. */
function runBiome(folder: string): string[] {
  const command = path.join(root, "node_modules/.bin/biome");
  const args = ["lint", "--reporter=json", "--max-diagnostics=none", "."];
  const { stdout, stderr } = spawnSync(process.execPath, [command, ...args], { cwd: folder, encoding: "utf8" });
  assert.notEqual(stdout, "", stderr);
  const { diagnostics } = JSON.parse(stdout) as {
    diagnostics: { category: string; message: string; location: { path: string } }[];
  };
  return diagnostics.map(({ category, message, location }) => `${location.path} ${category} ${message}`);
}

async function write(t: TestContext, files: Files): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "emanet-tidy-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await writeInto(folder, files);
  return folder;
}

async function writeInto(folder: string, files: Files): Promise<void> {
  for (const [file, text] of Object.entries(files)) {
    await mkdir(path.join(folder, path.dirname(file)), { recursive: true });
    await writeFile(path.join(folder, file), text);
  }
}
