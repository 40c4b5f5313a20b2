/** The client as it is published: one file without dependencies, and types that pass in a project of a user's own. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, readFile, realpath, writeFile } from "node:fs/promises";
import path from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { temporaryFolder } from "../../packages/server/src/testing/temporary-folder.ts";
import { buildClient } from "../../tools/sdk.ts";

const run = promisify(execFile);
const root = path.resolve(import.meta.dirname, "../..");
const project = await temporaryFolder({ after });
const installed = path.join(project, "node_modules", "@emanet", "client");
const size = await buildClient(path.join(installed, "dist"));
await writeFile(
  path.join(installed, "package.json"),
  await readFile(path.join(root, "sdks/typescript/package.json"), "utf8"),
);

const program = `
import { clientCredentials, createClient, isProblem, type Member } from "@emanet/client";

const client = createClient({
  baseUrl: "https://api.emanet.example",
  credentials: clientCredentials({ clientId: "a", clientSecret: "b" }),
});

export async function emails(): Promise<string[]> {
  const found: string[] = [];
  for await (const member of client.members.list.all({ limit: 100 })) found.push(member.email);
  return found;
}

export async function find(id: string): Promise<Member | null> {
  try {
    return await client.members.get({ id });
  } catch (error) {
    if (isProblem(error, "not_found")) return null;
    throw error;
  }
}

export const rotate = (id: string, etag: string) => client.oauthClients.rotateSecret({ id }, { ifMatch: etag });
`;

/** Each is a mistake that the types must refuse. */
const mistakes = [
  "client.members.get({});",
  "client.members.get({ id: 5 });",
  'client.members.invite({ body: { email: "a@b.example", full_name: "A", role: "king" } });',
  'client.members.invite({ body: { email: "a@b.example", full_name: "A", role: "viewer", more: 1 } });',
  'client.oauthClients.rotateSecret({ id: "x" });',
  "client.nothing.get();",
  "client.account.get().then(({ no_such_field }) => no_such_field);",
];

/** The type checker's own words about a program, with the strictest settings. */
async function check(text: string, types: "node" | "dom"): Promise<string> {
  const folder = path.join(project, types);
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, "main.ts"), text);
  const compilerOptions = {
    ...{ strict: true, noEmit: true, module: "nodenext", target: "es2023", skipLibCheck: false, types: [] },
    ...{ exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, noPropertyAccessFromIndexSignature: true },
    lib: types === "dom" ? ["es2023", "dom", "dom.asynciterable"] : ["es2023"],
    ...(types === "node" && {
      types: ["node"],
      typeRoots: [path.join(root, "node_modules/@types")],
      skipLibCheck: true,
    }),
  };
  await writeFile(path.join(folder, "package.json"), JSON.stringify({ type: "module" }));
  await writeFile(path.join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["main.ts"] }));
  const tsc = await realpath(path.join(root, "node_modules/.bin/tsc"));
  return run(process.execPath, [tsc, "-p", folder], { cwd: folder }).then(
    ({ stdout }) => stdout,
    (error: Error & { stdout: string }) => error.stdout || error.message,
  );
}

test("the types pass in a strict project, with those of Node and with those of browsers", async () => {
  assert.equal(await check(program, "node"), "");
  assert.equal(await check(program, "dom"), "");
});

test("the types refuse wrong calls", async () => {
  const found = await check(`${program}\n${mistakes.join("\n")}`, "dom");
  const first = program.split("\n").length + 1;
  for (const [at, mistake] of mistakes.entries())
    assert.match(found, new RegExp(`main\\.ts\\(${first + at},`), mistake);
});

test("the file imports nothing, and its size is printed", async (t) => {
  const text = await readFile(path.join(installed, "dist", "index.js"), "utf8");
  assert.doesNotMatch(text, /^\s*import\b|\brequire\(|from "/m);
  t.diagnostic(`${size.bytes} bytes; minified ${size.minifiedBytes}; with Brotli ${size.brotliBytes}`);
  // A page loads it before anything is shown.
  assert.ok(size.brotliBytes < 10_000, `${size.brotliBytes} bytes`);
});
