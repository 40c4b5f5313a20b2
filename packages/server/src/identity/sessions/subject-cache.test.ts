import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { maxAgeMs, SubjectCache } from "./subject-cache.ts";
import type { SubjectRow } from "./subject-store.ts";

/** A cache of rows that only have an account, with a clock that the test moves. */
function cacheOf(rows: Readonly<Record<string, string | null>>) {
  const reads: string[] = [];
  let nowMs = 0;
  const gates: PromiseWithResolvers<void>[] = [];
  let isGated = false;
  const cache = new SubjectCache({
    async read(sessionId) {
      reads.push(sessionId);
      if (isGated) {
        const gate = Promise.withResolvers<void>();
        gates.push(gate);
        await gate.promise;
      }
      const account = rows[sessionId];
      return account === undefined ? undefined : ({ account_id: account } as SubjectRow);
    },
    monotonic: () => nowMs,
  });
  return {
    cache,
    /** The sessions that were read since the last call. */
    reads: () => reads.splice(0),
    advance: (ms: number) => {
      nowMs += ms;
    },
    hold: () => {
      isGated = true;
    },
    letGo: () => {
      isGated = false;
      for (const gate of gates) gate.resolve();
    },
  };
}

describe("the rows of sessions in memory", () => {
  test("are used for less than the contract's second after their read, with or without a notice of a change", async () => {
    const { cache, reads, advance } = cacheOf({ one: "a" });
    await cache.find("one");
    advance(maxAgeMs - 1);
    await cache.find("one");
    assert.deepEqual(reads(), ["one"]);
    advance(1);
    await cache.find("one");
    assert.deepEqual(reads(), ["one"]);
    assert.ok(maxAgeMs < 1_000);
  });

  test("count their age from the beginning of the read: a slow database makes no row live longer", async () => {
    const { cache, reads, advance, hold, letGo } = cacheOf({ one: "a" });
    hold();
    const slow = cache.find("one");
    advance(maxAgeMs);
    letGo();
    await slow;
    await cache.find("one");
    assert.deepEqual(reads(), ["one", "one"]);
  });

  test("of an account are read again after a notice about it; those of others are not", async () => {
    const { cache, reads } = cacheOf({ one: "a", two: "b", staff: null });
    const all = () => Promise.all(["one", "two", "staff"].map((id) => cache.find(id)));
    await all();
    reads();
    cache.forget("a");
    await all();
    assert.deepEqual(reads(), ["one"]);
    cache.forget(null);
    await all();
    assert.deepEqual(reads(), ["one", "two", "staff"]);
  });

  test("that were being read when the notice came are read again", async () => {
    const { cache, reads, hold, letGo } = cacheOf({ one: "a" });
    hold();
    const early = cache.find("one");
    cache.forget("b");
    letGo();
    await Promise.all([early, cache.find("one")]);
    await cache.find("one");
    assert.deepEqual(reads(), ["one", "one"]);
  });

  test("are read once for requests that come at the same time", async () => {
    const { cache, reads } = cacheOf({ one: "a" });
    await Promise.all(Array.from({ length: 10 }, () => cache.find("one")));
    assert.deepEqual(reads(), ["one"]);
  });

  test("that do not exist, or could not be read, are looked for again by the next request", async () => {
    const { cache, reads } = cacheOf({});
    await cache.find("none");
    await cache.find("none");
    assert.deepEqual(reads(), ["none", "none"]);
    let isDown = true;
    const failing = new SubjectCache({
      read: async () => (isDown ? Promise.reject(new Error("down")) : undefined),
      monotonic: () => 0,
    });
    await assert.rejects(failing.find("one"), /down/);
    isDown = false;
    assert.equal(await failing.find("one"), undefined);
  });

  test("are bounded: thousands of sessions at once leave no more than the limit in memory", async () => {
    const { cache, reads } = cacheOf(Object.fromEntries(Array.from({ length: 12_000 }, (_, at) => [`s${at}`, "a"])));
    for (let at = 0; at < 12_000; at++) await cache.find(`s${at}`);
    reads();
    await cache.find("s11999");
    assert.deepEqual(reads(), []);
    await cache.find("s0");
    assert.deepEqual(reads(), ["s0"]);
  });
});
