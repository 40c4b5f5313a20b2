/**
 * `npm run bench:agent`: the agent and a service of its own on this machine, with a line between them that delays every byte.
 *
 *   npm run --silent bench:agent -- [--taxpayers 300] [--files 200] [--changed 20] [--delay 30]   nights of an office, one snapshot per taxpayer
 *   npm run --silent bench:agent -- --many 1000000      so many files, in folders of 1000 and in one folder, and a tenth of them before: peak memory
 *                                                       [--one-folder] only in one folder, [--scan] with a bar, which counts the files first
 *   npm run --silent bench:agent -- --bytes 200000000 [--rounds 5] [--also COMMAND]   first backups of so many bytes that do not compress, without delay and
 *                                                       with it; with --also in turns with another agent, a file that `tools/bundle-agent.ts` made
 * `--agent COMMAND` runs such an agent instead of this one.
 *
 * Prints wall and CPU times of the first night, of a night on which some changed, and of a quiet one; and the peak memory of agent and service. CPU times are
 * those of the agent, of the service and of its database, with what it did in the background meanwhile; before each night the benchmark waits until nothing is
 * done in the background. `--profile DIR` writes CPU profiles of the agent and of the service.
 */

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { httpsFetch } from "../../packages/agent/src/api/https-fetch.ts";
import { sandboxSettings, startMain } from "../../packages/server/src/testing/main-process.ts";
import { clientCredentials, createClient } from "../../sdks/typescript/src/index.ts";
import { unlimited } from "../../tests/crash/testing/service-under-test.ts";
import { bundleAgent } from "../../tools/bundle-agent.ts";
import { cpuOfTree } from "../end-to-end/process-tree.ts";
import { type DelayedLine, startDelayedLine } from "./delayed-line.ts";

const { values } = parseArgs({
  options: {
    taxpayers: { type: "string", default: "300" },
    files: { type: "string", default: "200" },
    changed: { type: "string", default: "20" },
    delay: { type: "string", default: "30" },
    many: { type: "string" },
    "one-folder": { type: "boolean", default: false },
    scan: { type: "boolean", default: false },
    bytes: { type: "string" },
    rounds: { type: "string", default: "5" },
    also: { type: "string" },
    agent: { type: "string" },
    profile: { type: "string" },
    help: { type: "boolean", short: "h", default: false },
  },
});

const help = `npm run --silent bench:agent -- [options]

  --taxpayers N --files N --changed N   nights of an office: one snapshot per taxpayer (default 300, 200, 20)
  --delay MS         between agent and service (default 30)
  --many N           memory with N files in folders of 1000 and in one folder, and with a tenth of them before
  --one-folder       with --many: only in one folder
  --scan             with --many: with a bar, which counts the files first
  --bytes N          first backups of N bytes that do not compress, without delay and with it
  --rounds N         with --bytes (default 5)
  --also COMMAND     with --bytes: in turns with another agent
  --agent COMMAND    another agent in place of this one
  --profile DIR      writes CPU profiles of agent and service`;

if (values.help) {
  console.log(help);
  process.exit(0);
}

/** The file cache takes only files that changed a while before a backup. */
const oldSeconds = 1_700_000_000;

const profileOptions = values.profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${values.profile}`];

/** The background is idle when it needs less than this share of a core. */
const idleShare = 0.05;

/** Of a file of `--bytes`. */
const lineFileBytes = 5_000_000;

/** Between two looks at the sizes of agent and service. */
const sizesEveryMs = 1000;

const folder = mkdtempSync(path.join(tmpdir(), "emanet-agent-"));
const cleanups: (() => unknown)[] = [];
/** Folders that exist. */
const made = new Set<string>();
try {
  await main();
} finally {
  for (const cleanup of cleanups.reverse()) await cleanup();
  rmSync(folder, { recursive: true, force: true });
}

async function main(): Promise<void> {
  const service = await startService();
  const line = await startDelayedLine(Number(new URL(service.url).port), Number(values.delay) / 2);
  cleanups.push(() => line.close());
  const url = `https://127.0.0.1:${line.port}`;
  const agent = await makeAgent(service, url, values.agent ?? (await bundleAgent(path.join(folder, "agent"))));
  if (values.bytes !== undefined) {
    const agents = { agent, ...(values.also !== undefined && { also: await makeAgent(service, url, values.also) }) };
    return firstBackups(service, line, agents, Number(values.bytes));
  }
  if (values.many !== undefined) return manyFiles(service, agent, Number(values.many));
  await nights(service, agent);
}

interface Service {
  readonly url: string;
  readonly caFile: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly pid: number;
}

async function startService(): Promise<Service> {
  const data = path.join(folder, "data");
  const after = (work: () => unknown) => void cleanups.push(work);
  const main = startMain(
    { after },
    { nodeOptions: profileOptions, settings: { ...sandboxSettings(data), ...unlimited, EMANET_LOG_LEVEL: "warn" } },
  );
  const url = await main.ready();
  // A process that is killed writes no profile.
  if (values.profile !== undefined)
    cleanups.push(async () => {
      main.signal("SIGTERM");
      await main.ended();
    });
  const first = JSON.parse(readFileSync(path.join(data, "first-run.json"), "utf8")) as {
    ca_file: string;
    demo: { client_id: string; client_secret: string };
  };
  const { client_id: clientId, client_secret: clientSecret } = first.demo;
  return { url, caFile: path.resolve(data, first.ca_file), clientId, clientSecret, pid: main.pid };
}

