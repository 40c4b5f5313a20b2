// long: 60 s

import assert from "node:assert/strict";
import { test } from "node:test";
import { needs } from "../../packages/server/src/testing/needs.ts";
import { scaled } from "../../packages/server/src/testing/scale.ts";
import { runBench } from "./bench.ts";
import { markdown, missed, rowsOf } from "./report.ts";
import { scales } from "./scale.ts";

test("every screen of a filled office opens, filters and scrolls; no list shows an empty place while it is scrolled", async (t) => {
  if (needs(t, "chromium") === undefined) return;
  const isHeavy = scaled(0, 1) === 1;
  const scale = isHeavy ? scales.S : scales.XS;
  const result = await runBench({ scale, rounds: 1, warms: isHeavy, log: () => undefined });
  const rows = rowsOf(result);
  assert.ok(rows.length >= 40, `${rows.length} interactions`);
  assert.deepEqual(
    result.scrolls.filter(({ blankFrames }) => blankFrames > 0),
    [],
  );
  assert.ok(
    result.scrolls.every(({ frames }) => frames > 10),
    "the lists were scrolled",
  );
  assert.deepEqual([...result.failures, ...result.complaints], []);
  const report = markdown(result, scale, { showsRequests: false });
  for (const { name } of rows) assert.ok(report.includes(`| ${name} |`), name);
});

test("what takes longer than its target is named, and so is a list with an empty place", () => {
  const trace = (name: string, ms: number) => ({ name, ms, targetMs: 100, cpuMs: 5, longestTaskMs: 0, requests: [] });
  const scroll = (name: string, blankFrames: number) => ({
    name,
    frames: 20,
    blankFrames,
    blank: [],
    longestFrameMs: 17,
  });
  const result = {
    traces: [trace("slow", 90), trace("slow", 130), trace("slow", 140), trace("quick", 99), trace("quick", 20)],
    scrolls: [scroll("whole", 0), scroll("holed", 2)],
    ...{ complaints: [], failures: [] },
  };
  assert.deepEqual(missed(result), ["slow: 130 ms, 100 are allowed", "holed: 2 of 20 frames have an empty place"]);
});
