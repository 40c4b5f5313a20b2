/**
 * What each test file costs, for `npm test -- --cpu`: CPU seconds of its process with its threads, and of the processes that it
 * started and that ended. PostgreSQL's are not among them. Loaded into every process of test files.
 */

import { appendFileSync, readFileSync } from "node:fs";
import path from "node:path";
import { isMainThread } from "node:worker_threads";

/** Names the file to which every process adds a line per test file. */
export const cpuFileVariable = "EMANET_TEST_CPU_FILE";

interface FileCost {
  readonly file: string;
  readonly seconds: number;
}

const output = process.env[cpuFileVariable];
/** What runs now, and the CPU seconds before it. Loading the modules of a process counts for its first file. */
let running = { file: path.basename(process.argv[1] ?? ""), before: 0 };
let isInGroup = false;

// Node sets this in the processes of test files, not in the runner's own. The runner and threads load this module too.
const isTestProcess = isMainThread && process.env.NODE_TEST_CONTEXT !== undefined;
if (output !== undefined && isTestProcess) process.on("exit", () => addLine(running));

/** Begins to count for a file. */
export function countFile(file: string): void {
  if (isInGroup) addLine(running);
  running = { file, before: isInGroup ? cpuSeconds() : 0 };
  isInGroup = true;
}

function addLine({ file, before }: typeof running): void {
  if (output === undefined) return;
  const line: FileCost = { file, seconds: cpuSeconds() - before };
  appendFileSync(output, `${JSON.stringify(line)}\n`);
}

const ticksPerSecond = 100;

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6 + endedChildrenSeconds();
}

/** Only Linux tells it. */
function endedChildrenSeconds(): number {
  try {
    const fields = readFileSync("/proc/self/stat", "utf8").split(") ").at(-1)?.split(" ") ?? [];
    return (Number(fields[13]) + Number(fields[14])) / ticksPerSecond;
  } catch {
    return 0;
  }
}

/** The name of a file that has a process, or several, to itself. */
function nameOf(entry: string): string {
  return entry.replace(/^0-\d+-(.*)\.mjs$/, "$1.ts").replace(/^1-(.*)-\d+\.test\.mjs$/, "$1.test.ts (parts)");
}

/** The files that were counted, the most expensive first; parts of a file are added up. */
export function readCosts(file: string): readonly FileCost[] {
  const lines = readFileSync(file, "utf8").trim().split("\n");
  const all = lines.map((line) => JSON.parse(line) as FileCost);
  const sums = Map.groupBy(all, (cost) => nameOf(cost.file));
  return [...sums]
    .map(([name, costs]) => ({ file: name, seconds: costs.reduce((sum, { seconds }) => sum + seconds, 0) }))
    .sort((a, b) => b.seconds - a.seconds);
}
