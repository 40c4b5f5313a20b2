/**
 * `npm run bench:limits`: the cost of rate limits. It sends the same authenticated read to three services on one database, in
 * turn: without limits, with limits counted in the process, with limits counted in Valkey or Redis. It prints medians of
 * rounds: CPU time of the service per request, and the 99th percentile of the response time. Then it measures the memory
 * of the store in the process with ten million different keys.
 *
 *   npm run bench:limits -- 5 1000     rounds, and requests in each
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import http2 from "node:http2";
import { tmpdir } from "node:os";
import path from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { policies } from "../../packages/server/src/declarations.ts";
import { createMemoryStore } from "../../packages/server/src/kernel/limits/memory-store.ts";
import type { PolicyName } from "../../packages/server/src/kernel/limits/policies.ts";
import { needs } from "../../packages/server/src/testing/needs.ts";
import { readFirstRun } from "../../packages/server/src/testing/people.ts";
import { startRedis } from "../../packages/server/src/testing/redis.ts";
import { startTestServer } from "../../tools/test-server.ts";

type Variant = "off" | "process" | "store";

interface Service {
  readonly variant: Variant;
  readonly child: ChildProcess;
  readonly session: http2.ClientHttp2Session;
  readonly authorization: string;
}

/** Targets: five per cent of CPU in the process, a millisecond of the 99th percentile with the store. */
const targets = { cpuPercent: 5, p99Ms: 1 };

/** Streams at once on the one connection. */
const concurrency = 4;
const warmUpRequests = 500;
const manyKeys = 10_000_000;

const rounds = Number(process.argv[2] ?? 9);
const requests = Number(process.argv[3] ?? 2_000);
const cleanups: (() => Promise<unknown>)[] = [];
const cleanup = { after: (undo: () => Promise<unknown>) => void cleanups.push(undo) };

try {
  await measure();
  measureMemory();
} finally {
  for (const undo of cleanups.reverse()) await undo();
}

async function measure(): Promise<void> {
  const { server, stop } = await startTestServer();
  cleanup.after(stop);
  const database = { ...server.admin, user: server.owner, database: server.template };
  const missing = (message?: string) => console.log(`store: skipped (${message})`);
  const command = needs({ skip: missing }, "redis");
  const redis = command === undefined ? undefined : await startRedis(cleanup as never, command);
  const services = [await serve("off", database), await serve("process", database)];
  if (redis) services.push(await serve("store", database, { EMANET_REDIS_URL: redis.url }));
  for (const service of services) await run(service, warmUpRequests);
  const cpu: Record<Variant, number[]> = { off: [], process: [], store: [] };
  const p99: Record<Variant, number[]> = { off: [], process: [], store: [] };
  for (let round = 0; round < rounds; round++) {
    // Each round starts with another service, so that other work on the machine affects all alike.
    const order = services.map((_, index) => services[(index + round) % services.length]);
    for (const service of order) {
      if (service === undefined) continue;
      const before = cpuMs(service);
      const times = await run(service, requests);
      cpu[service.variant].push((cpuMs(service) - before) / requests);
      p99[service.variant].push(times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? 0);
    }
  }
  report(
    services.map(({ variant }) => variant),
    cpu,
    p99,
  );
}

function report(variants: readonly Variant[], cpu: Record<Variant, number[]>, p99: Record<Variant, number[]>): void {
  console.log(`\n${rounds} rounds of ${requests} × GET /v1/account, ${concurrency} at once, medians of rounds\n`);
  console.log("| limits | CPU per request | against off | p99 | against off |\n|---|---|---|---|---|");
  const [baseCpu, baseP99] = [median(cpu.off), median(p99.off)];
  for (const variant of variants) {
    const [ownCpu, ownP99] = [median(cpu[variant]), median(p99[variant])];
    const more = ((ownCpu / baseCpu - 1) * 100).toFixed(1);
    console.log(
      `| ${variant} | ${ownCpu.toFixed(3)} ms | ${more} % | ${ownP99.toFixed(2)} ms | ${(ownP99 - baseP99).toFixed(2)} ms |`,
    );
  }
  console.log(`\ntargets: process at most ${targets.cpuPercent} % CPU; store at most ${targets.p99Ms} ms of p99`);
}

