// long: 30 s

import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { type Options, runBench } from "./bench.ts";
import { type Reading, slopesOf } from "./growth.ts";
import { courseOf, type Sample } from "./memory.ts";
import { callFigures, controlTimes, markdown, targetsOf } from "./report.ts";
import { boundOf, shareWithin, timesBetween, timesIn } from "./service-times.ts";

const work = mkdtempSync(path.join(tmpdir(), "emanet-agents-test-"));
after(() => rmSync(work, { recursive: true, force: true, maxRetries: 5 }));

test("agents of many accounts back up and others read meanwhile: every backup is a snapshot, and times, memory and growth are measured", {
  skip: !existsSync("/proc/self/smaps_rollup") && "without /proc",
}, async () => {
  const [accounts, files, changed] = [8, 6, 2];
  const options: Options = {
    ...{ accounts, agents: 4, minutes: 0.05, files, changed, readsPerSecond: 20, processes: 2, niceness: 0 },
    pauseSeconds: 0.1,
    ...{ isOneProcess: false, seed: 5, profile: undefined, work, log: () => {} },
  };
  const figures = await runBench(options);
  const { first, unchanged, nights, readings } = figures;
  for (const { agents, readers } of [first, unchanged, nights])
    for (const worked of [agents, readers]) {
      assert.deepEqual(worked.errors, {});
      assert.deepEqual(worked.calls.refused, {});
    }
  assert.equal(first.agents.backups, accounts, "each account once");
  assert.equal(first.agents.newFiles, accounts * files);
  assert.deepEqual([unchanged.agents.backups, unchanged.agents.newFiles], [accounts, 0]);
  assert.ok(nights.agents.backups > 0);
  assert.ok(nights.agents.newFiles <= nights.agents.backups * changed, "a night sends what has changed");
  const snapshots = readings.at(-1)?.tables.snapshots?.rows;
  assert.equal(snapshots, 2 * accounts + nights.agents.backups, "every backup is a snapshot");
  const names = Object.keys(nights.agents.calls.times);
  for (const part of ["POST /oauth2/token", "POST /v1/snapshots", "/upload/begin", "/upload/complete"])
    assert.ok(
      names.some((name) => name.endsWith(part)),
      `${part} of ${names.join(", ")}`,
    );
  const reads = Object.keys(nights.readers.calls.times);
  for (const part of ["/v1/account", "/v1/snapshots", "/tree", "/v1/search", "/v1/files/history", "/files/{name}"])
    assert.ok(
      reads.some((name) => name.endsWith(part)),
      `${part} of ${reads.join(", ")}`,
    );
  for (const name of ["api", "worker", "database", "agents"] as const) assert.ok(first.cpu[name] > 0, `CPU of ${name}`);
  const { account, vault, agent, snapshot, newFile } = slopesOf(readings);
  for (const slope of [account, vault, agent, snapshot, newFile]) assert.ok(slope.rows > 0);
  const report = markdown(figures, options, { machine: "m", load: "0", date: "d" });
  assert.match(report, /^\| peak of the API process ≤ 1024 MiB \| \d+ MiB \| yes \|$/m);
  assert.match(report, /^\| nights \| \d+ \| \d+ \| [\d.]+ \|/m);
  assert.match(report, /^\| \*\*readers: all control calls\*\* \| \d+ \| [\d.]+ \|/m);
  assert.match(report, /^\| uploads\.complete \| \d+ \|/m);
  assert.match(report, /^\| worker, resident \| \d+ \|/m);
  assert.match(report, /^\| new version of a file \| [\d.]+ \|/m);
});

test("a snapshot, a new file and a version of a file get their parts of what backups add", () => {
  const reading = (step: Reading["step"], made: number, versions: number, rows: number): Reading => ({
    ...{ step, made, versions, tables: { t: { rows, bytes: rows * 100 } }, objects: 0, objectBytes: 0 },
    ...{ apiBytes: 0, workerBytes: 0 },
  });
  // 5 rows of a snapshot, 3 of a new file, 2 of a version.
  const { snapshot, newFile, version, account, tables } = slopesOf([
    ...[reading("start", 0, 0, 10), reading("accounts", 10, 0, 40), reading("vaults", 10, 0, 40)],
    ...[reading("agents", 10, 0, 40), reading("first backups", 10, 400, 40 + 50 + 1200)],
    ...[reading("unchanged", 10, 0, 1290 + 50), reading("nights", 20, 60, 1340 + 100 + 120)],
  ]);
  assert.deepEqual([snapshot.rows, newFile.rows, version.rows, account.rows], [5, 3, 2, 3]);
  assert.deepEqual([snapshot.databaseBytes, newFile.databaseBytes, version.databaseBytes], [500, 300, 200]);
  assert.deepEqual(tables.accounts, [{ name: "t", rows: 3, bytes: 300 }]);
  assert.deepEqual(tables.vaults, []);
});

