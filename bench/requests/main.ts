/**
 * `npm run bench:requests`: what a request costs. Each round sends the same kinds of request to a bare server and to the
 * service, in turn, so that other work on the machine affects both alike. It prints medians of rounds: CPU time per request
 * of the server and of PostgreSQL, requests per second, statements and round trips; and the ratios that must hold.
 *
 *   npm run bench:requests -- --rounds 5 --requests 3000     medians of so many rounds
 *   npm run bench:requests -- --only costs,half,memory,idle  some of the parts
 */

import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { withConnection } from "../../packages/server/src/kernel/database/pool.ts";
import type { SocketTarget } from "../../packages/server/src/kernel/database/target.ts";
import { createNotesTable } from "../../packages/server/src/testing/notes.ts";
import { readFirstRun } from "../../packages/server/src/testing/people.ts";
import { startTestServer } from "../../tools/test-server.ts";
import { cases, type RequestCase, targetRatios } from "./cases.ts";
import { type Client, openClients, type Protocol, sendAll, sendSteadily } from "./clients.ts";
import {
  countsOf,
  type Program,
  parentOf,
  postgresCpuMs,
  programCpuMs,
  residentMib,
  startProgram,
  stopProgram,
} from "./processes.ts";

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    requests: { type: "string", default: "3000" },
    only: { type: "string", default: "costs,half,memory,idle" },
  },
});
const parts = new Set(options.only.split(","));

/** Connections of HTTP/1.1, or streams of one HTTP/2 connection. */
const concurrency = 16;
/** Enough for the compiler to have optimised what a request runs. */
const warmUpRequests = Number(options.requests);
const memoryRequests = 200_000;
const memorySteps = 4;
const halfLoadRequests = 10_000;
const idleSeconds = 30;
const leastReadsPerSecond = 2_000;
const idleCpuPercent = 0.5;
const p99OverP50 = 3;

interface Bench {
  readonly programs: { readonly bare: Program; readonly service: Program };
  readonly postmaster: number;
  readonly ca: string;
  readonly token: string;
  readonly noteId: string;
}

interface Cost {
  readonly server: number;
  readonly postgres: number;
  readonly perSecond: number;
  readonly statements: number;
  readonly roundTrips: number;
}

const cleanups: (() => Promise<unknown>)[] = [];
try {
  const bench = await prepare();
  if (parts.has("costs")) for (const protocol of ["http/1.1", "h2"] as const) await measureCosts(bench, protocol);
  if (parts.has("half")) await measureHalfLoad(bench);
  if (parts.has("memory")) await measureMemory(bench);
  if (parts.has("idle")) await measureIdle(bench);
} finally {
  for (const undo of cleanups.reverse()) await undo();
}

async function prepare(): Promise<Bench> {
  const { server, stop } = await startTestServer();
  cleanups.push(stop);
  const database = { ...server.admin, user: server.owner, database: server.template };
  const folder = await mkdtemp(path.join(tmpdir(), "emanet-bench-"));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  const postmaster = await withConnection(database, async (client) => {
    await createNotesTable(client);
    const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
    return parentOf(rows[0]?.pid ?? 0) ?? 0;
  });
  const settings = { EMANET_PROFILE: "local", EMANET_DATA_DIR: folder, EMANET_LISTEN: "127.0.0.1:0" };
  const metrics = { EMANET_METRICS_LISTEN: "127.0.0.1:0" };
  const service = await startProgram("serve.ts", [
    JSON.stringify({ ...settings, ...metrics }),
    JSON.stringify(database),
  ]);
  cleanups.push(() => stopProgram(service));
  const [url = "", caFile = ""] = service.ready;
  const ca = await readFile(caFile, "utf8");
  const { demo } = await readFirstRun(folder);
  const noteId = await insertNotes(database, demo.account_id);
  const bare = await startProgram("../../packages/server/src/testing/programs/bare-server.ts", [
    path.join(folder, "tls"),
    JSON.stringify(database),
  ]);
  cleanups.push(() => stopProgram(bare));
  return { programs: { bare, service }, postmaster, ca, token: await tokenOf(url, ca, demo), noteId };
}

/** A page of notes for the service, and the same for the bare server without row-level security. Returns an id. */
async function insertNotes(database: SocketTarget, accountId: string): Promise<string> {
  return withConnection(database, async (client) => {
    await client.query(`select set_config('emanet.scope', 'system', false)`);
    const { rows } = await client.query<{ id: string }>(
      `insert into emanet.test_notes select gen_random_uuid(), $1, 'note ' || n, now() - n * interval '1 minute'
         from generate_series(1, 25) n returning id`,
      [accountId],
    );
    await client.query(`create schema bare`);
    await client.query(
      `create table bare.notes (id uuid primary key, text text not null, created_at timestamptz not null)`,
    );
    await client.query(`create index on bare.notes (created_at desc, id desc)`);
    await client.query(`insert into bare.notes select id, text, created_at from emanet.test_notes`);
    return rows[0]?.id ?? "";
  });
}

