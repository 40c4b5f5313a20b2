/** The run: a service, accounts, first backups by all agents, backups with nothing changed, nights for some minutes; reads beside them. What was measured is returned. */

import { mkdirSync, mkdtempSync, rmSync, statfsSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { withConnection } from "../../packages/server/src/kernel/database/pool.ts";
import { embeddedDatabase } from "../end-to-end/embedded-database.ts";
import { cpuOfTree } from "../end-to-end/process-tree.ts";
import type { SmallOffice } from "../engine/small-office.ts";
import { makeAccounts, makeVaults } from "./accounts.ts";
import { type Account, ClientProcess, type ClientSettings, joinWorked, type Order, type Worked } from "./clients.ts";
import { type Reading, readGrowth, type StepName } from "./growth.ts";
import { type Sample, watchMemory } from "./memory.ts";
import { type MeasuredService, type ServiceCpu, startService } from "./service-processes.ts";
import { readServiceTimes, type ServiceTimes, timesBetween } from "./service-times.ts";

export interface Options {
  readonly accounts: number;
  readonly agents: number;
  readonly minutes: number;
  /** Files of each tree, and how many of them change in a night. */
  readonly files: number;
  readonly changed: number;
  readonly readsPerSecond: number;
  /** Between two backups of an agent. */
  readonly pauseSeconds: number;
  /** Processes with agents. */
  readonly processes: number;
  readonly niceness: number;
  readonly isOneProcess: boolean;
  readonly seed: number;
  readonly profile: string | undefined;
  readonly work: string;
  readonly log: (line: string) => void;
}

export interface Cpu extends ServiceCpu {
  readonly agents: number;
  readonly readers: number;
}

/** A load that ran for some time. */
export interface Load {
  readonly seconds: number;
  readonly agents: Worked;
  readonly readers: Worked;
  /** By the service's own metrics, of agents and readers. */
  readonly times: ServiceTimes;
  /** Seconds of processors, while it ran. */
  readonly cpu: Cpu;
  readonly samples: readonly Sample[];
  /** MiB: the most that the processes had at any time. */
  readonly peaks: { readonly api: number; readonly worker: number };
  /** Seconds that the service worked in the background afterwards: verification, search. */
  readonly afterwards: number;
}

export interface Figures {
  readonly setUpSeconds: Readonly<Record<"accounts" | "vaults" | "agents", number>>;
  readonly first: Load;
  /** Every account once more, with nothing changed. */
  readonly unchanged: Load;
  readonly nights: Load;
  readonly readings: readonly Reading[];
}

/** Of a file: an invoice or a note. 40 of them are 200 kB. */
const fileBytes = 5_000;
const filesPerFolder = 10;

/** What trees, states and caches of so many agents take at most. */
const bytesPerAccount = 2_000_000;

export async function runBench(options: Options): Promise<Figures> {
  if (options.agents > options.accounts) throw new Error("there must be at least as many accounts as agents");
  const cleanups: (() => unknown)[] = [];
  try {
    return await run(options, cleanups);
  } finally {
    for (let undo = cleanups.pop(); undo !== undefined; undo = cleanups.pop()) await undo();
  }
}

async function run(options: Options, cleanups: (() => unknown)[]): Promise<Figures> {
  const { log, isOneProcess, profile, minutes } = options;
  const folder = path.join(options.work, "service");
  mkdirSync(folder, { recursive: true });
  log("starting the service");
  const service = await startService({ folder, isOneProcess, profile, cleanups });
  const readings: Reading[] = [];
  const read = async (step: StepName, made: number, versions = 0) => {
    const waited = await untilQuiet(service, log);
    readings.push(await readGrowth(service, { step, made, versions }));
    return waited;
  };
  await read("start", 0);
  const made = await timed(() => makeAccounts(service, folder, options.accounts));
  log(`${options.accounts} accounts: ${made.seconds.toFixed(1)} s`);
  await read("accounts", options.accounts);
  const vaults = await timed(() => makeVaults(service, made.value));
  log(`a taxpayer with a vault each: ${vaults.seconds.toFixed(1)} s`);
  await read("vaults", options.accounts);
  const clients = await startClients(options, service, vaults.value, cleanups);
  await clients.agents({ order: "prepare" });
  const registered = await timed(() => clients.agents({ order: "register" }));
  log(`an agent each: ${registered.seconds.toFixed(1)} s`);
  await read("agents", options.accounts);
  const begun = async (order: Order, step: StepName, expected: number): Promise<Load> => {
    log(`${step} by ${options.agents} agents`);
    const load = await measure(service, clients, order, expected);
    const failed = Object.values(load.agents.errors).reduce((sum, each) => sum + each, 0);
    log(`${load.agents.backups} backups in ${load.seconds.toFixed(1)} s, ${failed} failed`);
    return { ...load, afterwards: await read(step, load.agents.backups, load.agents.newFiles) };
  };
  // About so long: only the time between samples depends on it.
  const first = await begun({ order: "first" }, "first backups", options.accounts / 10);
  const unchanged = await begun({ order: "unchanged" }, "unchanged", options.accounts / 10);
  const nights = await begun({ order: "nights", seconds: minutes * 60 }, "nights", minutes * 60);
  const setUpSeconds = { accounts: made.seconds, vaults: vaults.seconds, agents: registered.seconds };
  return { setUpSeconds, first, unchanged, nights, readings };
}

interface Clients {
  /** Gives an order to all processes with agents. */
  agents(order: Order): Promise<Worked>;
  readonly readers: ClientProcess;
  cpu(): { readonly agents: number; readonly readers: number };
}

async function startClients(
  options: Options,
  { url, caFile }: MeasuredService,
  accounts: readonly Account[],
  cleanups: (() => unknown)[],
): Promise<Clients> {
  const { files, changed: changedPerNight, processes, seed, readsPerSecond, niceness, pauseSeconds } = options;
  const office: SmallOffice = {
    ...{ seed, folders: Math.max(1, Math.ceil(files / filesPerFolder)), files, fileBytes, changedPerNight },
  };
  const folder = agentsFolder(options);
  cleanups.push(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  const shared = { url, caFile, office, seed, folder, readsPerSecond, pauseSeconds };
  const start = async (file: string, settings: ClientSettings, nice: number) => {
    const client = await ClientProcess.start(file, settings, nice);
    cleanups.push(() => client.stop());
    return client;
  };
  const readers = await start("readers-process.ts", { ...shared, accounts, agents: 0 }, 0);
  const agents: ClientProcess[] = [];
  for (let at = 0; at < processes; at++) {
    const own = accounts.filter(({ number }) => number % processes === at);
    const share = Math.floor((options.agents + at) / processes);
    agents.push(await start("agents-process.ts", { ...shared, accounts: own, agents: share }, niceness));
  }
  return {
    readers,
    agents: async (order) =>
      joinWorked(
        await Promise.all(
          agents.map((each) => each.work(order, (backups) => readers.tell({ order: "note", backups }))),
        ),
      ),
    cpu: () => ({
      agents: agents.reduce((sum, { pid }) => sum + cpuOfTree(pid).all, 0),
      readers: cpuOfTree(readers.pid).all,
    }),
  };
}

/**
 * The agents' disks: in memory where there is space, because they are those of other machines. On the disk of the service their syncs would wait for its own, and
 * every one stops all agents of the process.
 */
function agentsFolder({ work, accounts }: Options): string {
  try {
    const { bavail, bsize } = statfsSync(memoryFolder);
    if (bavail * bsize > accounts * bytesPerAccount) return mkdtempSync(path.join(memoryFolder, "emanet-agents-"));
  } catch {
    // Another system than Linux.
  }
  return mkdtempSync(path.join(work, "agents-"));
}

const memoryFolder = "/dev/shm";

async function measure(
  service: MeasuredService,
  clients: Clients,
  order: Order,
  expectedSeconds: number,
): Promise<Omit<Load, "afterwards">> {
  const cpu = (): Cpu => ({ ...service.cpu(), ...clients.cpu() });
  service.resetPeaks();
  const samples = watchMemory(service, expectedSeconds);
  const [before, timesBefore] = [cpu(), await readServiceTimes(service.metricsUrl)];
  clients.readers.tell({ order: "read" });
  const { value: agents, seconds } = await timed(() => clients.agents(order));
  const used = cpu();
  const readers = await clients.readers.work({ order: "stop-reading" });
  const times = timesBetween(timesBefore, await readServiceTimes(service.metricsUrl));
  const names = Object.keys(used) as (keyof Cpu)[];
  const spent = Object.fromEntries(names.map((name) => [name, used[name] - before[name]])) as unknown as Cpu;
  return { seconds, agents, readers, times, cpu: spent, samples: samples(), peaks: service.peaks() };
}

async function timed<T>(work: () => Promise<T>): Promise<{ readonly value: T; readonly seconds: number }> {
  const began = performance.now();
  return { value: await work(), seconds: (performance.now() - began) / 1000 };
}

/** Between two looks at what the service has to do. */
const pollMs = 500;
/** A service that is not done then cannot keep up, and the report says so. */
const mostSeconds = 600;

/** Waits until nothing is to be verified and nothing runs. Returns the seconds. */
async function untilQuiet(service: MeasuredService, log: (line: string) => void): Promise<number> {
  const began = performance.now();
  const passed = () => (performance.now() - began) / 1000;
  await withConnection(embeddedDatabase(service.data, "postgres"), async (client) => {
    const text = "select count(*) from emanet.snapshots where state = 'completed' and verified_at is null";
    for (;;) {
      const { rows } = await client.query<{ count: string }>(text);
      if (rows[0]?.count === "0" || passed() > mostSeconds) return;
      log(`waiting for the verification of ${rows[0]?.count} snapshots`);
      await sleep(Math.max(pollMs, passed() * 100));
    }
  });
  const seconds = passed();
  await service.untilIdle();
  return seconds;
}
