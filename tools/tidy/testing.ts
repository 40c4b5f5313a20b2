// For tidy.test.ts: files that break each rule, and files that keep it. A text that would itself break a rule about
// texts is put together from pieces.

/** A small checkout: text by path. */
export type Files = Readonly<Record<string, string>>;

interface Cases {
  /** Each breaks the rule exactly once, in its first file. */
  readonly breaks: readonly { readonly files: Files; readonly line: number; readonly says: RegExp }[];
  readonly keeps: readonly Files[];
}

const server = "packages/server/src";
const kernel = `${server}/kernel/a.ts`;
const later = "TO" + "DO";
const ignore = "biome-" + "ignore";
const work = "work();\n";

function breaking(files: Files, says: RegExp, line = 1): Cases["breaks"][number] {
  return { files, line, says };
}

/** Rules of texts.ts, by name. */
export const textCases: Readonly<Record<string, Cases>> = {
  names: {
    breaks: [
      breaking({ "tools/utils.ts": "" }, /"utils.ts" says nothing/),
      breaking({ "tools/string-helpers.test.ts": "" }, /"string-helpers/),
      breaking({ "packages/engine/src/common/a.ts": "" }, /"common"/),
      breaking({ [`${server}/service.ts`]: "" }, /"service/),
    ],
    keeps: [{ "tools/media-types.ts": "", "tools/utilisation.ts": "", "docs/types.md": "" }],
  },
  "endpoint tests": {
    breaks: [breaking({ [`${server}/accounts/endpoints/a.ts`]: "" }, /write .*a\.test\.ts/)],
    keeps: [
      { [`${server}/accounts/endpoints/a.ts`]: "", [`${server}/accounts/endpoints/a.test.ts`]: "" },
      { [`${server}/accounts/endpoints/index.ts`]: "", [`${server}/accounts/endpoints/testing.ts`]: "" },
    ],
  },
  "one endpoint": {
    breaks: [
      breaking(
        { [`${server}/accounts/endpoints/a.ts`]: "export const a = 1;\nexport const b = 2;" },
        /one file for each/,
      ),
      breaking({ [`${server}/accounts/endpoints/a.ts`]: "export type A = 1;" }, /one file for each/),
    ],
    keeps: [
      { [`${server}/accounts/endpoints/a.ts`]: 'export type A = 1;\nexport const a = endpoint({\n  id: "a.b",\n});' },
      { [`${server}/accounts/endpoints/index.ts`]: "export const a = 1;\nexport const b = 2;" },
    ],
  },
  "sql in stores": {
    breaks: [
      breaking({ [`${server}/accounts/a.ts`]: "await tx.db.selectFrom();" }, /outside of a store/),
      breaking({ [`${server}/accounts/a.ts`]: 'import { sql } from "kysely";' }, /outside of a store/),
      breaking({ [`${server}/accounts/a.ts`]: 'await pool.query<Row>("select 1");' }, /outside of a store/),
    ],
    keeps: [
      { [`${server}/accounts/store.ts`]: "await tx.db.selectFrom();" },
      { [`${server}/accounts/person-store.ts`]: "await sql`select 1`.execute(tx.db);" },
      { [kernel]: "await tx.db.selectFrom();" },
    ],
  },
  headers: {
    breaks: [
      breaking({ [kernel]: work.repeat(41) }, /no header/),
      breaking({ [kernel]: `// Short.\n\n${work.repeat(41)}` }, /no header/),
      breaking(
        { [kernel]: `/** What the first function does, at length, and why. */\n${work.repeat(41)}` },
        /no header/,
      ),
    ],
    keeps: [
      { [kernel]: `// What this owns, its nouns and its invariants.\n\n${work.repeat(41)}` },
      { [kernel]: `#!/usr/bin/env node\n// What this owns, its nouns and its invariants.\n\n${work.repeat(41)}` },
      { [kernel]: `/**\n * What this owns, its nouns and its invariants.\n */\nimport "b";\n${work.repeat(41)}` },
      { [kernel]: work.repeat(30), [`${server}/a.test.ts`]: work.repeat(41) },
    ],
  },
  limits: {
    breaks: [
      breaking({ [kernel]: "\nexport const waitMs = 5 * 1000;" }, /waitMs has no comment/, 2),
      breaking({ [kernel]: "const maxParts = 1 << 4;" }, /maxParts/),
      breaking({ [kernel]: "const aBytes = Math.max(...sizes) + 16;" }, /aBytes/),
      breaking({ [kernel]: "/** Why a. */\nexport const aBytes = 1;\nexport const bBytes = 2;" }, /bBytes/, 3),
    ],
    keeps: [
      {
        [kernel]:
          "/** Why. */\nexport const waitMs = 5;\n\n// As NIST has it.\nconst keyBytes = 32;\nconst tagBytes = 16;",
      },
      { [kernel]: "const limit = readLimit();\nconst hourMs = 3_600_000;\nconst items = 3;" },
      { [`${server}/a.test.ts`]: "const waitMs = 5;" },
    ],
  },
  suppressions: {
    breaks: [
      breaking({ [kernel]: `// @ts-${"ignore"} it is fine, really it is\na();` }, /fix the type/),
      breaking({ [kernel]: `/* @ts-${"nocheck"} */\na();` }, /fix the type/),
      breaking({ [kernel]: `// @ts-${"expect-error"}\na();` }, /say why/),
      breaking({ [kernel]: `// ${ignore} lint/a/b: <explanation>\na();` }, /say why/),
      breaking({ [kernel]: `// ${ignore} lint/plugin: this function is long by its nature\na();` }, /no exceptions/),
      breaking({ [kernel]: `// ${ignore}-all lint: this file is an old one\na();` }, /no exceptions/),
      breaking({ [kernel]: `// ${ignore} lint/style/noEnum: it reads better here\na();` }, /no exceptions/),
    ],
    keeps: [
      { [kernel]: `// ${ignore} lint/a/b: the library calls it by this name\na();` },
      { [kernel]: `// @ts-${"expect-error"}: the test calls it with what the type forbids\na();` },
    ],
  },
  marks: {
    breaks: [
      breaking({ [kernel]: `a(); // ${later}: b` }, /open an issue/),
      breaking({ "docs/a.md": `\n${later} write this` }, /open an issue/, 2),
    ],
    keeps: [{ "docs/a.md": `No \`${later}\` is left behind.`, [kernel]: 'mkdtemp("aXXXXXX");' }],
  },
  registries: {
    breaks: [
      breaking(
        { "package-lock.json": `{\n"a": "https://${["registry", "npmjs", "org"].join(".")}/a"}` },
        /registry/,
        2,
      ),
      breaking({ ".npmrc": "registry = https://mirror.example/" }, /registry/),
      breaking({ "tools/a.sh": `curl https://${["crates", "io"].join(".")}/` }, /registry/),
    ],
    keeps: [{ ".npmrc": "ignore-scripts=true", [kernel]: 'registry.register("a.b");\nconst registry = new Map();' }],
  },
  "machine paths": {
    breaks: [
      breaking({ "README.md": `cd ${["", "home", "ada", "emanet"].join("/")}` }, /make it relative/),
      breaking({ [`${server}/a.test.ts`]: `f("${["", "work", "main"].join("/")}");` }, /make it relative/),
    ],
    keeps: [
      { "README.md": "curl https://127.0.0.1:8443/home/page, ./work/main, <data>/root/ca.pem, /usr/bin/env" },
      { [`${server}/a.test.ts`]: `f("${["", "home", "ada", "file"].join("/")}");` },
    ],
  },
};

interface ImportCases {
  /** Each file breaks the rule once. */
  readonly breaks: Files;
  readonly keeps: Files;
}

/** Rules of imports.ts, by name. All files of a rule are one checkout. A file that is only imported is empty. */
export const importCases: Readonly<Record<string, ImportCases>> = {
  "layer engine": {
    breaks: {
      "packages/engine/src/a.ts": 'import "@emanet/server";',
      "packages/engine/src/b.ts": 'import type { A } from "@emanet/engine-cli";',
      "packages/engine/src/a.test.ts": 'import "@emanet/storage";',
    },
    keeps: { "packages/engine/src/b.test.ts": 'import "./testing/b.ts";' },
  },
  "layer storage": {
    breaks: { "packages/storage/src/a.ts": 'import "@emanet/server";' },
    keeps: { "packages/storage/src/b.ts": 'import "@emanet/engine";' },
  },
  "layer engine-cli": {
    breaks: { "packages/engine-cli/src/a.ts": 'import "@emanet/server";' },
    keeps: { "packages/engine-cli/src/b.ts": 'import "@emanet/engine";\nimport "@emanet/storage";' },
  },
  "layer sdk": {
    breaks: { "sdks/typescript/src/a.ts": 'export * from "@emanet/engine";' },
    keeps: { "sdks/typescript/src/b.ts": 'export * from "./c.ts";' },
  },
  "layer agent": {
    breaks: { "packages/agent/src/a.ts": 'const a = await import("@emanet/server");' },
    keeps: { "packages/agent/src/b.ts": 'import "@emanet/engine";' },
  },
  "layer dashboard": {
    breaks: { "packages/dashboard/src/a.ts": 'let a: import("@emanet/engine").A;' },
    keeps: { "packages/dashboard/src/b.ts": 'import "./c.ts";' },
  },
  "layer config": {
    breaks: { [`${server}/config.ts`]: 'import "./start.ts";\nimport "./kernel/a.ts";' },
    keeps: { "packages/agent/src/config.ts": 'import "./b.ts";' },
  },
  "layer kernel": {
    breaks: {
      [`${server}/kernel/a.ts`]: 'import "../applications/index.ts";',
      [`${server}/kernel/b.ts`]: 'import type { A } from "../main.ts";',
    },
    keeps: { [`${server}/kernel/c.ts`]: 'import "../config.ts";\nimport "@emanet/storage";' },
  },
  "layer domain": {
    breaks: { [`${server}/accounts/a.ts`]: 'import "../start.ts";' },
    keeps: {
      [`${server}/accounts/b.ts`]: 'import "../kernel/tx.ts";\nimport "../config.ts";\nimport "@emanet/engine";',
      [`${server}/accounts/a.test.ts`]: 'import "../start.ts";',
    },
  },
  "layer composition": {
    breaks: { [`${server}/start.ts`]: 'import "@emanet/agent";' },
    keeps: { [`${server}/main.ts`]: 'import "./kernel/tx.ts";\nimport "./accounts/index.ts";' },
  },
  "layer bench": {
    breaks: { "bench/a.ts": 'import "../packages/dashboard/src/a.ts";' },
    keeps: { "bench/b.ts": 'import "../packages/server/src/accounts/store.ts";\nimport "../tools/a.ts";' },
  },
  "layer declarations": {
    breaks: { [`${server}/declarations.ts`]: 'import "./start.ts";' },
    keeps: { [`${server}/declarations.ts`]: 'import "./kernel/a.ts";\nimport "./accounts/scopes.ts";' },
  },
  declarations: {
    breaks: { [`${server}/declarations.ts`]: 'import "./accounts/index.ts";' },
    keeps: { [`${server}/declarations.ts`]: 'import "./accounts/scopes.ts";' },
  },
  "domain order": {
    breaks: { [`${server}/messages/a.ts`]: 'import "../applications/index.ts";' },
    keeps: {
      [`${server}/applications/a.ts`]: 'import "../messages/index.ts";\nimport "./b.ts";',
      [`${server}/messages/a.test.ts`]: 'import "../applications/store.ts";',
    },
  },
  "domain index": {
    breaks: {
      [`${server}/applications/a.ts`]: 'import "../messages/store.ts";',
      [`${server}/applications/b.ts`]: 'import "../messages/parts/index.ts";',
      [`${server}/main.ts`]: 'import "./messages/store.ts";',
    },
    keeps: {
      [`${server}/start.ts`]: 'import "./accounts/index.ts";\nimport "./accounts/endpoints/index.ts";',
      "tools/a.ts": 'import "../packages/server/src/applications/store.ts";',
    },
  },
  "domain list": {
    breaks: {
      [`${server}/unheard/a.test.ts`]: 'import "./a.ts";',
      [`${server}/start.ts`]: 'import "./unheard/index.ts";',
    },
    keeps: {
      [`${server}/accounts/a.ts`]: 'import "../kernel/a.ts";',
      [`${server}/testing/a.ts`]: 'import "./b.ts";',
    },
  },
  "endpoint imports": {
    breaks: {
      [`${server}/accounts/a.ts`]: 'import "./endpoints/b.ts";',
      [`${server}/accounts/endpoints/a.ts`]: 'import "./b.ts";',
    },
    keeps: {
      [`${server}/accounts/endpoints/index.ts`]: 'import "./b.ts";',
      [`${server}/accounts/endpoints/b.test.ts`]: 'import "./b.ts";',
    },
  },
  "endpoint list": {
    breaks: { [`${server}/accounts/endpoints/a.ts`]: "" },
    keeps: {
      [`${server}/accounts/endpoints/index.ts`]: 'import "./b.ts";',
      [`${server}/endpoints.ts`]: 'import "./accounts/endpoints/index.ts";',
    },
  },
  "test imports": {
    breaks: {
      [`${server}/kernel/a.ts`]: 'import "../testing/database.ts";',
      [`${server}/kernel/b.ts`]: 'export * from "./b.test.ts";',
      [`${server}/kernel/c.ts`]: 'import "./testing.ts";',
    },
    keeps: {
      [`${server}/kernel/a.test.ts`]: 'import "../testing/database.ts";',
      "tools/test.ts": 'import "../packages/server/src/testing/database.ts";',
    },
  },
  "package names": {
    breaks: { [`${server}/kernel/a.ts`]: 'import "../../../engine/src/index.ts";' },
    keeps: { [`${server}/kernel/b.ts`]: 'import "../config.ts";\nimport "@emanet/engine";' },
  },
  dependencies: {
    breaks: { "tools/a.ts": 'import "unheard";', [`${server}/a.test.ts`]: 'import "unheard";' },
    keeps: { "tools/b.ts": 'import "node:fs";\nimport "listed";', [`${server}/b.test.ts`]: 'import "listed";' },
  },
};

interface Planted {
  readonly file: string;
  readonly text: string;
  /** The rule and its message; absent where biome finds nothing. */
  readonly finds?: RegExp;
}

const long = "  work();\n".repeat(69);

/** Rules of biome.json and tools/biome. All are written into one checkout: each has its own path. */
export const lintCases: readonly Planted[] = [
  ...planted("syntax", "ts", /parse/, ["const a = ;"]),
  ...planted("file-size", "test.ts", /noExcessiveLinesPerFile/, [work.repeat(501)]),
  ...planted("file-size-kept", "ts", undefined, [work.repeat(500)]),
  ...planted("file-size-kept", "generated.ts", undefined, [work.repeat(501)]),
  ...planted("function-size", "ts", /plugin .*70 lines/, [
    `export function long() {\n${long}}\n`,
    `export const long = () => {\n${long}};\n`,
    `export class A {\n  readonly b = 1;\n  c() {\n${long}  }\n}\n`,
    `export const a = { b() {\n${long}} };\n`,
  ]),
  ...planted("function-size", "test.ts", /plugin .*70 lines/, [`test("a", () => {\n${long}});\n`]),
  ...planted("function-size-kept", "ts", undefined, [
    `export function fits() {\n${long.replace("\n  work();", "")}}\n`,
  ]),
  ...planted("function-size-kept", "test.ts", undefined, [
    `describe("a", () => {\n${'  test("b", () => {});\n'.repeat(100)}});\n`,
  ]),
  ...planted("function-size-kept", "generated.ts", undefined, [`export function long() {\n${long}}\n`]),
  ...planted("environment", "ts", /plugin .*add a setting/, ["\nf(process.env.A);", 'f(process["env"]);']),
  { file: "packages/engine-cli/src/run.ts", text: "f(process.env);", finds: /add a setting/ },
  { file: `${server}/config.ts`, text: "f(process.env);" },
  { file: "packages/engine-cli/src/main.ts", text: 'import "node:crypto";\nf(process.env, Date.now(), new Date());' },
  ...planted("process-alias", "ts", /plugin .*alias of process/, [
    "export const { env } = process;",
    "const { exit } = process;\nexit(1);",
    "const { stdout: out } = process;\nf(out);",
  ]),
  ...planted("globals", "ts", /noRestrictedGlobals.*globalThis/, ['f(globalThis.process["env"]);', "f(globalThis);"]),
  ...planted("clock", "ts", /take a Clock|Date.now|performance.now|process.hrtime|Temporal.Now/, [
    "f(Date.now());",
    "export const { now } = Date;",
    "f(performance.now());",
    "f(Temporal.Now.instant());",
    "f(process.hrtime.bigint());",
    "f(new Date());",
    "f(Date());",
  ]),
  ...planted("clock-kept", "ts", undefined, ["f(new Date(0), Date.parse(a), clock.now());"]),
  ...planted("clock-kept", "test.ts", undefined, ["f(Date.now(), new Date(), process.env);"]),
  {
    file: `${server}/kernel/clock.ts`,
    text: 'import { randomBytes } from "node:crypto";\nf(randomBytes, new Date(), Date.now());',
  },
  { file: "bench/clock-kept.ts", text: "f(performance.now());" },
  ...planted("randomness", "ts", /Take a Random|Do not use/, [
    "f(Math.random());",
    'import { createHash, randomBytes as r } from "node:crypto";\nf(createHash, r);',
    'import crypto from "node:crypto";\nf(crypto);',
    "f(crypto.randomUUID());",
    "f(nodeCrypto.randomBytes(2));",
    "f(crypto.getRandomValues(a));",
  ]),
  ...planted("randomness-kept", "ts", undefined, [
    'import { createHash } from "node:crypto";\nf(createHash, random.bytes(2), Math.max(1, 2));',
  ]),
  ...planted("console", "test.ts", /noConsole/, ['console.log("a");']),
  { file: "tools/console-kept.ts", text: 'console.log("a");\nprocess.exit(1);\nprocess.stdout.write("a");' },
  ...planted("exit", "ts", /plugin .*let main\.ts decide/, ["process.exit(1);", "process.abort();"]),
  ...planted("exit", "test.ts", /plugin .*let main\.ts decide/, ["process.exit(1);"]),
  { file: `${server}/main.ts`, text: 'process.stdout.write("a");\nprocess.exit(1);' },
  ...planted("output", "ts", /plugin .*return the text/, ['process.stdout.write("a");', 'process.stderr.write("a");']),
  ...planted("output-kept", "test.ts", undefined, ['process.stdout.write("a");']),
  { file: `${server}/kernel/log.ts`, text: 'process.stderr.write("a");' },
  ...planted("process-import", "ts", /noRestrictedImports.*global process/, [
    'import { env } from "node:process";\nf(env);',
  ]),
  ...planted("language", "ts", /noDefaultExport/, ["export default 1;"]),
  ...planted("language-enum", "ts", /noEnum/, ["export enum A {\n  B = 1,\n}"]),
  ...planted("language-any", "ts", /noExplicitAny/, ["export const a: any = 1;"]),
  ...planted("language-null", "ts", /noNonNullAssertion/, ["f(a!);"]),
  ...planted("language-definite", "ts", /plugin .*definite/, [
    "export let a!: string;",
    "export class A {\n  b!: string;\n}",
  ]),
  ...planted("language-import", "ts", /plugin .*import type/, [
    'export let a: import("./b.ts").A;',
    'export type A = Map<import("./b.ts").A, 1>;',
  ]),
  ...planted("classes", "ts", /plugin .*without state/, ["export class A {\n  c() {}\n  static b = 1;\n}"]),
  ...planted("classes-kept", "ts", undefined, [
    "export class A {\n  readonly b = 1;\n}\nexport class C {\n  readonly d: number;\n}\nexport class E extends Error {}",
  ]),
  { file: "packages/engine/src/classes-kept.d.ts", text: "declare class A {\n  b(): void;\n}" },
  ...planted("errors", "ts", /plugin .*error is ignored/, ["try {\n  f();\n} catch {}", "f().catch(() => {});"]),
  ...planted("errors-kept", "ts", undefined, [
    "try {\n  f();\n} catch {\n  // It is gone, which is what was wanted.\n}",
    "f().catch((error) => log(error));\ntry {\n  f();\n} catch (error) {\n  g(error);\n}",
  ]),
  ...planted("tests", "test.ts", /noFocusedTests|noSkippedTests|plugin .*does not run/, [
    'test.only("a", () => {});',
    'describe("a", { only: true }, () => {});',
    'test.skip("a", () => {});',
    'test("a", { skip: true }, () => {});',
    'test.todo("a");',
    'test("a", (t) => {\n  t.skip();\n});',
  ]),
  ...planted("tests-kept", "test.ts", undefined, [
    'test("only one", (t) => t.skip("no browser here"));',
    'test("a", { skip: linux ? false : "needs Linux" }, () => {});',
  ]),
  { file: "tools/cycle-a.ts", text: 'import "./cycle-b.ts";', finds: /noImportCycles/ },
  { file: "tools/cycle-b.ts", text: 'import type { C } from "./cycle-c.ts";\nf<C>();', finds: /noImportCycles/ },
  { file: "tools/cycle-c.ts", text: 'export * from "./cycle-a.ts";\nexport type C = 1;', finds: /noImportCycles/ },
  ...planted("dependencies", "ts", /noUndeclaredDependencies/, [
    'import "pg/lib/x.js";',
    'import "@emanet/engine";',
    'import "listed";',
  ]),
  ...planted("dependencies-kept", "test.ts", undefined, ['import "listed";']),
];

/** Files of the kernel: `<name>-<n>.<ending>`. */
function planted(name: string, ending: string, finds: RegExp | undefined, texts: readonly string[]): Planted[] {
  return texts.map((text, index) => ({
    file: `${server}/kernel/${name}-${index}.${ending}`,
    text,
    ...(finds === undefined ? {} : { finds }),
  }));
}
