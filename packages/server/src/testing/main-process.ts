/** Runs the real service, `main.ts`, as a separate process, for journeys, kills and signals. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import path from "node:path";
import type { Cleanup, TestDatabase } from "./database.ts";
import { sendHttp1, sendHttp2, type TestAnswer, type TestRequest } from "./https.ts";

/** Much longer than a first start on a busy machine. */
const patienceMs = 120_000;

export interface MainOptions {
  /** Words after `main.ts`: a role, or options. */
  readonly words?: readonly string[];
  /** Options of Node, e.g. for a small heap. */
  readonly nodeOptions?: readonly string[];
  /** The whole environment, except what Node needs: settings of the test run are not inherited. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface MainProcess {
  readonly pid: number;
  /** Everything that was printed so far. */
  stdout(): string;
  stderr(): string;
  /** Waits for the line `ready …` and gives the address in it, empty for a role without one. */
  ready(): Promise<string>;
  signal(name: NodeJS.Signals): void;
  /** Whether it has ended. */
  hasEnded(): boolean;
  /** Waits for the end. */
  ended(): Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
}

/** Halves the time that each of many starts needs to read the same sources. */
const compileCache = path.join(import.meta.dirname, "../../../../.cache/compile");

/** Names the bundle of the sources, made by `tools/test.ts` for runs of many files: its processes start with less than half of the CPU time. `npm start` itself is tested in `tests/journeys`. */
export const serviceFileVariable = "EMANET_TEST_SERVICE_FILE";

/** Starts `main.ts`; killed at the end of the test if it still runs. */
export function startMain(
  cleanup: Cleanup,
  { words = [], nodeOptions = [], settings = {} }: MainOptions = {},
): MainProcess {
  const file = process.env[serviceFileVariable] ?? path.join(import.meta.dirname, "../main.ts");
  const { PATH = "", TMPDIR, HOME } = process.env;
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", ...nodeOptions, file, ...words], {
    env: { PATH, NODE_COMPILE_CACHE: compileCache, ...(TMPDIR && { TMPDIR }), ...(HOME && { HOME }), ...settings },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const printed = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      printed[name] += text;
    });
  }
  const ended = once(child, "close").then(
    ([code, signal]) => ({ code, signal }) as Awaited<ReturnType<MainProcess["ended"]>>,
  );
  cleanup.after(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  const readyPattern = /^ready(?: (\S+))?$/m;
  return {
    pid: child.pid ?? 0,
    stdout: () => printed.stdout,
    stderr: () => printed.stderr,
    async ready() {
      while (!readyPattern.test(printed.stdout)) {
        const more = Promise.race([once(child.stdout, "data"), ended]);
        await withPatience(more, () => `not ready.\n${printed.stderr}`);
        if (hasEnded()) throw new Error(`ended with ${child.exitCode ?? child.signalCode}\n${printed.stderr}`);
      }
      return readyPattern.exec(printed.stdout)?.[1] ?? "";
    },
    signal: (name) => void child.kill(name),
    hasEnded,
    ended: () => withPatience(ended, () => `did not end.\n${printed.stderr}`),
  };
}

/** Settings of a service that needs nothing from outside: its own folder, a free port, a sandbox. */
export function sandboxSettings(dataDir: string): Record<string, string> {
  return {
    EMANET_PROFILE: "sandbox",
    EMANET_DATA_DIR: dataDir,
    EMANET_LISTEN: "127.0.0.1:0",
    EMANET_LIMIT_APPLICATIONS: "1000000/60",
    EMANET_LIMIT_ANONYMOUS: "1000000/60",
    // Processes that share a database share its master key.
    EMANET_MASTER_KEY: Buffer.alloc(32, 7).toString("base64"),
  };
}

/** The URL of a test's database. */
export function databaseUrl({ target }: Pick<TestDatabase, "target">): string {
  return `postgresql://${target.user}@/${target.database}?host=${encodeURIComponent(target.host)}&port=${target.port}`;
}

/** A client that knows only the data folder of a service. */
export async function clientOf(dataDir: string): Promise<Client> {
  const text = await readFile(path.join(dataDir, "first-run.json"), "utf8");
  const { base_url: url, ca_file: caFile } = JSON.parse(text) as { base_url: string; ca_file: string };
  return clientAt(url, path.resolve(dataDir, caFile));
}

/** A client of an address; without a file of an authority in plain HTTP. */
export async function clientAt(url: string, caFile: string | null): Promise<Client> {
  const ca = caFile === null ? "" : await readFile(caFile, "utf8");
  return {
    url,
    ca,
    send: (method, target, { json, http2, ...call } = {}) => {
      const body = json === undefined ? {} : { body: JSON.stringify(json) };
      const headers = { ...(json !== undefined && { "content-type": "application/json" }), ...call.headers };
      return (http2 ? sendHttp2 : sendHttp1)(`${url}${target}`, ca, { ...call, ...body, method, headers });
    },
  };
}

export interface Client {
  readonly url: string;
  readonly ca: string;
  send(method: string, target: string, call?: ClientCall): Promise<TestAnswer>;
}

export interface ClientCall extends TestRequest {
  readonly json?: unknown;
  readonly http2?: boolean;
}

async function withPatience<T>(work: Promise<T>, message: () => string): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(message())), patienceMs);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
