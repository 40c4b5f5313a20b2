// long: 20 s

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { type RaceOptions, type RaceOutcome, runRace } from "../engine/race.ts";
import { medianOf, type Result, withoutServer } from "../engine/records.ts";
import { Lines } from "./lines.ts";
import { cpuOfTree, peakOfTree } from "./process-tree.ts";
import { markdown } from "./report.ts";
import { startServiceSystem } from "./system-service.ts";
import { compareWithTargets } from "./targets.ts";

const scratch = mkdtempSync(path.join(tmpdir(), "emanet-end-to-end-"));
const lines = new Lines();
after(async () => {
  await lines.close();
  rmSync(scratch, { recursive: true, force: true });
});

/** One phase of each kind. `.ci/run` runs them all. */
const measured = ["first", "night", "restore-first", "upkeep"] as const;

test("agent and service are measured in every phase, with and without delay: both sides, bytes on the line and stored, restores compared", async (t) => {
  const options: RaceOptions = {
    ...{ scale: "XS", seed: 3, runs: 1, nights: 1, parts: [], delayMs: 20, phases: new Set(measured) },
    ...{ work: path.join(scratch, "work"), threads: 0, shortRounds: 1, pauseMs: 0, fillsMemory: false, log: () => {} },
  };
  const agent = path.resolve(import.meta.dirname, "../../packages/agent/src/main.ts");
  const folder = path.join(scratch, "service");
  const { system, close } = await startServiceSystem({ version: "test", agent, folder, lines });
  t.after(close);
  const outcome = await runRace([system], options);
  for (const phase of measured) {
    const of = (measure: Parameters<typeof medianOf>[1]) => medianOf(outcome.results, measure, { phase, part: "tree" });
    assert.ok((of("wallSeconds") ?? 0) > 0, phase);
    if (existsSync("/proc/self/stat")) {
      assert.ok((of("serverCpuSeconds") ?? 0) > 0, `${phase}: CPU of the service`);
      assert.ok((of("cpuSeconds") ?? 0) > (of("serverCpuSeconds") ?? 0), `${phase}: CPU of both sides`);
      assert.ok((of("serverPeakBytes") ?? 0) > 50_000_000, `${phase}: memory of the service`);
    }
  }
  const tree = outcome.days[0]?.total.bytes ?? 0;
  const bytes = (measure: "sentBytes" | "receivedBytes" | "addedBytes", phase: Result["phase"]) =>
    medianOf(outcome.results, measure, { phase, part: "tree" }) ?? 0;
  // What is stored was sent. A night sends a part of it, and a restore hardly anything.
  assert.ok(bytes("sentBytes", "first") > 0.05 * tree && bytes("addedBytes", "first") > 0.05 * tree);
  assert.ok(bytes("sentBytes", "night") < 0.5 * bytes("sentBytes", "first"));
  assert.ok(bytes("receivedBytes", "restore-first") > 0.05 * tree && bytes("sentBytes", "restore-first") < 0.05 * tree);
  const delayed = medianOf(outcome.results, "wallSeconds", { phase: "night", part: "delayed" });
  assert.ok(delayed !== null && delayed > 0);
  // The first restore with and without delay.
  assert.equal(outcome.checked, 2);
  const report = markdown(outcome, [system], options, { machine: "m", load: "0", date: "d", missing: ["no peers"] });
  assert.match(report, /^- no peers$/m);
  assert.match(report, /\| first backup: 20 ms of round trip cost ≤ 15 % \| [\d.]+ × \| /);
  assert.match(report, /\| first backup: wall ≤ 0\.55 × \| not measured \| – \|/);
  assert.match(report, /\| night 1 \(workday\) \| [\d.]+ \/ [\d.]+ \([\d.]+ \+ [\d.]+, [\d.]+\) \+ [\d.]+ \|/);
});

test("a line delivers everything in order and counts it; a round trip delays an answer, and another one the connection", async (t) => {
  const server = net.createServer((socket) => void socket.on("data", (bytes) => socket.write(bytes)));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const line = await lines.open((server.address() as net.AddressInfo).port);
  await line.setRoundTrip(40);
  const client = net.connect(line.port, "127.0.0.1");
  t.after(() => client.destroy());
  const began = performance.now();
  const sent = Array.from({ length: 200 }, (_, i) => `${i};`).join("");
  for (const word of sent.match(/\d+;/g) ?? []) client.write(word);
  let received = "";
  client.setEncoding("utf8");
  while (received.length < sent.length) received += (await once(client, "data"))[0];
  assert.equal(received, sent);
  assert.ok(performance.now() - began >= 79, `${performance.now() - began} ms`);
  assert.deepEqual(await line.counts(), { port: line.port, sentBytes: sent.length, receivedBytes: sent.length });
});

test("CPU seconds and memory of a server include its children, also those that ended", {
  skip: !existsSync("/proc/self/stat") && "without /proc",
}, async (t) => {
  const busy = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
  const child = spawn("sh", ["-c", `sh -c '${busy}; :'; echo done; read line`]);
  t.after(() => child.kill());
  await once(child.stdout, "data");
  const { own, all } = cpuOfTree(child.pid ?? 0);
  assert.ok(own > 0.02 && all >= own, `${own} s of ${all} s`);
  assert.ok(peakOfTree(child.pid ?? 0) > 100_000);
  child.stdin.end();
  await text(child.stdout);
});

test("a target is reached or missed beside the better peer, with the CPU that the server needs afterwards", () => {
  const result = (system: Result["system"], part: string, wallSeconds: number, totalCpuSeconds: number): Result => ({
    ...{ system, phase: "first", part, day: 0, run: 1, wallSeconds, cpuSeconds: 1, peakBytes: 1, writtenBytes: 1 },
    ...{ storedBytes: 1, addedBytes: 1, objects: 1, newBytes: null, ...withoutServer, totalCpuSeconds },
  });
  const outcome: RaceOutcome = {
    results: [
      ...[result("emanet", "tree", 5, 11), result("emanet", "delayed", 6, 11)],
      ...[result("restic", "tree", 10, 10), result("kopia", "tree", 20, 9)],
    ],
    days: [],
    checked: 0,
  };
  const of = (beginning: string) => {
    const found = compareWithTargets(outcome, 30).find(({ target }) => target.startsWith(beginning));
    return [found?.measured, found?.reached];
  };
  assert.deepEqual(of("first backup: wall"), ["0.500 ×", true]);
  assert.deepEqual(of("first backup: CPU with"), ["1.222 ×", false]);
  assert.deepEqual(of("first backup: 30 ms"), ["1.200 ×", false]);
  assert.deepEqual(of("one file: wall"), ["not measured", null]);
});