async function tokenOf(
  url: string,
  ca: string,
  { client_id: id, client_secret: secret }: { readonly client_id: string; readonly client_secret: string },
): Promise<string> {
  const { default: https } = await import("node:https");
  const body = new URLSearchParams({ grant_type: "client_credentials", client_id: id, client_secret: secret });
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const request = https.request(`${url}/oauth2/token`, { method: "POST", ca, headers, agent: false }, (response) => {
    let text = "";
    response.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
    response.on("end", () => resolve(text));
  });
  request.on("error", reject).end(body.toString());
  return (JSON.parse(await promise) as { access_token: string }).access_token;
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
  const [server, postgres] = [programCpuMs(program), postgresCpuMs(bench.postmaster)];
  const { elapsedMs } = await sendAll(clients, count, one.status, one.request(bench));
  const used = { server: programCpuMs(program) - server, postgres: postgresCpuMs(bench.postmaster) - postgres };
  const answered = asked === null ? null : await countsOf(program);
  return {
    server: used.server / count,
    postgres: used.postgres / count,
    perSecond: (count * 1000) / elapsedMs,
    statements: answered === null || asked === null ? one.statements : (answered.statements - asked.statements) / count,
    roundTrips: answered === null || asked === null ? one.statements : (answered.roundTrips - asked.roundTrips) / count,
  };
}

function medians(costs: readonly Cost[]): Cost {
  const names = ["server", "postgres", "perSecond", "statements", "roundTrips"] as const;
  const of = (name: keyof Cost) => costs.map((cost) => cost[name]).sort((a, b) => a - b)[costs.length >> 1] ?? 0;
  return Object.fromEntries(names.map((name) => [name, of(name)])) as unknown as Cost;
}

function report(protocol: Protocol, costs: ReadonlyMap<RequestCase, Cost>): void {
  console.log(
    `\n${protocol}: ${options.rounds} rounds of ${options.requests} requests, ${concurrency} at once, medians\n`,
  );
  console.log(
    "| request | requests/s | CPU ms: server + PostgreSQL | statements | round trips |\n|---|---|---|---|---|",
  );
  for (const [one, cost] of costs) {
    const cpu = `${cost.server.toFixed(3)} + ${cost.postgres.toFixed(3)}`;
    const sent = `${cost.statements.toFixed(1)} | ${cost.roundTrips.toFixed(1)}`;
    console.log(`| ${one.name} | ${Math.round(cost.perSecond)} | ${cpu} | ${sent} |`);
  }
  console.log("");
  const cpuOf = (name: string) => {
    const cost = costs.entries().find(([one]) => one.name === name)?.[1];
    return cost === undefined ? Number.NaN : cost.server + cost.postgres;
  };
  for (const { name, of, most } of targetRatios) {
    const ratio = cpuOf(name) / cpuOf(of);
    console.log(`${mark(ratio <= most)} ${name}: ${ratio.toFixed(1)} × "${of}" (at most ${most})`);
  }
  const reads = costs.entries().find(([one]) => one.name === "read of one row")?.[1].perSecond ?? 0;
  console.log(
    `${mark(reads >= leastReadsPerSecond)} ${Math.round(reads)} reads a second (at least ${leastReadsPerSecond})`,
  );
}

async function measureHalfLoad(bench: Bench): Promise<void> {
  const one = cases.find(({ name }) => name === "read of one row") ?? cases[0];
  if (one === undefined) return;
  const clients = await openClients("http/1.1", bench.programs.service.ready[0] ?? "", bench.ca, concurrency);
  const full = await sendAll(clients, warmUpRequests, one.status, one.request(bench));
  const perSecond = (full.times.length * 1000) / full.elapsedMs / 2;
  const load = { count: halfLoadRequests, perSecond, expected: one.status };
  const { times } = await sendSteadily(clients, load, one.request(bench));
  for (const client of clients) client.close();
  const [p50 = 0, p99 = 0] = [times[Math.floor(times.length * 0.5)], times[Math.floor(times.length * 0.99)]];
  const shown = `p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms, ratio ${(p99 / p50).toFixed(1)}`;
  console.log(
    `\n${mark(p99 <= p99OverP50 * p50)} half load (${Math.round(perSecond)} reads/s): ${shown} (at most ${p99OverP50})`,
  );
}

async function measureMemory(bench: Bench): Promise<void> {
  const one = cases.find(({ name }) => name === "read of one row") ?? cases[0];
  if (one === undefined) return;
  const { service } = bench.programs;
  const clients = await openClients("http/1.1", service.ready[0] ?? "", bench.ca, concurrency);
  console.log(`\nmemory over ${memoryRequests.toLocaleString("en")} reads:`);
  for (let step = 0; step <= memorySteps; step++) {
    const { heapBytes } = await countsOf(service, "collect");
    const heap = (heapBytes / 2 ** 20).toFixed(1);
    console.log(
      `  after ${(step * memoryRequests) / memorySteps}: ${heap} MiB of heap, ${residentMib(service)} MiB resident`,
    );
    if (step < memorySteps) await sendAll(clients, memoryRequests / memorySteps, one.status, one.request(bench));
  }
  for (const client of clients) client.close();
}

async function measureIdle({ programs: { service }, postmaster }: Bench): Promise<void> {
  // What the load left behind: idle connections close after a while, and what was measured before is written out.
  await delay(5_000);
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
