// Makes clients from the OpenAPI document with two public generators, openapi-typescript and openapi-python-client, as
// customers do. A warning of a generator fails, and so does a client with a type per response code, or one that its
// language's own checker refuses.
//
//   node tools/run.mjs tools/generators.ts [file]        default: openapi.json
//
// The generators come from npm and PyPI at exact versions, into .cache.

import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";

const root = path.resolve(import.meta.dirname, "..");
const run = promisify(execFile);

/** Each takes some seconds of one core; this is the time on a machine with much else to do. */
const limitMs = 300_000;

/** As many as the document has statuses: a generator that finds one schema per status names it after the status. */
const typePerStatus = /\b\w*(?:Response|response_?)[1-5]\d\d\b/g;

export interface Generated {
  readonly generator: "openapi-typescript" | "openapi-python-client";
  readonly files: number;
  readonly lines: number;
  /** What the generator or the checker of the language said; empty for a clean client. */
  readonly complaints: readonly string[];
}

if (import.meta.main) process.exitCode = await main(process.argv[2] ?? path.join(root, "openapi.json"));

async function main(file: string): Promise<number> {
  const clients = await generateClients(path.resolve(file));
  for (const { generator, files, lines, complaints } of clients) {
    console.log(`${generator}: ${files} files, ${lines} lines, ${complaints.length} complaints`);
    for (const complaint of complaints) console.error(complaint);
  }
  return clients.every(({ complaints }) => complaints.length === 0) ? 0 : 1;
}

/** Runs both generators on a document. Rejects when a generator cannot be installed. */
export async function generateClients(file: string): Promise<readonly Generated[]> {
  const { stdout } = await run(path.join(root, "tools/generators/install.sh"), { cwd: root });
  const tools = stdout.trim();
  const folder = await mkdtemp(path.join(tmpdir(), "emanet-generators-"));
  try {
    return [await typescriptClient(tools, folder, file), await pythonClient(tools, folder, file)];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function typescriptClient(tools: string, folder: string, file: string): Promise<Generated> {
  const output = path.join(folder, "schema.d.ts");
  const bin = (name: string) => path.join(tools, "node_modules", ".bin", name);
  const said = await complaintsOf(process.execPath, [bin("openapi-typescript"), file, "--output", output]);
  // It prints its name, and its success in a line with an arrow.
  const warnings = said.filter((line) => !line.includes("→") && !/^\S+ openapi-typescript [\d.]+$/.test(line));
  const types = await complaintsOf(process.execPath, [
    bin("tsc"),
    "--noEmit",
    "--strict",
    "--skipLibCheck",
    "false",
    output,
  ]);
  return summary("openapi-typescript", [output], [...warnings, ...types]);
}

async function pythonClient(tools: string, folder: string, file: string): Promise<Generated> {
  const python = path.join(tools, "python", "bin");
  const output = path.join(folder, "python");
  const config = path.join(root, "tools/generators/python-client.yaml");
  const args = ["generate", "--path", file, "--output-path", output, "--config", config, "--fail-on-warning"];
  // The generator formats its output with programs that it looks for on the PATH.
  const env = { ...process.env, PATH: `${python}${path.delimiter}${process.env.PATH ?? ""}` };
  const said = await complaintsOf(path.join(python, "openapi-python-client"), args, env);
  const warnings = said.filter((line) => !line.startsWith("Generating "));
  const compiled = await complaintsOf(path.join(python, "python"), ["-m", "compileall", "-q", output]);
  const files = (await readdir(output, { recursive: true }).catch(() => [])).filter((name) => name.endsWith(".py"));
  return summary(
    "openapi-python-client",
    files.map((name) => path.join(output, name)),
    [...warnings, ...compiled],
  );
}

/** The lines that a command printed, whether it failed or not. */
async function complaintsOf(command: string, args: readonly string[], env = process.env): Promise<string[]> {
  const options = { cwd: root, env: { ...env, NO_COLOR: "1" }, timeout: limitMs, maxBuffer: 64 * 1024 * 1024 };
  const { stdout, stderr, failed } = await run(command, args, options).then(
    (output) => ({ ...output, failed: [] }),
    (error: Error & { stdout?: string; stderr?: string }) => ({
      stdout: error.stdout ?? "",
      stderr: error.stderr ?? "",
      failed: [error.message.split("\n", 1)[0] ?? "failed"],
    }),
  );
  return [...`${stdout}\n${stderr}`.split("\n").filter((line) => line.trim() !== ""), ...failed];
}

async function summary(
  generator: Generated["generator"],
  files: readonly string[],
  complaints: readonly string[],
): Promise<Generated> {
  const texts = await Promise.all(files.map((file) => readFile(file, "utf8")));
  const perStatus = new Set(texts.flatMap((text) => text.match(typePerStatus) ?? []).filter(isTypeName));
  const types = [...perStatus].map((name) => `${generator} made a type for a status: ${name}`);
  const none = texts.length === 0 ? [`${generator} made nothing`] : [];
  const lines = texts.reduce((sum, text) => sum + text.split("\n").length, 0);
  return { generator, files: files.length, lines, complaints: [...complaints, ...types, ...none] };
}

/** Types begin with a capital letter; `response_200` is a variable of the Python client. */
function isTypeName(name: string): boolean {
  return /^[A-Z]/.test(name);
}
