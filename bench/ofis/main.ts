/** `npm run --silent ofis -- <command>`: makes the tree of an office, simulates its days, compares a folder with the oracle. */

import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { findDifferences } from "./check.ts";
import { makeOffice, readState, simulateDay, treeFolder } from "./office.ts";
import { type OracleDay, readOracle } from "./oracle.ts";
import { type PartName, partNames, type ScaleName, scales } from "./scale.ts";

const help = `ofis <command> [--json] [--threads N]

  make --scale XS|S|M|L --seed N --out DIR    make the tree of day 0 in a missing or empty folder
       [--parts a,b,…]                        only these parts: ${partNames.join(", ")}
  day --tree DIR [--day N]                    simulate the next day; if N is given, it must be the next day
  days --tree DIR --to N                      simulate all days up to N
  check --tree DIR [--day N] [--folder F]     compare the tree, or a restored folder, with the oracle of a day

DIR holds tree/ (what is backed up), oracle/ (day-000.json and so on) and ofis.json.
Scales: XS 15 MB (tests), S 0.4 GB, M 5 GB, L 45 GB. The same seed makes the same tree.
Exit status: 0 done · 1 failed, or something differs · 2 wrong usage`;

/** Slow enough to be read. */
const progressMs = 1000;

class UsageError extends Error {
  override readonly name = "UsageError";
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(`ofis: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}

type Values = ReturnType<typeof parse>["values"];

async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args);
  const [command] = positionals;
  if (values.help === true) {
    console.log(help);
    return 0;
  }
  switch (command) {
    case "make":
      return make(values);
    case "day":
    case "days":
      return days(values, command);
    case "check":
      return check(values);
    default:
      throw new UsageError(`${command === undefined ? "no command" : `unknown command ${command}`}; see --help`);
  }
}

function parse(args: readonly string[]) {
  const text = { type: "string" } as const;
  const flag = { type: "boolean" } as const;
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        ...{ scale: text, seed: text, out: text, parts: text, tree: text, day: text, to: text, folder: text },
        ...{ threads: text, json: flag, help: { ...flag, short: "h" } },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

async function make(values: Values): Promise<number> {
  const scale = need(values.scale, "--scale") as ScaleName;
  if (!Object.hasOwn(scales, scale)) throw new UsageError(`--scale takes ${Object.keys(scales).join(", ")}`);
  const parts = values.parts === undefined ? partNames : values.parts.split(",").map(partName);
  const state = { scale, seed: whole(values.seed ?? "1", "--seed"), parts };
  say(await makeOffice(need(values.out, "--out"), state, runOptions(values)), values);
  return 0;
}

async function days(values: Values, command: "day" | "days"): Promise<number> {
  const folder = need(values.tree, "--tree");
  const next = (readState(folder).day ?? 0) + 1;
  const to = command === "days" ? whole(need(values.to, "--to"), "--to") : whole(values.day ?? String(next), "--day");
  if (command === "day" && to !== next) throw new UsageError(`the next day of ${folder} is ${next}`);
  for (let day = next; day <= to; day++) say(await simulateDay(folder, runOptions(values)), values);
  return 0;
}

async function check(values: Values): Promise<number> {
  const folder = need(values.tree, "--tree");
  const day = values.day === undefined ? (readState(folder).day ?? 0) : whole(values.day, "--day");
  const findings = await findDifferences(values.folder ?? treeFolder(folder), readOracle(folder, day));
  for (const finding of findings) console.log(finding);
  if (findings.length === 0) console.log(`as on day ${day}`);
  return findings.length === 0 ? 0 : 1;
}

function say(oracle: OracleDay, { json }: Values): void {
  const { files: _files, added, changed, removed, ...rest } = oracle;
  if (json === true) {
    console.log(JSON.stringify({ ...rest, added: added.length, changed: changed.length, removed: removed.length }));
    return;
  }
  const { total } = oracle;
  const megabytes = (bytes: number) => (bytes / 1e6).toFixed(1);
  console.log(
    `day ${oracle.day} (${oracle.date}, ${oracle.kind}): ${total.files} files, ${megabytes(total.bytes)} MB; ` +
      `${added.length} new, ${changed.length} changed, ${removed.length} gone; ` +
      `${megabytes(total.changed)} MB changed, ${megabytes(total.dense)} MB of them incompressible; ${oracle.treeSha256.slice(0, 16)}`,
  );
}

function runOptions({ threads }: Values) {
  let last = performance.now();
  return {
    threads: threads === undefined ? availableParallelism() : whole(threads, "--threads"),
    onProgress: (done: number) => {
      if (performance.now() - last < progressMs) return;
      last = performance.now();
      console.error(`${(done / 1e6).toFixed(0)} MB`);
    },
  };
}

function need(value: string | undefined, name: string): string {
  if (value === undefined) throw new UsageError(`${name} is missing; see --help`);
  return value;
}

function whole(value: string, name: string): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number) || number < 0) throw new UsageError(`${name} takes a whole number`);
  return number;
}

function partName(name: string): PartName {
  const found = partNames.find((each) => each === name);
  if (found === undefined) throw new UsageError(`no part ${name}; there are ${partNames.join(", ")}`);
  return found;
}
