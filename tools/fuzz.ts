/**
 * Runs the fuzzer Schemathesis against the real service: every operation of `openapi.json`, as an
 * owner, as staff and without a token. It fails on a server error and on any answer that the document does not have.
 *
 * Usage: `node tools/run.mjs tools/fuzz.ts [--seconds=N] [--caller=owner|staff|anonymous|leaving] [--seed=N]`; the seconds are for all callers together.
 */

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { policyNames } from "../packages/server/src/declarations.ts";
import { apiDocument } from "../packages/server/src/endpoints.ts";
import { codeAt } from "../packages/server/src/identity/factors/totp.ts";
import type { JsonObject } from "../packages/server/src/kernel/http/openapi.ts";
import { type Client, clientOf, sandboxSettings, startMain } from "../packages/server/src/testing/main-process.ts";
import { type FirstRunFile, type Login, readFirstRun } from "../packages/server/src/testing/people.ts";

const root = path.resolve(import.meta.dirname, "..");

/** The same requests every time, so that a finding can be repeated; others with `--seed`. */
const defaultSeed = 20261116;

/** For all callers together. */
const defaultSeconds = 120;

/** Beyond its share of the time a caller gets this long to read the document and to end its last requests. */
const graceSeconds = 60;

/**
 * Left out: `negative_data_rejection` and `positive_data_acceptance` (rules outside the schema decide too:
 * check digits, states, the caller), `missing_required_header` (it expects other 4xx codes than ours), `unsupported_method` and
 * `allow_header_conformance` (the kernel's own tests ask every address with every method), `ignored_auth`,
 * `use_after_free`, `ensure_resource_availability` and `object_level_authorization` (`tests/access` asks every operation,
 * with people who have rows).
 */
const checks = [
  ...["not_a_server_error", "status_code_conformance", "content_type_conformance"],
  ...["response_headers_conformance", "response_schema_conformance"],
];

interface Caller {
  readonly name: string;
  readonly login: Login | null;
  /** Of the time of all callers. */
  readonly share: number;
  /** Operations of the document that it calls. */
  readonly calls: (operationId: string) => boolean;
  /** Whether its token must still be good at the end: else the rest was no test of the operations. */
  readonly staysSignedIn: boolean;
}

/** They end the session whose token all requests use, so they run separately and as `anonymous`. */
const endSessions = ["auth.logout", "sessions.end"];
/** It ages every token. */
const moveClock = "sandbox.move_clock";
/** The fuzzer cuts the megabytes of the document short in its records, and then fails on its own cut. */
const tooLarge = "docs.yaml";

const conditions = { type: "string", enum: ["*", '"x"', 'W/"x"', '"x", W/"y,z"'] };
const headerForms: Readonly<Record<string, object>> = {
  "If-Match": conditions,
  "If-None-Match": conditions,
  "Idempotency-Key": { type: "string", pattern: "^[a-z0-9]{12}$" },
};

/** The last step of time whose code was used, by e-mail: each is good once, and one ahead is accepted. */
const usedSteps = new Map<string, number>();
const stepMs = 30_000;

/** What the owner has, by the path of its kind. Operations on one object would find none by an id that is made up. */
const objects: readonly (readonly [path: string, body: object])[] = [
  ["/v1/vaults", { name: "Muhasebe" }],
  ["/v1/sources", { name: "sunucu" }],
  ["/v1/taxpayers", { name: "Deniz Örnek", tax_id: "1234567808" }],
];

const unknownId = "0199c0de-0000-7000-8000-00000000dead";

if (import.meta.main) process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  const seconds = Number(
    args.find((arg) => arg.startsWith("--seconds="))?.slice("--seconds=".length) ?? defaultSeconds,
  );
  const { stdout } = await promisify(execFile)(path.join(root, "tools/fuzz/install.sh"), { cwd: root });
  const ends: (() => unknown)[] = [];
  const dataDir = await mkdtemp(path.join(tmpdir(), "emanet-fuzz-"));
  const service = startMain({ after: (end) => void ends.push(end) }, { settings: settings(dataDir) });
  try {
    await service.ready();
    const target = await targetOf(dataDir, stdout.trim());
    const only = args.find((arg) => arg.startsWith("--caller="))?.slice("--caller=".length);
    const callers = callersOf(await readFirstRun(dataDir)).filter(({ name }) => only === undefined || name === only);
    let failed = 0;
    for (const caller of callers) failed += await fuzz(target, caller, Math.ceil(seconds * caller.share));
    if (failed > 0) console.error(serverErrors(service.stderr()));
    return failed > 0 ? 1 : 0;
  } catch (error) {
    console.error(service.stderr().slice(-2_000));
    throw error;
  } finally {
    // First with a word, so that its database ends before its folder goes.
    service.signal("SIGTERM");
    await service.ended();
    for (const end of ends) await end();
    await rm(dataDir, { recursive: true, force: true });
  }
}

