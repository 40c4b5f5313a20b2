import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ObjectStore } from "@emanet/engine/object-store";
import { MemoryStore } from "./memory.ts";
import { RetryingStore } from "./retrying.ts";
import { patternStream, rejectsWith, seededBytes } from "./testing/bodies.ts";
import { conformance } from "./testing/conformance.ts";
import { type FaultPlan, FaultyStore, faultAt, randomFaults, scripted, seededRandom } from "./testing/faulty.ts";

// One call in five fails here, half of those after the work was done: a caller must not notice.
conformance("retrying over a store that fails and loses answers", async () => {
  const random = seededRandom(20_261_115);
  const faults = randomFaults(random, { fail: 0.1, lose: 0.1 });
  // Nothing can repeat a body that is gone once it was read, so this one is spared.
  const plan: FaultPlan = (call) => (call.name === "body/once" ? null : faults(call));
  const faulty = new FaultyStore(new MemoryStore(), plan);
  const store = new RetryingStore(faulty, { random, sleep: async () => undefined, attempts: 20 });
  return { open: async () => store };
});

const one = Uint8Array.of(1);

describe("retrying store", () => {
  test("waits grow, stay below ten seconds, are spread at random, and end after seven attempts", async () => {
    const { store, faulty, waits } = retrying(() => ({ kind: "fail", code: "unavailable" }));
    await rejectsWith("unavailable", store.get("a"));
    assert.equal(faulty.calls.length, 7);
    assert.deepEqual(waits, [187.5, 375, 750, 1500, 3000, 6000]);
    const patient = retrying(() => ({ kind: "fail", code: "unavailable" }), { attempts: 12, random: () => 0.999 });
    await rejectsWith("unavailable", patient.store.get("a"));
    assert.ok(patient.waits.every((ms) => ms < 10_000));
    assert.ok(patient.waits.slice(6).every((ms) => ms > 9_000));
  });

  test("errors that do not pass by themselves are not repeated", async () => {
    for (const code of ["full", "denied", "not_found", "range", "bad_body", "exists", "aborted"] as const) {
      const { store, faulty } = retrying(() => ({ kind: "fail", code }));
      await rejectsWith(code, store.put("a", one));
      assert.equal(faulty.calls.length, 1, code);
    }
  });

  test("an ifAbsent put whose answer got lost has won when its own bytes are there", async () => {
    for (const body of [seededBytes(1, 10), patternStream(1, 9 * 1024 * 1024)]) {
      const { store, inner } = retrying(faultAt(1, { kind: "lose" }));
      await store.put("a", body, { ifAbsent: true });
      assert.equal(inner.objects.size, 1);
    }
  });

  test("an ifAbsent put whose answer got lost has not won when another's bytes are there, also of the same size", async () => {
    const { store, inner } = retrying(faultAt(1, { kind: "fail", code: "unavailable" }));
    inner.objects.set("a", seededBytes(2, 10));
    await rejectsWith("exists", store.put("a", seededBytes(1, 10), { ifAbsent: true }));
    assert.deepEqual(new Uint8Array(await store.get("a")), seededBytes(2, 10));
  });

  test("an ifAbsent put that finds the same bytes at its first attempt has not won", async () => {
    const { store, inner } = retrying();
    inner.objects.set("a", seededBytes(1, 10));
    await rejectsWith("exists", store.put("a", seededBytes(1, 10), { ifAbsent: true }));
  });

  test("a stream that can be read once is sent once; one that can be opened again is sent again", async () => {
    const plan: FaultPlan = faultAt(1, { kind: "fail", code: "unavailable" });
    await rejectsWith("unavailable", retrying(plan).store.put("a", patternStream(1, 100)()));
    const { store, inner } = retrying(plan);
    await store.put("a", patternStream(1, 100));
    assert.equal(inner.objects.get("a")?.byteLength, 100);
  });

  test("a list that breaks goes on behind the last name it gave", async () => {
    const { store, inner, faulty } = retrying(
      scripted({ 1: { kind: "lose" }, 2: { kind: "lose" }, 4: { kind: "lose" } }),
    );
    for (const name of ["a", "b", "c", "d"]) inner.objects.set(name, one);
    const seen: string[] = [];
    for await (const { name } of store.list("")) seen.push(name);
    assert.deepEqual(seen, ["a", "b", "c", "d"]);
    assert.equal(faulty.calls.length, 3);
  });

  test("a signal that fires during a wait ends the call", async () => {
    const controller = new AbortController();
    const inner = new FaultyStore(new MemoryStore(), () => ({ kind: "fail", code: "unavailable" }));
    const sleep = async () => controller.abort();
    const store = new RetryingStore(inner, { random: () => 0, sleep });
    await rejectsWith("aborted", store.get("a", { signal: controller.signal }));
    assert.equal(inner.calls.length, 1);
  });
});

interface Parts {
  store: ObjectStore;
  inner: MemoryStore;
  faulty: FaultyStore;
  waits: number[];
}

function retrying(plan?: FaultPlan, options: { attempts?: number; random?: () => number } = {}): Parts {
  const waits: number[] = [];
  const inner = new MemoryStore();
  const faulty = new FaultyStore(inner, plan);
  const sleep = async (ms: number) => waits.push(ms);
  return { store: new RetryingStore(faulty, { random: () => 0.5, sleep, ...options }), inner, faulty, waits };
}
