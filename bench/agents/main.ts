/**
 * `npm run bench:agents`: one service (real processes, TLS, embedded PostgreSQL, a folder of objects) under the load of many agents of many accounts, with reads
 * beside it. It prints throughput, times of calls, memory of each process over the time, and what grows with accounts, vaults, snapshots and files. bench/README.md describes it.
 *
 * Agents run the code of `emanet backup`, many in a process: a process for each would measure the start of Node and the memory of this machine (docs/decisions/0644). Everything listens on
 * loopback. The run ends by itself.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { conditionsNow, resultsFolder, whole, workFolder } from "../engine/command-line.ts";
import { type Options, runBench } from "./bench.ts";
import { slopesOf } from "./growth.ts";
import { markdown, targetsOf } from "./report.ts";

const help = `npm run --silent bench:agents -- [options]

  --agents N          agents at once (default 200)
  --accounts N        accounts, which the agents back up in turn (default 1000)
  --minutes M         how long nights are backed up, after the first backups of all accounts (default 20; fractions are allowed)
  --files N           of each account's tree, 5 kB each (default 40)
  --changed N         of them, every night (default 3)
  --reads N           calls a second of other clients: account, list, tree, search, history, one file (default 20)
  --pause S           seconds between two backups of an agent (default 0: as many backups as the machine allows)
  --processes N       processes that the agents share (default 2)
  --nice N            how much lower their priority is than the service's (default 10): agents are on other machines in life
  --one-process       API and worker in one process, as plain npm start; default: a process for each role
  --seed N            of trees and reads (default 1)
  --profile DIR       CPU profiles of the service, which slow it down
  --results DIR       where agents.md goes (default bench/results; nothing with --profile)
  --work DIR          where the service keeps its data (default: a new folder for temporary files)
  --keep              leave it there
  --json              all figures on standard output instead of the tables

Progress goes to standard error.`;

const text = { type: "string" } as const;
const flag = { type: "boolean" } as const;

try {
  await main();
} catch (error) {
  console.error(`bench: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      ...{ agents: { ...text, default: "200" }, accounts: { ...text, default: "1000" } },
      ...{ minutes: { ...text, default: "20" }, files: { ...text, default: "40" }, changed: { ...text, default: "3" } },
      ...{ reads: { ...text, default: "20" }, processes: { ...text, default: "2" }, nice: { ...text, default: "10" } },
      ...{
        pause: { ...text, default: "0" },
        "one-process": flag,
        seed: { ...text, default: "1" },
        profile: text,
        results: text,
        work: text,
      },
      ...{ keep: flag, json: flag, help: { ...flag, short: "h" } },
    },
  });
  if (values.help === true) {
    console.log(help);
    return;
  }
  const minutes = Number(values.minutes);
  if (!(minutes > 0)) throw new Error("--minutes takes a number above 0");
  const pauseSeconds = Number(values.pause);
  if (!(pauseSeconds >= 0)) throw new Error("--pause takes a number");
  const conditions = conditionsNow();
  const options: Options = {
    ...{ accounts: whole(values.accounts), agents: whole(values.agents), minutes, files: whole(values.files) },
    ...{ changed: whole(values.changed), readsPerSecond: whole(values.reads), processes: whole(values.processes) },
    ...{ niceness: whole(values.nice), isOneProcess: values["one-process"] === true, seed: whole(values.seed) },
    ...{ pauseSeconds, profile: values.profile, work: workFolder(values), log: (line: string) => console.error(line) },
  };
  const figures = await runBench(options);
  const report = markdown(figures, options, conditions);
  if (values.profile === undefined || values.results !== undefined) {
    const folder = values.results ?? resultsFolder;
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, "agents.md"), `${report}\n`);
  }
  const all = () => ({
    ...{ ...conditions, agents: options.agents, accounts: options.accounts, minutes },
    ...{ targetResults: targetsOf(figures), slopes: slopesOf(figures.readings), ...figures },
  });
  console.log(values.json === true ? JSON.stringify(all()) : report);
}
