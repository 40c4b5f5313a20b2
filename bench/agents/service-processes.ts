/**
 * The service that is measured, as `npm start -- api` and `npm start -- worker` run it: two processes on one embedded PostgreSQL, which the first one
 * starts, and one folder of objects. Or both roles in one process, as plain `npm start` does it.
 */

import path from "node:path";
import {
  databaseUrl,
  type MainProcess,
  sandboxSettings,
  startMain,
} from "../../packages/server/src/testing/main-process.ts";
import { unlimited } from "../../tests/crash/testing/service-under-test.ts";
import serviceEnvironment from "../../tools/service-environment.json" with { type: "json" };
import { embeddedDatabase } from "../end-to-end/embedded-database.ts";
import { cpuOfTree, memoryOfTree } from "../end-to-end/process-tree.ts";
import { untilIdle } from "../end-to-end/server-side.ts";
import { peakMib, resetPeak } from "../requests/processes.ts";

export interface ServiceOptions {
  readonly folder: string;
  readonly isOneProcess: boolean;
  readonly profile: string | undefined;
  /** Called in reverse order at the end. */
  readonly cleanups: (() => unknown)[];
}

/** CPU seconds since the start. */
export interface ServiceCpu {
  readonly api: number;
  readonly worker: number;
  readonly database: number;
}

/** Bytes now. A worker in the process of the API has none of its own. */
export interface ServiceMemory {
  readonly apiResident: number;
  readonly apiOwn: number;
  readonly workerResident: number;
  readonly workerOwn: number;
  /** PostgreSQL without its shared buffers, and these. */
  readonly database: number;
  readonly databaseShared: number;
}

export interface MeasuredService {
  readonly url: string;
  readonly caFile: string;
  /** Of the process that answers calls. */
  readonly metricsUrl: string;
  /** The data folder of the process that has the database. */
  readonly data: string;
  readonly objects: string;
  /** Settings of another process on the same database and objects, with a data folder of its own. */
  settingsBeside(folder: string): Readonly<Record<string, string>>;
  cpu(): ServiceCpu;
  memory(): ServiceMemory;
  /** Begins new peaks. */
  resetPeaks(): void;
  /** MiB of each process. */
  peaks(): { readonly api: number; readonly worker: number };
  untilIdle(): Promise<void>;
}

export async function startService(options: ServiceOptions): Promise<MeasuredService> {
  const { folder, isOneProcess, cleanups } = options;
  const data = path.join(folder, "data");
  const api = startRole(options, isOneProcess ? [] : ["api"], sandboxSettings(data));
  const url = await api.ready();
  const metricsUrl = /^metrics (\S+)$/m.exec(api.stdout())?.[1] ?? "";
  const objects = path.join(data, "objects");
  const settingsBeside = (own: string) => ({
    ...sandboxSettings(own),
    EMANET_DATABASE_URL: databaseUrl({ target: embeddedDatabase(data, "emanet") }),
    EMANET_STORAGE: `file:${objects}`,
    EMANET_PUBLIC_URL: url,
  });
  const worker = isOneProcess ? null : startRole(options, ["worker"], settingsBeside(path.join(folder, "worker")));
  await worker?.ready();
  const processes = worker === null ? [api] : [api, worker];
  // A process that is killed writes no profile. The worker first: its database ends with the other one.
  if (options.profile !== undefined)
    cleanups.push(async () => {
      for (const each of processes.toReversed()) {
        each.signal("SIGTERM");
        await each.ended();
      }
    });
  return {
    ...{ url, caFile: path.join(data, "tls", "ca.pem"), metricsUrl, data, objects, settingsBeside },
    cpu: () => {
      const { own, all } = cpuOfTree(api.pid);
      return { api: own, worker: worker === null ? 0 : cpuOfTree(worker.pid).own, database: all - own };
    },
    memory: () => {
      const first = memoryOfTree(api.pid);
      const second = worker === null ? null : memoryOfTree(worker.pid);
      return {
        ...{ apiResident: first.residentBytes, apiOwn: first.ownBytes },
        ...{ workerResident: second?.residentBytes ?? 0, workerOwn: second?.ownBytes ?? 0 },
        ...{ database: first.belowBytes, databaseShared: first.sharedBytes },
      };
    },
    resetPeaks: () => processes.forEach(resetPeak),
    peaks: () => ({ api: peakMib(api), worker: worker === null ? 0 : peakMib(worker) }),
    untilIdle: async () => {
      // The worker may begin something when the other one is done.
      for (let round = 0; round < 2; round++) await Promise.all(processes.map(({ pid }) => untilIdle(pid)));
    },
  };
}

function startRole(
  { cleanups, profile }: ServiceOptions,
  words: readonly string[],
  settings: Readonly<Record<string, string>>,
): MainProcess {
  const main = startMain(
    { after: (work) => void cleanups.push(work) },
    {
      words,
      nodeOptions: profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}`],
      settings: {
        ...{ ...serviceEnvironment, ...settings, ...unlimited, EMANET_LOG_LEVEL: "warn" },
        // One address may have 512 connections, and here all agents have the same one. An address of a proxy may have more.
        EMANET_TRUSTED_PROXIES: "127.0.0.1/32",
      },
    },
  );
  const kill = () => main.signal("SIGKILL");
  process.once("exit", kill);
  cleanups.push(() => process.off("exit", kill));
  return main;
}