test("memory that grows by a megabyte a minute is seen, and what was filled in the first quarter is not", () => {
  const sample = (at: number, apiResident: number): Sample => ({
    ...{ at, apiResident, apiOwn: 0, workerResident: 0, workerOwn: 0, database: 0, databaseShared: 0 },
  });
  const grown = Array.from({ length: 121 }, (_, i) => sample(i * 10, 5e8 + (i / 6) * 1e6));
  const course = courseOf(grown, ({ apiResident }) => apiResident);
  assert.equal(Math.round(course.slope), 1e6);
  assert.deepEqual([course.start, course.end, course.peak], [5e8, 5.2e8, 5.2e8]);
  const filled = Array.from({ length: 121 }, (_, i) => sample(i * 10, i < 30 ? 3e8 : 5e8));
  assert.equal(courseOf(filled, ({ apiResident }) => apiResident).slope, 0);
});

test("a target is missed by slow calls and by memory that grows; calls with content are not control calls", () => {
  const worked = (ms: number) => ({
    ...{ backups: 1, files: 1, bytes: 1, newFiles: 1, newBytes: 1, seconds: [1], lateMs: [], leftOut: 0, errors: {} },
    calls: { times: { "GET /v1/account": [ms, ms], "PUT /v1/snapshots/{id}/packs/{name}": [9999] }, refused: {} },
  });
  assert.deepEqual(controlTimes(worked(7)), [7, 7]);
  assert.deepEqual(callFigures([3, 1, 2]), { count: 3, p50: 2, p95: 3, p99: 3 });
  const load = (ms: number, api: number, growth: number) => ({
    ...{ seconds: 1, agents: worked(1), readers: worked(ms), peaks: { api, worker: 1 }, afterwards: 0 },
    cpu: { api: 1, worker: 1, database: 1, agents: 1, readers: 1 },
    times: {
      "account.get": { "0.1": ms <= 100 ? 95 : 94, "+Inf": 100 },
      "uploads.put_pack": { "0.1": 0, "+Inf": 900 },
    },
    samples: Array.from({ length: 101 }, (_, at) => ({
      ...{ at, apiResident: 100 + at * growth, apiOwn: 0, workerResident: 0, workerOwn: 0 },
      ...{ database: 0, databaseShared: 0 },
    })),
  });
  const setUpSeconds = { accounts: 1, vaults: 1, agents: 1 };
  const reached = (ms: number, api: number, growth: number) =>
    targetsOf({
      setUpSeconds,
      first: load(1, 1, 0),
      unchanged: load(1, 1, 0),
      nights: load(ms, api, growth),
      readings: [],
    })
      .slice(0, 4)
      .map((each) => each.reached);
  assert.deepEqual(reached(100, 1024, 0), [true, true, true, true]);
  assert.deepEqual(reached(101, 1025, 0.2), [false, false, false, false]);
});

test("times of the service are those between two readings, of every status, and a quantile is the bound of its bucket", () => {
  const reading = (ok: readonly number[], refused: readonly number[]) =>
    timesIn(
      [
        "# HELP other",
        ...[ok, refused].flatMap((counts, at) =>
          ["0.05", "0.1", "+Inf"].map(
            (bound, i) =>
              `emanet_http_request_duration_seconds_bucket{le="${bound}",operation="a.get",method="GET",status_class="${at === 0 ? 2 : 4}xx"} ${counts[i]}`,
          ),
        ),
        'emanet_http_request_duration_seconds_count{operation="a.get",method="GET",status_class="2xx"} 7',
      ].join("\n"),
    );
  const { "a.get": counts = {} } = timesBetween(reading([1, 2, 3], [0, 0, 0]), reading([5, 10, 12], [1, 1, 1]));
  assert.deepEqual(counts, { "0.05": 5, "0.1": 9, "+Inf": 10 });
  assert.equal(shareWithin(counts, 0.1), 0.9);
  assert.deepEqual(
    [boundOf(counts, 0.5), boundOf(counts, 0.9), boundOf(counts, 0.95)],
    [50, 100, Number.POSITIVE_INFINITY],
  );
  assert.deepEqual(timesBetween(reading([1, 2, 3], [0, 0, 0]), reading([1, 2, 3], [0, 0, 0])), {});
});
