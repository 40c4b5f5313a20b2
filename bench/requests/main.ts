/**
 * `npm run bench:requests`: what a request costs. Each round sends the same kinds of request to a bare server and to the
 * service, in turn, so that other work on the machine affects both alike. It prints medians of rounds: CPU time per request
 * of the server, of PostgreSQL and of the client, requests per second, statements and round trips; and the ratios that must
 * hold. The client is this process.
 *
 *   npm run bench:requests -- --rounds 5 --requests 3000     medians of so many rounds
 *   npm run bench:requests -- --only costs,half,memory,idle  some of the parts
 *   npm run bench:requests -- --cases "health;bare, no query" some kinds of request
 *   npm run bench:requests -- --profile /tmp/p               writes a CPU profile of the service there
 *   npm run bench:requests -- --durable no                   PostgreSQL without waiting for the disk, as in tests
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { withConnection } from "../../packages/server/src/kernel/database/pool.ts";
import type { SocketTarget } from "../../packages/server/src/kernel/database/target.ts";
import { startTestServer } from "../../tools/test-server.ts";
import { cases as allCases, type RequestCase, targetRatios } from "./cases.ts";
import { type Client, openClients, type Protocol, sendAll } from "./clients.ts";
import { measureHalfLoad } from "./half-load.ts";
import { whileAwake } from "./keep-awake.ts";
import { startService } from "./measured-service.ts";
import {
  countsOf,
  type MemoryReading,
  type Program,
  parentOf,
  postgresCpuMs,
  programCpuMs,
  readMemory,
  startProgram,
  stopProgram,
} from "./processes.ts";

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    requests: { type: "string", default: "3000" },
    only: { type: "string", default: "costs,half,memory,idle" },
    cases: { type: "string" },
    protocols: { type: "string", default: "http/1.1,h2" },
    profile: { type: "string" },
    durable: { type: "string", default: "yes" },
  },
});
const isDurable = options.durable === "yes";
const parts = new Set(options.only.split(","));
const protocols = (["http/1.1", "h2"] as const).filter((protocol) => options.protocols.split(",").includes(protocol));
const named = options.cases?.split(";");
const cases = allCases.filter(({ name }) => named === undefined || named.includes(name));

const commits = isDurable ? "commits wait for the disk" : "commits do not wait for the disk";

/** Connections of HTTP/1.1, or streams of one HTTP/2 connection. */
const concurrency = 16;
/** Enough for the compiler to have optimised what a request runs. */
const warmUpRequests = Number(options.requests);
/** When memory is read, in requests. The first is after everything is loaded, compiled and cached. */
const memorySteps = [20_000, 100_000, 200_000];
/** What compiled code and caches may add. A leak of 12 bytes per request is more. */
const mostHeapGrowthMib = 2;
/** Pages that the allocator keeps. */
const mostResidentGrowthMib = 40;
/** The machine is disturbed for seconds at a time, and a median over rounds ignores the minority of them. */
const halfLoadRounds = 9;
/** A minute has every recurring job of a minute once. Before it, the collector of garbage and connections come to rest. */
const idleSeconds = 60;
const restSeconds = 30;
const leastReadsPerSecond = 2_000;
const idleCpuPercent = 0.5;

interface Bench {
  readonly programs: { readonly bare: Program; readonly service: Program };
  readonly postmaster: number;
  readonly ca: string;
  readonly token: string;
  readonly noteId: string;
  readonly newToken: () => Promise<string>;
}

interface Cost {
  readonly server: number;
  readonly postgres: number;
  readonly client: number;
  readonly perSecond: number;
  readonly statements: number;
  readonly roundTrips: number;
}

const cleanups: (() => Promise<unknown>)[] = [];
try {
  const bench = await prepare();
  await whileAwake("loops", async () => {
    if (parts.has("costs")) for (const protocol of protocols) await measureCosts(bench, protocol);
  });
  if (parts.has("half")) await measureHalf(bench);
  await whileAwake("loops", async () => {
    if (parts.has("memory")) await measureMemory(bench);
  });
  if (parts.has("idle")) await measureIdle(bench);
} finally {
  for (const undo of cleanups.reverse()) await undo();
}

