// long: 12 s

import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { folderSize, measure } from "./measure.ts";
import { storedPlot, wallPlot } from "./plot.ts";
import { type RaceOptions, type RaceOutcome, runRace } from "./race.ts";
import { medianOf, type Result, withoutServer } from "./records.ts";
import { markdown } from "./report.ts";
import type { System } from "./system.ts";
import { emanet } from "./system-emanet.ts";
import { compareWithTargets } from "./targets.ts";

const scratch = mkdtempSync(path.join(tmpdir(), "emanet-race-"));
after(() => rmSync(scratch, { recursive: true, force: true }));

/** One phase of each kind. `.ci/run` runs them all. */
const measured = ["first", "night", "restore-first", "file-first", "upkeep", "restore-new"] as const;

const options: RaceOptions = {
  scale: "XS",
  seed: 3,
  runs: 1,
  nights: 1,
  parts: [],
  delayMs: 0,
  phases: new Set(measured),
  work: path.join(scratch, "work"),
  threads: 0,
  shortRounds: 1,
  pauseMs: 0,
  fillsMemory: false,
  log: () => {},
};

/** A backup program that copies. `spoil` may damage what it restored. */
function copier(spoil: string): System {
  const shell = (script: string, ...args: string[]) => ({ program: "sh", args: ["-ec", script, "sh", ...args] });
  return {
    name: "restic",
    version: "cp",
    settings: "",
    create: async (folder) => {
      mkdirSync(folder, { recursive: true });
      return {
        // Only root can read the locked file: otherwise cp reports it and copies the rest.
        backup: (tree) => ({ ...shell('rm -rf "$2/copy"; cp -a "$1" "$2/copy"', tree, folder), alsoFine: [1] }),
        backedUp: async () => {},
        restore: (_tree, target) => shell(`cp -a "$1/copy/." "$2"; cd "$2"; ${spoil}`, folder, target),
        restoreFile: (_tree, file, target) => shell('cp "$1/copy/$2" "$3"', folder, file, target),
        upkeep: () => [shell("exit 0")],
        verify: () => shell("exit 0"),
        stored: () => folderSize(folder),
        newBytes: async () => null,
      };
    },
  };
}

test("a race measures every requested phase of every program, compares every restore, and reports a table and plots", async () => {
  const systems = [emanet("test"), copier("true")];
  const outcome = await runRace(systems, options);
  for (const system of ["emanet", "restic"] as const)
    for (const phase of measured) {
      const wall = medianOf(outcome.results, "wallSeconds", { system, phase, part: "tree" });
      assert.ok(wall !== null && wall > 0, `${system} ${phase}`);
    }
  // Two full restores and a file each.
  assert.equal(outcome.checked, 2 * 3);
  const fresh = medianOf(outcome.results, "newBytes", { system: "emanet", phase: "night" }) ?? 0;
  assert.ok(fresh >= (outcome.days[1]?.total.dense ?? 0), `${fresh} new bytes`);
  assert.equal(medianOf(outcome.results, "wallSeconds", { phase: "verify" }), null);
  const text = markdown(outcome, systems, options, { machine: "m", load: "0", date: "d", missing: [] });
  assert.match(text, /\| first backup: wall ≤ 0\.5 × \| [\d.]+ × \| /);
  assert.match(wallPlot(outcome, ["emanet", "restic"]), /^<svg .*first backup.*<\/svg>\n$/s);
  assert.match(storedPlot(outcome, ["emanet", "restic"]), /<polyline points="[\d., ]+"/);
});

test("a restore that lacks a byte, or has a file too many, ends the race", async () => {
  for (const spoil of ["find . -name '*.FDB' -exec truncate -s -1 {} +", "touch foreign"]) {
    rmSync(options.work, { recursive: true, force: true });
    await assert.rejects(runRace([copier(spoil)], options), /restored wrongly/);
  }
});

test("a program is measured with what it started: CPU seconds, peak memory, bytes written", async () => {
  const file = path.join(scratch, "written");
  const script = `head -c 8000000 /dev/zero > "$1"; i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; sleep 0.05`;
  const measured = await measure({ program: "sh", args: ["-c", script, "sh", file] });
  assert.ok(measured.cpuSeconds > 0.02, `${measured.cpuSeconds} CPU seconds`);
  assert.ok(measured.wallSeconds >= 0.05);
  if (existsSync("/proc/self/io")) {
    assert.ok(measured.peakBytes > 100_000, `${measured.peakBytes} bytes of memory`);
    assert.ok(measured.writtenBytes >= 0 && readFileSync(file).length === 8_000_000);
  }
  await assert.rejects(measure({ program: "sh", args: ["-c", "echo why; exit 4"] }), /ended with 4:\nwhy/);
  await measure({ program: "sh", args: ["-c", "exit 3"], alsoFine: [3] });
});

test("results are compared with the targets and the better peer, and what was not measured has no result", () => {
  const result = (system: Result["system"], wallSeconds: number): Result => ({
    ...{ system, phase: "first", part: "tree", day: 0, run: 1, wallSeconds, cpuSeconds: 1, peakBytes: 1 },
    ...{ writtenBytes: 1, storedBytes: 1, addedBytes: 1, objects: 1, newBytes: null },
    ...withoutServer,
  });
  const outcome = (ours: number): RaceOutcome => ({
    results: [result("emanet", ours), result("restic", 10), result("kopia", 20), result("rustic", 1)],
    days: [],
    checked: 0,
  });
  const wall = (ours: number) =>
    compareWithTargets(outcome(ours)).find(({ target }) => target.startsWith("first backup: wall"));
  assert.deepEqual([wall(5)?.reached, wall(5)?.measured], [true, "0.500 ×"]);
  assert.equal(wall(5.1)?.reached, false);
  assert.equal(compareWithTargets(outcome(1)).find(({ target }) => target.startsWith("one file"))?.reached, null);
});
