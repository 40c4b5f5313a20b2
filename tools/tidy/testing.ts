// One text that breaks each rule and one that keeps it, for tidy.test.ts. Texts that would themselves break a rule
// about the text of files are put together from pieces.

import { engineCommand } from "./rooms.ts";

/** A checkout in miniature: text by path. */
export type Files = Readonly<Record<string, string>>;

interface Cases {
  /** Each breaks the rule exactly once, on the line named, with a message like this. */
  readonly breaks: readonly { readonly files: Files; readonly line: number; readonly says: RegExp }[];
  readonly keeps: readonly Files[];
}

const server = "packages/server/src";
const kernel = `${server}/kernel/a.ts`;
const later = "TO" + "DO";

function breaking(files: Files, line: number, says: RegExp): Cases["breaks"][number] {
  return { files, line, says };
}

function body(lines: number): string {
  return "  work();\n".repeat(lines);
}

export const cases: Readonly<Record<string, Cases>> = {
  syntax: {
    breaks: [breaking({ [kernel]: "const a = 1;\nconst = 2;" }, 2, /cannot be parsed/)],
    keeps: [
      { [kernel]: "const a = 1 satisfies number;" },
      { "packages/dashboard/src/a.tsx": "export const a = <b/>;" },
    ],
  },
  rooms: {
    breaks: [
      breaking({ "packages/engine/src/a.ts": 'import "@emanet/server";', ...manifest("server") }, 1, /engine imports/),
      breaking({ "packages/storage/src/a.ts": 'import "../../server/src/kernel/b.ts";' }, 1, /storage imports kernel/),
      breaking(
        { "packages/engine-cli/src/a.ts": 'import "../../server/src/kernel/b.ts";' },
        1,
        /engine-cli imports kernel/,
      ),
      breaking({ "packages/engine/src/a.ts": 'import "../../engine-cli/src/a.ts";' }, 1, /engine imports engine-cli/),
      breaking({ [kernel]: 'import "../applications/index.ts";' }, 1, /kernel imports domain/),
      breaking({ [kernel]: 'import type { A } from "../main.ts";' }, 1, /kernel imports composition/),
      breaking({ [`${server}/messages/a.ts`]: 'import "../applications/index.ts";' }, 1, /comes after it/),
      breaking({ [`${server}/applications/a.ts`]: 'import "../messages/store.ts";' }, 1, /import its index/),
      breaking({ [`${server}/main.ts`]: 'import "./messages/store.ts";' }, 1, /import its index/),
      breaking({ "sdks/typescript/src/a.ts": 'export * from "../../../packages/engine/src/a.ts";' }, 1, /sdk imports/),
      breaking(
        { "packages/agent/src/a.ts": 'const a = await import("../../server/src/main.ts");' },
        1,
        /agent imports/,
      ),
      breaking({ "packages/dashboard/src/a.ts": 'let a: import("../../engine/src/a.ts").A;' }, 1, /dashboard imports/),
      breaking({ "packages/engine/src/a.test.ts": 'import "../../storage/src/a.ts";' }, 1, /engine imports storage/),
    ],
    keeps: [
      { "packages/storage/src/a.ts": 'import "@emanet/engine";', ...manifest("engine") },
      {
        [`${server}/applications/a.ts`]: 'import "../kernel/tx.ts";\nimport "../messages/index.ts";\nimport "./b.ts";',
      },
      { [`${server}/messages/a.test.ts`]: 'import "../applications/store.ts";' },
      { [`${server}/endpoints.ts`]: 'import "./applications/endpoints/index.ts";', [kernel]: 'import "../config.ts";' },
      { "tools/a.ts": 'import "../packages/server/src/applications/store.ts";' },
    ],
  },
  "domain list": {
    breaks: [breaking({ [`${server}/unheard/a.ts`]: "", [`${server}/unheard/b.ts`]: "" }, 1, /unheard has no place/)],
    keeps: [{ [`${server}/applications/a.ts`]: "", [`${server}/testing/a.ts`]: "", [kernel]: "" }],
  },
  "endpoint imports": {
    breaks: [
      breaking({ [`${server}/applications/a.ts`]: '\nimport "./endpoints/b.ts";' }, 2, /imports the endpoint/),
      breaking({ [`${server}/applications/endpoints/a.ts`]: 'import "./b.ts";' }, 1, /imports the endpoint/),
    ],
    keeps: [
      { [`${server}/applications/endpoints/index.ts`]: 'import "./b.ts";' },
      { [`${server}/applications/endpoints/b.test.ts`]: 'import "./b.ts";' },
    ],
  },
  "test imports": {
    breaks: [
      breaking({ [kernel]: 'import "../testing/database.ts";' }, 1, /imports test code/),
      breaking({ [kernel]: 'export * from "./b.test.ts";' }, 1, /imports test code/),
      breaking({ [kernel]: 'import "./testing.ts";' }, 1, /imports test code/),
    ],
    keeps: [
      { [`${server}/kernel/a.test.ts`]: 'import "../testing/database.ts";' },
      { "tools/test.ts": 'import "../packages/server/src/testing/database.ts";' },
    ],
  },
  "package names": {
    breaks: [breaking({ [kernel]: 'import "../../../engine/src/index.ts";' }, 1, /by its name/)],
    keeps: [{ [kernel]: 'import "../config.ts";\nimport "@emanet/engine";', ...manifest("engine") }],
  },
  dependencies: {
    breaks: [
      breaking({ [kernel]: 'import "pg/lib/x.js";', ...manifest("server") }, 1, /imports pg, which packages\/server/),
      breaking({ [kernel]: 'import "@a/b";', ...manifest("server", { devDependencies: { "@a/b": "1" } }) }, 1, /@a\/b/),
      breaking(
        { [kernel]: 'import "@emanet/engine";', ...manifest("server"), ...manifest("engine") },
        1,
        /emanet\/engine/,
      ),
    ],
    keeps: [
      { [kernel]: 'import "pg/x";\nimport "node:fs";', ...manifest("server", { dependencies: { pg: "1" } }) },
      { [`${server}/a.test.ts`]: 'import "b";', "package.json": '{"devDependencies":{"b":"1"}}' },
      { "tools/a.ts": 'import "pg";', ...manifest("server", { dependencies: { pg: "1" } }) },
      { [`${server}/a.test.ts`]: "const name: string = pick();\nawait import(name);", ...manifest("server") },
    ],
  },
  cycles: {
    breaks: [
      breaking(
        {
          "tools/a.ts": 'import "./b.ts";',
          "tools/b.ts": 'import type { C } from "./c.ts";',
          "tools/c.ts": 'export * from "./a.ts";',
        },
        1,
        /a\.ts → tools\/b\.ts → tools\/c\.ts → tools\/a\.ts/,
      ),
      breaking({ "tools/a.ts": 'import "./a.ts";' }, 1, /import cycle/),
    ],
    keeps: [{ "tools/a.ts": 'import "./b.ts";\nimport "./c.ts";', "tools/b.ts": 'import "./c.ts";', "tools/c.ts": "" }],
  },
  "endpoint tests": {
    breaks: [breaking({ [`${server}/applications/endpoints/a.ts`]: "" }, 1, /write .*a\.test\.ts/)],
    keeps: [{ [`${server}/applications/endpoints/a.ts`]: "", [`${server}/applications/endpoints/a.test.ts`]: "" }],
  },
  "endpoint list": {
    breaks: [breaking({ [`${server}/applications/endpoints/a.ts`]: "" }, 1, /is not served/)],
    keeps: [
      {
        [`${server}/applications/endpoints/a.ts`]: "",
        [`${server}/applications/endpoints/index.ts`]: 'import "./a.ts";',
      },
    ],
  },
  "one endpoint": {
    breaks: [
      breaking(
        { [`${server}/applications/endpoints/a.ts`]: "export const a = 1;\nexport const b = 2;" },
        2,
        /one file each/,
      ),
    ],
    keeps: [
      { [`${server}/applications/endpoints/a.ts`]: 'export const a = endpoint(\n  {\n    method: "GET",\n  });' },
      { [`${server}/applications/endpoints/index.ts`]: "export const a = 1;\nexport const b = 2;" },
    ],
  },
  "file size": {
    breaks: [breaking({ "tools/a.test.ts": "work();\n".repeat(501) }, 501, /501 lines, 500 allowed/)],
    keeps: [{ "tools/a.ts": "work();\n".repeat(500), "tools/b.generated.ts": "work();\n".repeat(501) }],
  },
  "function size": {
    breaks: [
      breaking({ "tools/a.ts": `\nfunction long() {\n${body(69)}}` }, 2, /long has 71 lines, 70 allowed/),
      breaking({ "tools/a.ts": `const long = () => {\n${body(69)}};` }, 1, /long has 71/),
      breaking({ "tools/a.ts": `class A {\n  #b = 1;\n  c() {\n${body(69)}  }\n}` }, 3, /c has 71/),
      breaking({ "tools/a.test.ts": `test("a", () => {\n${body(69)}});` }, 1, /71 lines/),
    ],
    keeps: [
      { "tools/a.ts": `function fits() {\n${body(68)}}` },
      { "tools/a.test.ts": `describe("a", () => {\n${body(100)}});` },
    ],
  },
  names: {
    breaks: [
      breaking({ "tools/utils.ts": "" }, 1, /"utils" says nothing/),
      breaking({ "tools/string-helpers.test.ts": "" }, 1, /"string-helpers"/),
      breaking({ "packages/engine/src/common/a.ts": "" }, 1, /"common"/),
      breaking({ [`${server}/service.ts`]: "" }, 1, /"service"/),
    ],
    keeps: [{ "tools/media-types.ts": "", "tools/utilisation.ts": "", "docs/types.md": "" }],
  },
  environment: {
    breaks: [
      breaking({ [kernel]: "\nconst a = process.env.A;" }, 2, /out of its room; add a setting/),
      breaking({ [kernel]: "const { env } = process;" }, 1, /setting/),
      breaking({ [kernel]: 'f(globalThis.process["env"]);' }, 1, /setting/),
      breaking({ "packages/engine-cli/src/run.ts": "f(process.env);" }, 1, /setting/),
    ],
    keeps: [
      {
        [`${server}/config.ts`]: "f(process.env);",
        "tools/a.ts": "f(process.env);",
        [`${server}/a.test.ts`]: "f(process.env);",
      },
      { [kernel]: "f(process.pid, other.env);" },
      { [engineCommand]: "f(process.env);" },
    ],
  },
  clock: {
    breaks: [
      breaking({ [kernel]: "f(Date.now());" }, 1, /take a Clock/),
      breaking({ [kernel]: "f(new Date());" }, 1, /take a Clock/),
      breaking({ "packages/storage/src/a.ts": "f(performance.now());" }, 1, /take a Clock/),
      breaking({ "packages/engine/src/a.ts": "f(Temporal.Now.instant());" }, 1, /take a Clock/),
      breaking({ "packages/engine-cli/src/run.ts": "f(Date.now());" }, 1, /take a Clock/),
    ],
    keeps: [
      { [kernel]: "f(new Date(0), Date.parse(a), clock.now());", [`${server}/kernel/clock.ts`]: "f(new Date());" },
      { "bench/a.ts": "f(performance.now());", [`${server}/a.test.ts`]: "f(Date.now());" },
      { [engineCommand]: "f(Date.now());" },
    ],
  },
  randomness: {
    breaks: [
      breaking({ [kernel]: "f(Math.random());" }, 1, /take a Random/),
      breaking({ [kernel]: 'import { createHash, randomBytes as r } from "node:crypto";' }, 1, /take a Random/),
      breaking({ "packages/engine/src/a.ts": "f(crypto.randomUUID());" }, 1, /take a Random/),
      breaking({ [kernel]: "f(globalThis.crypto.getRandomValues(a));" }, 1, /take a Random/),
      breaking({ "packages/engine-cli/src/run.ts": "f(crypto.randomUUID());" }, 1, /take a Random/),
    ],
    keeps: [
      { [kernel]: 'import { createHash } from "node:crypto";\nf(random.bytes(2), Math.max(1, 2));' },
      { [`${server}/kernel/clock.ts`]: 'import { randomBytes } from "node:crypto";' },
      { [engineCommand]: 'import { randomBytes } from "node:crypto";' },
    ],
  },
  console: {
    breaks: [breaking({ [`${server}/a.test.ts`]: 'console.log("a");' }, 1, /log through/)],
    keeps: [{ "tools/a.ts": 'console.log("a");', [kernel]: 'log.info("a");' }],
  },
  exit: {
    breaks: [breaking({ [kernel]: "process.exit(1);" }, 1, /let main\.ts decide/)],
    keeps: [
      { [`${server}/main.ts`]: "process.exit(1);", "tools/a.ts": "process.exit(1);", [kernel]: "f(process.exitCode);" },
    ],
  },
  "standard output": {
    breaks: [
      breaking({ [kernel]: 'process.stdout.write("a");' }, 1, /return the text/),
      breaking({ [kernel]: 'process.stderr.write("a");' }, 1, /return the text/),
    ],
    keeps: [
      { [`${server}/main.ts`]: 'process.stdout.write("a");', "packages/agent/src/a.ts": "f(process.stdout);" },
      { [`${server}/kernel/log.ts`]: 'process.stderr.write("a");' },
    ],
  },
  "process import": {
    breaks: [breaking({ [kernel]: 'import { env } from "node:process";' }, 1, /use the global/)],
    keeps: [{ [kernel]: 'import { spawn } from "node:child_process";' }],
  },
  language: {
    breaks: [
      breaking({ [kernel]: "export default 1;" }, 1, /default export/),
      breaking({ [kernel]: "enum A { B }" }, 1, /enum/),
      breaking({ [kernel]: "const a: any = 1;" }, 1, /any/),
      breaking({ [kernel]: "f(a!);" }, 1, /non-null/),
      breaking({ [kernel]: "let a!: string;" }, 1, /definite/),
      breaking({ [kernel]: "class A { b!: string; }" }, 1, /definite/),
    ],
    keeps: [{ [kernel]: "export const a: unknown = !b;\nlet c: string | undefined;" }],
  },
  classes: {
    breaks: [breaking({ [kernel]: "class A {\n  static b = 1;\n  c() {}\n}" }, 1, /without state/)],
    keeps: [
      { [kernel]: "class A { #b = 1; }\nclass C { readonly d: number; }\nclass E extends Error {}" },
      { "packages/engine/src/a.d.ts": "declare class A {\n  b(): void;\n}" },
    ],
  },
  "swallowed errors": {
    breaks: [
      breaking({ [kernel]: "try {\n  f();\n} catch {}" }, 3, /swallowed/),
      breaking({ [kernel]: "f().catch(() => {});" }, 1, /swallowed/),
    ],
    keeps: [
      { [kernel]: "try {\n  f();\n} catch {\n  // It is gone, which is what was wanted.\n}" },
      { [kernel]: "f().catch((error) => log(error));\ntry { f(); } catch (error) { g(error); }" },
    ],
  },
  headers: {
    breaks: [
      breaking({ [kernel]: "work();\n".repeat(41) }, 1, /no header/),
      breaking({ [kernel]: `// Short.\n\n${"work();\n".repeat(41)}` }, 1, /no header/),
      breaking(
        { [kernel]: `/** What the first function does, at length, and why. */\n${"work();\n".repeat(41)}` },
        1,
        /no header/,
      ),
    ],
    keeps: [
      { [kernel]: `// What this owns, its nouns and its invariants.\n\n${"work();\n".repeat(41)}` },
      {
        [kernel]: `/**\n * What this owns, its nouns and its invariants.\n */\nimport "b";\n${"work();\n".repeat(41)}`,
      },
      { [kernel]: "work();\n".repeat(30), [`${server}/a.test.ts`]: "work();\n".repeat(41) },
    ],
  },
  limits: {
    breaks: [
      breaking({ [kernel]: "\nexport const waitMs = 5 * 1000;" }, 2, /waitMs has no comment/),
      breaking({ [kernel]: "const maxParts = 10;" }, 1, /maxParts/),
      breaking({ [kernel]: "/** Why a. */\nexport const aBytes = 1;\nexport const bBytes = 2;" }, 3, /bBytes/),
    ],
    keeps: [
      {
        [kernel]:
          "/** Why. */\nexport const waitMs = 5;\n\n// AES-GCM as NIST has it.\nconst keyBytes = 32;\nconst tagBytes = 16;",
      },
      { [kernel]: "const limit = readLimit();\nconst hourMs = 3_600_000;\nconst items = 3;" },
    ],
  },
  suppressions: {
    breaks: [
      breaking({ [kernel]: "// @ts-ignore it is fine, really it is\na();" }, 1, /fix the type/),
      breaking({ [kernel]: "// @ts-expect-error\na();" }, 1, /without a reason/),
      breaking({ [kernel]: "// biome-ignore lint/a/b: <explanation>\na();" }, 1, /without a reason/),
    ],
    keeps: [
      { [kernel]: "// biome-ignore lint/a/b: the library calls it by this name\na();" },
      { [kernel]: "// @ts-expect-error: the test calls it with what the type forbids\na();" },
    ],
  },
  marks: {
    breaks: [
      breaking({ [kernel]: `a(); // ${later}: b` }, 1, /left behind/),
      breaking({ "docs/a.md": `\n${later} write this` }, 2, /left behind/),
    ],
    keeps: [{ "docs/a.md": `No \`${later}\` is left behind.`, [kernel]: 'mkdtemp("aXXXXXX");' }],
  },
  registries: {
    breaks: [
      breaking(
        { "package-lock.json": `{\n"resolved": "https://${["registry", "npmjs", "org"].join(".")}/a"}` },
        2,
        /registry/,
      ),
      breaking({ ".npmrc": "registry = https://mirror.example/" }, 1, /registry/),
      breaking({ "tools/a.sh": `curl https://${["crates", "io"].join(".")}/` }, 1, /registry/),
    ],
    keeps: [{ ".npmrc": "ignore-scripts=true", [kernel]: 'registry.register("a.b");\nconst registry = new Map();' }],
  },
  "machine paths": {
    breaks: [
      breaking({ "README.md": `cd ${["", "home", "ada", "emanet"].join("/")}` }, 1, /make it relative/),
      breaking({ [`${server}/a.test.ts`]: `f("${["", "work", "main"].join("/")}");` }, 1, /make it relative/),
    ],
    keeps: [
      { "README.md": "curl https://127.0.0.1:8443/home/page, ./work/main, <data>/root/ca.pem, /usr/bin/env" },
      { [`${server}/a.test.ts`]: `f("${["", "home", "ada", "file"].join("/")}");` },
    ],
  },
  only: {
    breaks: [
      breaking({ "tools/a.test.ts": 'test.only("a", () => {});' }, 1, /only on a test/),
      breaking({ "tools/a.test.ts": 'describe("a", { only: true }, () => {});' }, 1, /only on a test/),
    ],
    keeps: [{ "tools/a.test.ts": 'test("only one", () => {});', [kernel]: "test.only();" }],
  },
  skips: {
    breaks: [
      breaking({ "tools/a.test.ts": 'test.skip("a", () => {});' }, 1, /skip on a test/),
      breaking({ "tools/a.test.ts": 'test("a", { skip: true }, () => {});' }, 1, /skip on a test/),
      breaking({ "tools/a.test.ts": 'test.todo("a");' }, 1, /todo on a test/),
      breaking({ "tools/a.test.ts": 'test("a", (t) => {\n  t.skip();\n});' }, 2, /without a reason/),
    ],
    keeps: [
      { "tools/a.test.ts": 'test("a", (t) => t.skip("no browser here"));' },
      { "tools/a.test.ts": 'test("a", { skip: linux ? false : "needs Linux" }, () => {});' },
    ],
  },
};

/** The package.json of a package of ours. */
function manifest(name: string, lists: Readonly<Record<string, Readonly<Record<string, string>>>> = {}): Files {
  return { [`packages/${name}/package.json`]: JSON.stringify({ name: `@emanet/${name}`, ...lists }) };
}