async function prepare(): Promise<Bench> {
  const { server, stop } = await startTestServer({ durable: isDurable });
  cleanups.push(stop);
  const database = { ...server.admin, user: server.owner, database: server.template };
  const folder = await mkdtemp(path.join(tmpdir(), "emanet-bench-"));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  const postmaster = await withConnection(database, async (client) => {
    const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
    return parentOf(rows[0]?.pid ?? 0) ?? 0;
  });
  const probe = ["--import", pathToFileURL(path.join(import.meta.dirname, "stall-probe.ts")).href];
  const profile = options.profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${options.profile}`];
  const flags = [...probe, ...profile];
  const measured = await startService(database, folder, { flags });
  cleanups.push(() => stopProgram(measured.program));
  await copyNotes(database);
  const bareArguments = [path.join(folder, "tls"), JSON.stringify(database)];
  const bare = await startProgram("../../packages/server/src/testing/programs/bare-server.ts", bareArguments, probe);
  cleanups.push(() => stopProgram(bare));
  const { program: service, ca, noteId, newToken } = measured;
  return { programs: { bare, service }, postmaster, ca, noteId, token: await newToken(), newToken };
}

/** The notes of the service for the bare server, without row-level security. */
async function copyNotes(database: SocketTarget): Promise<void> {
  await withConnection(database, async (client) => {
    await client.query(`select set_config('emanet.scope', 'system', false)`);
    await client.query(`create schema bare`);
    await client.query(
      `create table bare.notes (id uuid primary key, text text not null, created_at timestamptz not null)`,
    );
    await client.query(`create index on bare.notes (created_at desc, id desc)`);
    await client.query(`insert into bare.notes select id, text, created_at from emanet.test_notes`);
  });
}

async function measureCosts(bench: Bench, protocol: Protocol): Promise<void> {
  const costs = new Map(cases.map((one) => [one, [] as Cost[]]));
  const clients = await clientsOf(bench, protocol);
  for (const one of cases) await sendAll(clients[one.server], warmUpRequests, one.status, one.request(bench));
  for (let round = 0; round < Number(options.rounds); round++) {
    for (const one of cases) costs.get(one)?.push(await costOf(bench, one, clients[one.server]));
  }
  for (const client of Object.values(clients).flat()) client.close();
  report(protocol, new Map(costs.entries().map(([one, all]) => [one, medians(all)])));
}

async function clientsOf({ programs, ca }: Bench, protocol: Protocol) {
  const open = ({ ready }: Program) => openClients(protocol, ready[0] ?? "", ca, concurrency);
  return { bare: await open(programs.bare), service: await open(programs.service) };
}

async function costOf(bench: Bench, one: RequestCase, clients: readonly Client[]): Promise<Cost> {
  const program = bench.programs[one.server];
  const count = Number(options.requests);
  const asked = one.server === "service" ? await countsOf(program) : null;
  const [server, postgres, client] = [programCpuMs(program), postgresCpuMs(bench.postmaster), process.cpuUsage()];
  const { elapsedMs } = await sendAll(clients, count, one.status, one.request(bench));
  const used = { server: programCpuMs(program) - server, postgres: postgresCpuMs(bench.postmaster) - postgres };
  const { user, system } = process.cpuUsage(client);
  const answered = asked === null ? null : await countsOf(program);
  return {
    server: used.server / count,
    postgres: used.postgres / count,
    client: (user + system) / 1000 / count,
    perSecond: (count * 1000) / elapsedMs,
    statements: answered === null || asked === null ? one.statements : (answered.statements - asked.statements) / count,
    roundTrips: answered === null || asked === null ? one.statements : (answered.roundTrips - asked.roundTrips) / count,
  };
}

function medians(costs: readonly Cost[]): Cost {
  const names = ["server", "postgres", "client", "perSecond", "statements", "roundTrips"] as const;
  const of = (name: keyof Cost) => costs.map((cost) => cost[name]).sort((a, b) => a - b)[costs.length >> 1] ?? 0;
  return Object.fromEntries(names.map((name) => [name, of(name)])) as unknown as Cost;
}

function report(protocol: Protocol, costs: ReadonlyMap<RequestCase, Cost>): void {
  console.log(
    `\n${protocol}: ${options.rounds} rounds of ${options.requests} requests, ${concurrency} at once, medians; ${commits}\n`,
  );
  console.log(
    "| request | requests/s | CPU ms: server + PostgreSQL | client | statements | round trips |\n|---|---|---|---|---|---|",
  );
  for (const [one, cost] of costs) {
    const cpu = `${cost.server.toFixed(3)} + ${cost.postgres.toFixed(3)}`;
    const sent = `${cost.statements.toFixed(1)} | ${cost.roundTrips.toFixed(1)}`;
    console.log(`| ${one.name} | ${Math.round(cost.perSecond)} | ${cpu} | ${cost.client.toFixed(3)} | ${sent} |`);
  }
  console.log("");
  const cpuOf = (name: string) => {
    const cost = costs.entries().find(([one]) => one.name === name)?.[1];
    return cost === undefined ? Number.NaN : cost.server + cost.postgres;
  };
  for (const { name, of, most } of targetRatios) {
    const ratio = cpuOf(name) / cpuOf(of);
    if (Number.isNaN(ratio)) continue;
    console.log(`${mark(ratio <= most)} ${name}: ${ratio.toFixed(1)} × "${of}" (at most ${most})`);
  }
  const read = costs.entries().find(([one]) => one.name === "read of one row")?.[1];
  if (read === undefined) return;
  const { perSecond: reads, server, postgres, client } = read;
  const sum = `${(server + postgres + client).toFixed(2)} ms of CPU each`;
  const isEnough = reads >= leastReadsPerSecond;
  console.log(`${mark(isEnough)} ${Math.round(reads)} reads a second, ${sum} (at least ${leastReadsPerSecond})`);
}

async function measureHalf(bench: Bench): Promise<void> {
  const clients = await clientsOf(bench, "http/1.1");
  await measureHalfLoad({ ...bench, clients, rounds: halfLoadRounds });
  for (const client of Object.values(clients).flat()) client.close();
}

async function measureMemory(bench: Bench): Promise<void> {
  const { service } = bench.programs;
  const clients = await clientsOf(bench, "http/1.1");
  const sent = cases.filter(({ server }) => server === "service");
  console.log(`\nmemory of the service over ${memorySteps.at(-1)?.toLocaleString("en")} requests of all kinds:`);
  const readings: MemoryReading[] = [];
  let count = 0;
  for (const step of memorySteps) {
    const subject = { token: await bench.newToken(), noteId: bench.noteId };
    for (const one of sent) {
      await sendAll(clients.service, (step - count) / sent.length, one.status, one.request(subject));
    }
    count = step;
    const reading = await readMemory(service);
    readings.push(reading);
    const shown = `${reading.heapMib.toFixed(1)} MiB of heap after a collection, ${reading.residentMib} MiB resident`;
    console.log(`  after ${step.toLocaleString("en")}: ${shown}`);
  }
  for (const client of Object.values(clients).flat()) client.close();
  const [first, last] = [readings[0], readings.at(-1)];
  if (first === undefined || last === undefined) return;
  const grown = { heap: last.heapMib - first.heapMib, resident: last.residentMib - first.residentMib };
  const isFlat = grown.heap <= mostHeapGrowthMib && grown.resident <= mostResidentGrowthMib;
  const limits = `(at most ${mostHeapGrowthMib} and ${mostResidentGrowthMib})`;
  console.log(`${mark(isFlat)} ${grown.heap.toFixed(1)} MiB of heap and ${grown.resident} MiB resident more ${limits}`);
}

async function measureIdle({ programs: { service }, postmaster }: Bench): Promise<void> {
  // What the load left behind: idle connections close after a while, and what was measured before is written out.
  await delay(restSeconds * 1000);
  const before = {
    service: programCpuMs(service),
    postgres: postgresCpuMs(postmaster),
    counts: await countsOf(service),
  };
  await delay(idleSeconds * 1000);
  const counts = await countsOf(service);
  const percent = (ms: number) => ms / (idleSeconds * 10);
  const own = percent(programCpuMs(service) - before.service);
  const postgres = percent(postgresCpuMs(postmaster) - before.postgres);
  const statements = (counts.statements - before.counts.statements) / idleSeconds;
  const shown = `${own.toFixed(2)} % of a core, PostgreSQL ${postgres.toFixed(2)} %, ${statements.toFixed(1)} statements/s`;
  console.log(
    `\n${mark(own + postgres <= idleCpuPercent)} idle for ${idleSeconds} s: ${shown} (at most ${idleCpuPercent} % together)`,
  );
}

function mark(holds: boolean): string {
  return holds ? "yes" : "NO ";
}
