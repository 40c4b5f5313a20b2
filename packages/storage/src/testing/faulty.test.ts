import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ObjectStore } from "@emanet/engine/object-store";
import { MemoryStore } from "../memory.ts";
import { rejectsWith } from "./bodies.ts";
import { conformance } from "./conformance.ts";
import { FaultyStore, faultAt, randomFaults, StoreCrash, scripted, seededRandom } from "./faulty.ts";

conformance("faulty without faults", async () => {
  const store = new FaultyStore(new MemoryStore());
  return { open: async () => store };
});

const one = Uint8Array.of(1);

describe("faulty store", () => {
  test("a planned failure is not done, a lost answer is", async () => {
    const inner = new MemoryStore();
    const store = new FaultyStore(inner, scripted({ 1: { kind: "fail", code: "full" }, 2: { kind: "lose" } }));
    await rejectsWith("full", store.put("a", one));
    await rejectsWith("unavailable", store.put("b", one));
    assert.deepEqual([...inner.objects.keys()], ["b"]);
    await store.put("c", one);
    assert.deepEqual(
      store.calls.map(({ number, operation, name }) => `${number} ${operation} ${name}`),
      ["1 put a", "2 put b", "3 put c"],
    );
  });

  for (const [when, kept] of [
    ["before", ["a"]],
    ["after", ["a", "b"]],
  ] as const) {
    test(`a crash ${when} a call ends every later call, and the store holds what a restart finds`, async () => {
      const inner = new MemoryStore();
      const store = new FaultyStore(inner, faultAt(2, { kind: "crash", when }));
      await store.put("a", one);
      await assert.rejects(store.put("b", one), StoreCrash);
      assert.equal(store.crashed, true);
      for (const call of everyCall(store)) await assert.rejects(call, StoreCrash);
      assert.deepEqual([...inner.objects.keys()], kept);
    });
  }

  test("a call under way when the process ends does not answer", async () => {
    const store = new FaultyStore(new MemoryStore(), faultAt(2, { kind: "crash", when: "after" }));
    const outcomes = await Promise.allSettled([store.put("a", slowly()), store.put("b", one)]);
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ["rejected", "rejected"],
    );
  });

  test("a delayed call waits by the given clock, then happens", async () => {
    const waits: number[] = [];
    const sleep = async (ms: number) => waits.push(ms);
    const store = new FaultyStore(new MemoryStore(), () => ({ kind: "delay", ms: 70 }), { sleep });
    await store.put("a", one);
    assert.deepEqual(await store.stat("a"), { size: 1 });
    assert.deepEqual(waits, [70, 70]);
  });

  test("a lagging list misses fresh names and shows deleted ones, until enough calls have passed", async () => {
    const store = new FaultyStore(new MemoryStore([["old", one]]), undefined, { listLag: 2 });
    await store.put("new", one);
    assert.deepEqual(await names(store), ["old"]);
    await store.delete("old");
    assert.deepEqual(await names(store), ["new", "old"]);
    assert.deepEqual(await names(store), ["new", "old"]);
    assert.deepEqual(await names(store), ["new"]);
    assert.equal(await store.stat("old"), null);
  });

  test("the same seed gives the same faults", async () => {
    const plan = () => {
      const faults = randomFaults(seededRandom(5), { fail: 0.2, lose: 0.2 });
      return Array.from({ length: 50 }, (_, n) => faults({ number: n + 1, operation: "get", name: "x" })?.kind ?? "-");
    };
    assert.deepEqual(plan(), plan());
    assert.deepEqual(new Set(plan()), new Set(["-", "fail", "lose"]));
  });
});

async function* slowly(): AsyncGenerator<Uint8Array> {
  for (let turn = 0; turn < 20; turn += 1) yield await Promise.resolve(one);
}

function everyCall(store: ObjectStore): Promise<unknown>[] {
  return [store.put("x", one), store.get("a"), store.stat("a"), names(store), store.delete("a")];
}

async function names(store: ObjectStore): Promise<string[]> {
  const seen: string[] = [];
  for await (const { name } of store.list("")) seen.push(name);
  return seen;
}