/** A sandbox in which nothing is refused for being too much. */
function settings(dataDir: string): Record<string, string> {
  const plenty = "1000000/1";
  const limits = [...policyNames, "lockout"].map((name) => [`EMANET_LIMIT_${name.toUpperCase()}`, plenty]);
  return { ...sandboxSettings(dataDir), ...Object.fromEntries(limits), EMANET_LIMIT_SUSPICIOUS: "500000" };
}

interface Target {
  readonly client: Client;
  readonly document: string;
  readonly caFile: string;
  readonly command: string;
}

async function targetOf(dataDir: string, command: string): Promise<Target> {
  const { ca_file: caFile, demo } = await readFirstRun(dataDir);
  const document = path.join(dataDir, "openapi-for-fuzzing.json");
  const client = await clientOf(dataDir);
  await writeFile(document, forFuzzing(withKnownIds(apiDocument({ complete: true }), await makeObjects(client, demo))));
  return { client, document, caFile: path.resolve(dataDir, caFile), command };
}

async function makeObjects(client: Client, login: Login): Promise<ReadonlyMap<string, string>> {
  const headers = { authorization: `Bearer ${await signIn(client, login)}` };
  const ids = new Map<string, string>();
  for (const [target, json] of objects) {
    const answer = await client.send("POST", target, { json, headers });
    if (answer.status !== 201) throw new Error(`fuzz: ${target} answered ${answer.status} ${answer.body}`);
    ids.set(target, (JSON.parse(answer.body.toString()) as { id: string }).id);
  }
  return ids;
}

/** Names the ids of these objects in the paths of their operations, beside one that nothing has. */
function withKnownIds(document: JsonObject, ids: ReadonlyMap<string, string>): object {
  const paths = Object.entries(document.paths as Readonly<Record<string, Record<string, object>>>);
  const named = paths.map(([place, methods]) => {
    const id = ids.get(place.slice(0, place.indexOf("/{id}")));
    if (id === undefined) return [place, methods];
    const text = JSON.stringify(methods, (_key, value: unknown) => {
      const { in: part, name } = (value ?? {}) as { in?: unknown; name?: unknown };
      const isId = part === "path" && name === "id";
      return isId ? { ...(value as object), schema: { type: "string", enum: [id, unknownId] } } : value;
    });
    return [place, JSON.parse(text)];
  });
  return { ...document, paths: Object.fromEntries(named) };
}