type Agent = (...args: readonly string[]) => Promise<{
  seconds: number;
  cpuSeconds: number;
  peakMib: number;
  seen: readonly Sizes[];
  last: Record<string, unknown>;
}>;

/** Resident sizes in MiB, some seconds apart. */
interface Sizes {
  readonly agent: number;
  readonly service: number;
}

async function makeAgent(service: Service, url: string, command: string): Promise<Agent> {
  const env = {
    ...{ PATH: process.env.PATH, HOME: folder, EMANET_URL: url, EMANET_CA_FILE: service.caFile },
    ...{ EMANET_CLIENT_ID: service.clientId, EMANET_CLIENT_SECRET: service.clientSecret },
  };
  return async (...args) => {
    const began = performance.now();
    const quiet = values.scan ? [] : ["--quiet"];
    const child = spawn(process.execPath, [...profileOptions, command, ...args, "--json", ...quiet], {
      env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    let [stdout, peakMib, cpuSeconds] = ["", 0, 0];
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    const watch = setInterval(() => {
      peakMib = Math.max(peakMib, peakOf(child.pid ?? 0));
      cpuSeconds = Math.max(cpuSeconds, cpuOfTree(child.pid ?? 0).all);
    }, 100);
    const seen: Sizes[] = [];
    const look = setInterval(() => {
      seen.push({ agent: residentOf(child.pid ?? 0), service: residentOf(service.pid) });
    }, sizesEveryMs);
    const [code] = await once(child, "close");
    clearInterval(watch);
    clearInterval(look);
    if (code !== 0) throw new Error(`${args.join(" ")} ended with ${String(code)}: ${stdout.slice(-500)}`);
    const last = JSON.parse(stdout.trim().split("\n").at(-1) ?? "{}") as Record<string, unknown>;
    return { seconds: (performance.now() - began) / 1000, cpuSeconds, peakMib, seen, last };
  };
}

/** The largest resident size of a process so far, in MiB. */
function peakOf(pid: number): number {
  return sizeOf(pid, /VmHWM:\s+(\d+)/);
}

function residentOf(pid: number): number {
  return sizeOf(pid, /VmRSS:\s+(\d+)/);
}

function sizeOf(pid: number, pattern: RegExp): number {
  try {
    return Number(pattern.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024;
  } catch {
    // It has just ended.
    return 0;
  }
}

/** The largest sizes in each tenth of the time. */
function tenths(seen: readonly Sizes[], which: keyof Sizes): string {
  const largest = (tenth: number) => {
    const [from, to] = [tenth, tenth + 1].map((each) => Math.floor((seen.length * each) / 10));
    return Math.max(...seen.slice(from, to).map((sizes) => sizes[which]));
  };
  return Array.from({ length: 10 }, (_, tenth) => largest(tenth).toFixed(0)).join(" ");
}

/** Waits until the service does nothing. */
async function idle({ pid }: Service): Promise<void> {
  for (let before = cpuOfTree(pid).all; ; ) {
    await sleep(2000);
    const now = cpuOfTree(pid).all;
    if ((now - before) / 2 < idleShare) return;
    before = now;
  }
}

async function nights(service: Service, agent: Agent): Promise<void> {
  const [taxpayers, files, changed] = [Number(values.taxpayers), Number(values.files), Number(values.changed)];
  const transport = httpsFetch({ ca: readFileSync(service.caFile, "utf8"), userAgent: "bench" });
  const client = createClient({
    baseUrl: service.url,
    credentials: clientCredentials(service),
    platform: { fetch: transport.fetch },
  });
  const office = path.join(folder, "e-defter");
  const numbers = Array.from({ length: taxpayers }, (_, i) => taxNumber(i));
  for (const tax_id of numbers) await client.taxpayers.create({ body: { name: `Mükellef ${tax_id}`, tax_id } });
  transport.close();
  for (const number of numbers)
    for (let i = 0; i < files; i++)
      writeOld(
        path.join(office, "Luca", number, `${Math.floor(i / 50)}`, `${i}.xml`),
        `<a n="${number}" i="${i}">${"<satır/>".repeat(100)}</a>`,
      );
  const night = async (name: string) => {
    await idle(service);
    const before = cpuOfTree(service.pid);
    const { seconds, cpuSeconds, peakMib, last } = await agent(
      ...(["backup", office, "--source", "e-defter", "--per-taxpayer"] as const),
    );
    const after = cpuOfTree(service.pid);
    await idle(service);
    const inAll = cpuOfTree(service.pid);
    const cpu = [
      `CPU: agent ${cpuSeconds.toFixed(1)}`,
      `service ${(after.own - before.own).toFixed(1)}`,
      `database ${(after.all - after.own - before.all + before.own).toFixed(1)}`,
      `afterwards ${(inAll.all - after.all).toFixed(1)} s`,
    ].join(", ");
    const sent = `${((last.new_bytes as number) / 1e6).toFixed(1)} MB`;
    console.log(
      `${name.padEnd(24)} ${seconds.toFixed(1).padStart(7)} s  ${cpu}  ${peakMib.toFixed(0).padStart(5)} MiB agent  ${peakOf(service.pid).toFixed(0).padStart(5)} MiB service  ${sent} sent`,
    );
  };
  console.log(`${taxpayers} taxpayers with ${files} files each, ${values.delay} ms of round trip`);
  await night("first night");
  await night("second night");
  await night("quiet night");
  for (const number of numbers.slice(0, changed))
    writeOld(path.join(office, "Luca", number, "0", "0.xml"), `<b n="${number}"/>`, 1000);
  await night(`night, ${changed} changed`);
  await night("quiet night");
}

/** Wall and CPU seconds of first backups, in turns: other work on the machine meets all of them. */
async function firstBackups(
  service: Service,
  line: DelayedLine,
  agents: Record<string, Agent>,
  bytes: number,
): Promise<void> {
  const rows = new Map<string, { seconds: number; agentCpu: number; serviceCpu: number }[]>();
  for (let round = 0; round < Number(values.rounds); round++)
    for (const delayMs of [0, Number(values.delay)])
      for (const [name, agent] of Object.entries(agents)) {
        const from = path.join(folder, "from");
        mkdirSync(from);
        for (let written = 0, i = 0; written < bytes; written += lineFileBytes, i++)
          writeFileSync(path.join(from, `${i}.bin`), randomBytes(Math.min(lineFileBytes, bytes - written)));
        await idle(service);
        line.setDelay(delayMs / 2);
        const before = cpuOfTree(service.pid).all;
        const { seconds, cpuSeconds } = await agent("backup", from, "--source", `line ${name} ${delayMs} ${round}`);
        const serviceCpu = cpuOfTree(service.pid).all - before;
        const key = `${delayMs} ms, ${name}`;
        rows.set(key, [...(rows.get(key) ?? []), { seconds, agentCpu: cpuSeconds, serviceCpu }]);
        console.log(
          `${key}: ${seconds.toFixed(1)} s, CPU ${cpuSeconds.toFixed(1)} s agent, ${serviceCpu.toFixed(1)} s service`,
        );
        rmSync(from, { recursive: true });
      }
  for (const [key, runs] of [...rows].sort())
    for (const which of ["seconds", "agentCpu", "serviceCpu"] as const) {
      const sorted = runs.map((run) => run[which]).sort((a, b) => a - b);
      const [least, median] = [sorted[0] ?? 0, sorted[Math.floor(sorted.length / 2)] ?? 0];
      console.log(`${key}, ${which}: median ${median.toFixed(1)}, least ${least.toFixed(1)}`);
    }
}

/** The same with a tenth of the files shows whether the memory of the service grows with their number. */
async function manyFiles(service: Service, agent: Agent, most: number): Promise<void> {
  const shapes = { "folders of 1000": (i: number) => `${Math.floor(i / 1000)}`, "one folder": () => "tek" };
  for (const [shape, folderOf] of Object.entries(shapes).slice(values["one-folder"] ? 1 : 0))
    for (const count of [most / 10, most]) {
      const from = path.join(folder, `${shape} ${count}`);
      for (let i = 0; i < count; i++)
        writeOld(path.join(from, folderOf(i), `fatura-${String(i).padStart(8, "0")}.xml`), `<a>${i}</a>`);
      for (const name of ["first backup", "again"]) {
        await idle(service);
        resetPeak(service.pid);
        const { seconds, peakMib, seen } = await agent("backup", from, "--source", `${shape} ${count}`);
        console.log(
          `${count} files in ${shape}, ${name}: ${seconds.toFixed(1)} s, peak ${peakMib.toFixed(0)} MiB agent, ${peakOf(service.pid).toFixed(0)} MiB service`,
        );
        if (seen.length >= 10)
          console.log(`  most in each tenth: agent ${tenths(seen, "agent")}, service ${tenths(seen, "service")} MiB`);
      }
      rmSync(from, { recursive: true });
    }
}

/** The largest size is counted from now on. */
function resetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
}

function writeOld(file: string, content: string, later = 0): void {
  const inside = path.dirname(file);
  if (!made.has(inside)) mkdirSync(inside, { recursive: true });
  made.add(inside);
  writeFileSync(file, content);
  utimesSync(file, oldSeconds + later, oldSeconds + later);
}

/** The i-th tax number of a firm with a right check digit. */
function taxNumber(i: number): string {
  const digits = Array.from(String(100_000_000 + i * 7919), Number);
  const sum = digits.reduce((total, digit, at) => {
    const t = (digit + 9 - at) % 10;
    return total + (t === 9 ? 9 : (t * 2 ** (9 - at)) % 9);
  }, 0);
  return `${digits.join("")}${(10 - (sum % 10)) % 10}`;
}
