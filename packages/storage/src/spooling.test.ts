import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { describe, type TestContext, test } from "node:test";
import { MemoryStore } from "./memory.ts";
import { RetryingStore } from "./retrying.ts";
import { SpoolingStore } from "./spooling.ts";
import { patternStream, rejectsWith, seededBytes } from "./testing/bodies.ts";
import { conformance } from "./testing/conformance.ts";
import { type FaultPlan, FaultyStore, randomFaults, scripted, seededRandom } from "./testing/faulty.ts";

// As a bucket is used: one call in five fails or loses its answer, and a caller must not notice, whatever the body is.
conformance("spooling over retrying over a store that fails and loses answers", async () => {
  const random = seededRandom(20_261_116);
  const faulty = new FaultyStore(new MemoryStore(), randomFaults(random, { fail: 0.1, lose: 0.1 }));
  const retrying = new RetryingStore(faulty, { random, sleep: async () => undefined, attempts: 20 });
  const store = new SpoolingStore(retrying, { folder: os.tmpdir(), randomBytes });
  return { open: async () => store };
});

describe("spooling store", () => {
  test("a stream that can be read once is sent again after a failure and after a lost answer", async (t) => {
    const plan = scripted({ 1: { kind: "fail", code: "unavailable" }, 2: { kind: "lose" } });
    const { store, inner, faulty, left } = spooling(t, plan);
    await store.put("a", patternStream(1, 3_000_000)());
    assert.equal(faulty.calls.length, 3);
    const expected = new MemoryStore();
    await expected.put("a", patternStream(1, 3_000_000)());
    assert.deepEqual(inner.objects.get("a"), expected.objects.get("a"));
    assert.deepEqual(left(), []);
  });

  test("a body that fails or is given up reaches no store and leaves no file", async (t) => {
    const { store, faulty, left } = spooling(t);
    await rejectsWith("bad_body", store.put("a", failing()));
    await rejectsWith("bad_body", store.put("a", patternStream(1, 100)(), { size: 99 }));
    const stop = new AbortController();
    await rejectsWith("aborted", store.put("a", stopping(stop), { signal: stop.signal }));
    assert.deepEqual([faulty.calls.length, left()], [0, []]);
  });

  test("while it waits a body has no name in the folder", { skip: process.platform === "win32" }, async (t) => {
    const { store, left } = spooling(t);
    const seen: string[][] = [];
    await store.put(
      "a",
      looking(() => seen.push(left())),
    );
    assert.deepEqual(seen, [[]]);
  });

  test("a folder that is not there is said, and nothing is sent", async () => {
    const inner = new MemoryStore();
    const store = new SpoolingStore(inner, { folder: path.join(os.tmpdir(), "emanet-not-there"), randomBytes });
    await assert.rejects(store.put("a", patternStream(1, 10)()), /spool a/);
    await store.put("b", seededBytes(1, 10));
    assert.deepEqual([...inner.objects.keys()], ["b"]);
  });
});

function spooling(t: TestContext, plan?: FaultPlan) {
  const folder = mkdtempSync(path.join(os.tmpdir(), "emanet-spooling-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const inner = new MemoryStore();
  const faulty = new FaultyStore(inner, plan);
  const retrying = new RetryingStore(faulty, { random: () => 0.5, sleep: async () => undefined });
  const store = new SpoolingStore(retrying, { folder, randomBytes });
  return { store, inner, faulty, left: () => readdirSync(folder) };
}

async function* failing(): AsyncGenerator<Uint8Array> {
  yield seededBytes(1, 10);
  throw new Error("the source is gone");
}

async function* stopping(stop: AbortController): AsyncGenerator<Uint8Array> {
  yield seededBytes(1, 10);
  stop.abort();
  yield seededBytes(2, 10);
}

async function* looking(look: () => void): AsyncGenerator<Uint8Array> {
  yield seededBytes(1, 10);
  look();
}