/** Patterns of free text ("anything but control characters"): its length says enough, and much is refused anyway. */
function isAnyText(value: unknown): boolean {
  return typeof value === "string" && /^\^(\[\^|\(\?=)/.test(value);
}

/**
 * The complete document, pages included, as it is easiest for the fuzzer, which goes through all of it again and again and makes texts of a pattern
 * by trying: without words and examples, free text without a pattern, and headers with their few forms named. As it is,
 * one request took up to 25 s.
 */
function forFuzzing(complete: object): string {
  return JSON.stringify(complete, (key, value: unknown) => {
    if (key === "examples" || (key === "pattern" && isAnyText(value))) return undefined;
    if ((key === "description" || key === "summary") && typeof value === "string") return "-";
    const { in: place, name } = (value ?? {}) as { in?: unknown; name?: unknown };
    const schema = place === "header" ? headerForms[String(name)] : undefined;
    return schema === undefined ? value : { ...(value as object), schema };
  });
}

function callersOf({ demo, staff }: FirstRunFile): readonly Caller[] {
  const usual = (id: string) => id !== tooLarge && id !== moveClock && !endSessions.includes(id);
  return [
    { name: "owner", login: demo, share: 0.4, calls: usual, staysSignedIn: true },
    { name: "staff", login: staff, share: 0.3, calls: usual, staysSignedIn: true },
    { name: "anonymous", login: null, share: 0.25, calls: (id) => id !== tooLarge, staysSignedIn: false },
    { name: "leaving", login: demo, share: 0.05, calls: (id) => endSessions.includes(id), staysSignedIn: false },
  ];
}

/** How many findings there were, in words of the fuzzer; 1 also when the caller was signed out on the way. */
async function fuzz({ client, document, caFile, command }: Target, caller: Caller, seconds: number): Promise<number> {
  const token = caller.login === null ? null : await signIn(client, caller.login);
  const { paths } = JSON.parse(await readFile(document, "utf8")) as {
    paths: Record<string, Record<string, Operation>>;
  };
  const ids = Object.values(paths).flatMap((methods) => Object.values(methods).map((one) => one.operationId));
  console.log(`\n-- ${caller.name}, ${seconds} s`);
  const code = await runBounded(command, seconds, [
    ...[
      "--no-color",
      "run",
      document,
      `--url=${client.url}`,
      `--tls-verify=${caFile}`,
      `--seed=${seedOf(process.argv)}`,
    ],
    ...[`--max-time=${seconds}`, `--checks=${checks.join(",")}`, "--phases=coverage,fuzzing", "--max-redirects=0"],
    // One thread: Python 3.11 fails now and then where two parse at once ("AST constructor recursion depth mismatch").
    ...["--request-timeout=30", "--workers=1", "--generation-database=none", "--warnings=off"],
    "--continue-on-failure",
    ...ids.filter((id) => !caller.calls(id)).map((id) => `--exclude-operation-id=${id}`),
    ...(token === null ? [] : [`--header=Authorization: Bearer ${token}`]),
  ]);
  if (code !== 0 || !caller.staysSignedIn) return code === 0 ? 0 : 1;
  const me = await client.send("GET", "/v1/me", { headers: { authorization: `Bearer ${token}` } });
  if (me.status === 200) return 0;
  console.error(
    `fuzz: ${caller.name} was signed out during the run (${me.status}): run the operation that did it separately`,
  );
  return 1;
}

function seedOf(args: readonly string[]): number {
  return Number(args.find((arg) => arg.startsWith("--seed="))?.slice("--seed=".length) ?? defaultSeed);
}

interface Operation {
  readonly operationId: string;
}

async function signIn(client: Client, { email, password, totp_secret: secret }: Login): Promise<string> {
  const step = Math.max(Math.floor(Date.now() / stepMs), (usedSteps.get(email) ?? 0) + 1);
  usedSteps.set(email, step);
  const json = { email, password, totp_code: codeAt(secret, new Date(step * stepMs)), client: "api" };
  const answer = await client.send("POST", "/v1/auth/login", { json });
  if (answer.status !== 200) throw new Error(`the fuzzer could not sign in: ${answer.status} ${answer.body}`);
  return (JSON.parse(answer.body.toString()) as { access_token: string }).access_token;
}

/** Runs the fuzzer. One that does not end in time is stopped, and the run fails. */
async function runBounded(command: string, seconds: number, args: readonly string[]): Promise<number> {
  const hooks = path.join(root, "tools/fuzz/hooks.py");
  const env = { ...process.env, SCHEMATHESIS_HOOKS: hooks, PYTHONDONTWRITEBYTECODE: "1" };
  const child = spawn(command, args, { cwd: tmpdir(), env, stdio: ["ignore", "inherit", "inherit"] });
  const limitMs = (seconds + graceSeconds) * 1000;
  const timer = setTimeout(() => {
    console.error(`fuzz: stopped after ${limitMs / 1000} s`);
    child.kill("SIGKILL");
  }, limitMs);
  const [code] = (await once(child, "close")) as [number | null];
  clearTimeout(timer);
  return code ?? 1;
}

/** What the service itself says of its faults: the first of each operation. */
function serverErrors(stderr: string): string {
  const lines = stderr.split("\n").filter((line) => line.includes('"level":"error"'));
  const operationIn = (line: string) => /"operation":"([^"]+)"/.exec(line)?.[1] ?? line;
  return [...new Map(lines.toReversed().map((line) => [operationIn(line), line])).values()].join("\n");
}