async function serve(variant: Variant, database: object, more: Record<string, string> = {}): Promise<Service> {
  const folder = await mkdtemp(path.join(tmpdir(), "emanet-bench-"));
  cleanup.after(() => rm(folder, { recursive: true, force: true }));
  const settings = {
    EMANET_PROFILE: "sandbox",
    EMANET_DATA_DIR: folder,
    EMANET_LISTEN: "127.0.0.1:0",
    EMANET_LOG_LEVEL: "silent",
    EMANET_PUBLIC_URL: "https://emanet.example",
    EMANET_MASTER_KEY: Buffer.alloc(32, 7).toString("base64"),
    EMANET_LIMIT_PACKAGE: "100000000/60",
    ...more,
  };
  const file = path.join(import.meta.dirname, "serve.ts");
  const args = [
    "--disable-warning=ExperimentalWarning",
    file,
    variant,
    JSON.stringify(settings),
    JSON.stringify(database),
  ];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  cleanup.after(async () => {
    child.kill("SIGTERM");
    await once(child, "exit");
  });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const [, url = "", caFile = ""] = line.toString().trim().split(" ");
  const session = http2.connect(url, { ca: await readFile(caFile) });
  cleanup.after(async () => session.destroy());
  const { demo } = await readFirstRun(folder);
  const form = new URLSearchParams({
    grant_type: "client_credentials",
    client_id: demo.client_id,
    client_secret: demo.client_secret,
  });
  const headers = { ":method": "POST", ":path": "/oauth2/token", "content-type": "application/x-www-form-urlencoded" };
  const { access_token: token } = JSON.parse((await send(session, headers, form.toString())).body) as {
    access_token: string;
  };
  return { variant, child, session, authorization: `Bearer ${token}` };
}

/** Milliseconds of each request. */
async function run({ session, authorization }: Service, count: number): Promise<number[]> {
  const times: number[] = [];
  let left = count;
  const work = Array.from({ length: concurrency }, async () => {
    while (left-- > 0) {
      const began = performance.now();
      const { status } = await send(session, { ":path": "/v1/account", authorization });
      if (status !== 200) throw new Error(`answered ${status}`);
      times.push(performance.now() - began);
    }
  });
  await Promise.all(work);
  return times;
}

function send(session: http2.ClientHttp2Session, headers: http2.OutgoingHttpHeaders, body?: string) {
  return new Promise<{ status: number; body: string }>((resolve, reject) => {
    const stream = session.request(headers, { endStream: body === undefined });
    let status = 0;
    let text = "";
    stream.on("response", (received) => {
      status = Number(received[":status"]);
    });
    stream.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
    stream.on("error", reject);
    stream.on("end", () => resolve({ status, body: text }));
    if (body !== undefined) stream.end(body);
  });
}

/** CPU time of the process so far, as Linux counts it. */
function cpuMs({ child }: Service): number {
  const fields = readFileSync(`/proc/${child.pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  const ticksPerSecond = 100;
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / ticksPerSecond;
}

/** Node offers it only behind a flag. */
function garbageCollector(): () => void {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc") as () => void;
}

function measureMemory(): void {
  const collectGarbage = garbageCollector();
  const store = createMemoryStore({ clock: { now: () => new Date() }, policies });
  const names: readonly PolicyName[] = ["anonymous", "login", "login_ip", "applications", "sms_hour"];
  console.log(
    `\nthe process's own store, ${manyKeys.toLocaleString("en")} different keys over ${names.length} policies`,
  );
  for (let key = 0; key <= manyKeys; key++) {
    const policy = names[key % names.length] ?? "anonymous";
    void store.decide([{ policy, key: `key ${key}`, rate: policies[policy].rate, mode: "enforce" }], "spend");
    if (key % (manyKeys / 5) !== 0) continue;
    collectGarbage();
    const { heapUsed, rss } = process.memoryUsage();
    const [held, whole] = [heapUsed, rss].map((bytes) => Math.round(bytes / 2 ** 20));
    console.log(`  ${key.toLocaleString("en")}: ${held} MiB held, ${whole} MiB with what the collector keeps`);
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
