/**
 * The guarantees of the object store port as tests. Every implementation and every wrapper runs all of them:
 *
 *   conformance("memory", async () => { const store = new MemoryStore(); return { open: async () => store }; });
 *
 * A *place* holds objects; `open` returns a handle on it, so two handles are like two processes. Each test uses
 * names under a folder of its own, so they share one place and leave it as it is.
 */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { isObjectStoreError, type ObjectStore, type ObjectStoreErrorCode } from "@emanet/engine/object-store";
import { patternStream, rejectsWith, seededBytes, sha256 } from "./bodies.ts";

export interface Place {
  open(): Promise<ObjectStore>;
  close?(): Promise<void>;
}

export interface ConformanceOptions {
  /** Shown as the reason; nothing is run. */
  readonly skip?: string | undefined;
}

/** Declares the suite for one implementation. */
export function conformance(label: string, makePlace: () => Promise<Place>, options: ConformanceOptions = {}): void {
  describe(`object store: ${label}`, { skip: options.skip ?? false }, () => {
    let place: Place;
    let store: ObjectStore;
    before(async () => {
      place = await makePlace();
      store = await place.open();
    });
    after(async () => place?.close?.());
    const suite: Suite = { store: () => store, place: () => place };
    objectTests(suite);
    rangeTests(suite);
    bodyTests(suite);
    brokenBodyTests(suite);
    raceTests(suite);
    listTests(suite);
    abortTests(suite);
  });
}

interface Suite {
  store(): ObjectStore;
  place(): Place;
}

/** The largest pack: what one put has to carry. */
const largestPackBytes = 64 * 1024 * 1024;

/** Three pages of S3's 1000, so that paging and resuming are both seen. */
const listedNames = 2050;

/** Enough writers to collide, few enough for a server on two cores. */
const contenders = 24;

function objectTests({ store }: Suite): void {
  test("what was put is read back, byte for byte, and has its size", async () => {
    const bytes = seededBytes(1, 70_001);
    await store().put("object/one", bytes);
    assert.deepEqual(await readAll(store(), "object/one"), bytes);
    assert.deepEqual(await store().stat("object/one"), { size: 70_001 });
  });

  test("an object of 0 bytes is an object", async () => {
    await store().put("object/empty", new Uint8Array(0));
    assert.equal((await store().get("object/empty")).byteLength, 0);
    assert.deepEqual(await store().stat("object/empty"), { size: 0 });
    assert.equal((await store().get("object/empty", { range: { offset: 0, length: 0 } })).byteLength, 0);
    await rejectsWith("range", store().get("object/empty", { range: { offset: 0, length: 1 } }));
  });

  test("a missing object is not_found to get and null to stat", async () => {
    await rejectsWith("not_found", store().get("object/none"));
    await rejectsWith("not_found", store().get("object/none", { range: { offset: 0, length: 0 } }));
    await rejectsWith("not_found", store().get("object/none", { range: { offset: 3, length: 9 } }));
    assert.equal(await store().stat("object/none"), null);
    assert.equal(await store().stat("object/no/such/folder"), null);
  });

  test("put replaces a whole object, also by a shorter one", async () => {
    await store().put("object/replaced", seededBytes(2, 5000));
    await store().put("object/replaced", seededBytes(3, 10));
    assert.deepEqual(await readAll(store(), "object/replaced"), seededBytes(3, 10));
  });

  test("bytes given and bytes returned are not shared with the store", async () => {
    const given = seededBytes(4, 100);
    await store().put("object/copied", given);
    given.fill(0);
    const returned = await store().get("object/copied");
    assert.deepEqual(Buffer.from(returned), Buffer.from(seededBytes(4, 100)));
    returned.fill(0);
    assert.deepEqual(await readAll(store(), "object/copied"), seededBytes(4, 100));
  });

  test("a deleted object is gone, and deleting it again, or what never was, succeeds", async () => {
    await store().put("object/deleted", seededBytes(5, 10));
    await store().delete("object/deleted");
    assert.equal(await store().stat("object/deleted"), null);
    await rejectsWith("not_found", store().get("object/deleted"));
    assert.deepEqual(await names(store(), "object/deleted"), []);
    await store().delete("object/deleted");
    await store().delete("object/never/was");
    await store().put("object/deleted", seededBytes(6, 10), { ifAbsent: true });
    assert.deepEqual(await readAll(store(), "object/deleted"), seededBytes(6, 10));
  });

  test("odd but allowed names are kept apart and read back", async () => {
    const odd = ["odd/0", "odd/a.b", "odd/a-b", "odd/a_b", "odd/a--", "odd/a..b", "odd/a0", `odd/${"x".repeat(128)}`];
    const deep = `odd/${"d/".repeat(120)}x`;
    for (const name of [...odd, deep]) await store().put(name, Buffer.from(name));
    for (const name of [...odd, deep]) assert.equal(Buffer.from(await store().get(name)).toString(), name);
  });

  test("a name that is not allowed is refused by every call, and nothing is stored", async () => {
    for (const name of ["../escape", "a/../../b", "/etc/passwd", "", "A", "a b", ".tmp/x", "a\\b", "a\0"]) {
      await rejectsWith("bad_name", store().put(name, new Uint8Array(1)));
      await rejectsWith("bad_name", store().get(name));
      await rejectsWith("bad_name", store().stat(name));
      await rejectsWith("bad_name", store().delete(name));
    }
    await rejectsWith("bad_name", names(store(), "../"));
  });
}

function rangeTests({ store }: Suite): void {
  test("a range is answered exactly, at both edges and inside", async () => {
    const bytes = seededBytes(7, 10_000);
    await store().put("range/one", bytes);
    const ranges = [
      [0, 1],
      [9_999, 1],
      [0, 10_000],
      [1, 9_999],
      [4_096, 4_096],
      [0, 0],
      [10_000, 0],
    ] as const;
    for (const [offset, length] of ranges) {
      const got = await store().get("range/one", { range: { offset, length } });
      assert.deepEqual(Buffer.from(got), Buffer.from(bytes.subarray(offset, offset + length)));
    }
  });

  test("a range that reaches past the end is refused, never answered short", async () => {
    await store().put("range/short", seededBytes(8, 100));
    for (const [offset, length] of [
      [0, 101],
      [99, 2],
      [100, 1],
      [101, 0],
      [5_000, 5],
      [-1, 1],
      [0, 0.5],
    ] as const) {
      await rejectsWith("range", store().get("range/short", { range: { offset, length } }));
    }
  });
}

function bodyTests({ store }: Suite): void {
  test("the largest pack is streamed in and out, its size known or not", async () => {
    const expected = createHash("sha256");
    for await (const chunk of patternStream(9, largestPackBytes)()) expected.update(chunk);
    const wanted = expected.digest("hex");
    await store().put("body/known", patternStream(9, largestPackBytes), { size: largestPackBytes });
    await store().put("body/unknown", patternStream(9, largestPackBytes), { ifAbsent: true });
    for (const name of ["body/known", "body/unknown"]) {
      assert.deepEqual(await store().stat(name), { size: largestPackBytes });
      assert.equal(sha256(await store().get(name)), wanted);
    }
    await rejectsWith("exists", store().put("body/known", patternStream(1, largestPackBytes), { ifAbsent: true }));
    assert.equal(sha256(await store().get("body/known")), wanted);
    for (const name of ["body/known", "body/unknown"]) await store().delete(name);
  });

  test("a stream that can be read only once is a body", async () => {
    await store().put("body/once", patternStream(16, 9_000_000)());
    assert.equal(sha256(await store().get("body/once")), sha256(await collect(patternStream(16, 9_000_000)())));
  });

  test("a stream may reuse its buffer once the next chunk is asked for", async () => {
    async function* reusing(): AsyncGenerator<Uint8Array> {
      const buffer = new Uint8Array(1000);
      for (let value = 1; value <= 20; value += 1) yield buffer.fill(value);
    }
    await store().put("body/reused", reusing);
    const got = await store().get("body/reused");
    for (let value = 1; value <= 20; value += 1) assert.equal(got[value * 1000 - 1], value);
  });

  test("empty chunks, and no chunk at all, are bodies", async () => {
    async function* sparse(): AsyncGenerator<Uint8Array> {
      yield new Uint8Array(0);
      yield Uint8Array.of(1);
      yield new Uint8Array(0);
    }
    async function* nothing(): AsyncGenerator<Uint8Array> {}
    await store().put("body/sparse", sparse, { size: 1 });
    await store().put("body/nothing", nothing);
    assert.deepEqual(await store().stat("body/sparse"), { size: 1 });
    assert.deepEqual(await store().stat("body/nothing"), { size: 0 });
  });
}

function brokenBodyTests({ store }: Suite): void {
  for (const [label, bytes] of [
    ["early", 10_000],
    ["after 20 MiB", 20 * 1024 * 1024],
  ] as const) {
    test(`a body that fails ${label} leaves nothing, and what was there before stays`, async () => {
      const name = `body/failed-${bytes}`;
      await rejectsWith(
        "bad_body",
        store().put(name, () => failingStream(bytes)),
      );
      assert.equal(await store().stat(name), null);
      await store().put(name, seededBytes(10, 10));
      await rejectsWith(
        "bad_body",
        store().put(name, () => failingStream(bytes)),
      );
      assert.deepEqual(await readAll(store(), name), seededBytes(10, 10));
    });
  }

  test("a body of another size than announced is refused and leaves nothing", async () => {
    for (const size of [99, 101, 0]) {
      await rejectsWith("bad_body", store().put("body/lied", patternStream(1, 100), { size }));
      await rejectsWith("bad_body", store().put("body/lied", seededBytes(1, 100), { size }));
    }
    await rejectsWith("too_large", store().put("body/lied", patternStream(1, 1), { size: 2 ** 31 }));
    assert.equal(await store().stat("body/lied"), null);
  });
}

function raceTests({ store, place }: Suite): void {
  test("ifAbsent refuses a name that is taken and changes nothing", async () => {
    await store().put("race/taken", seededBytes(11, 100), { ifAbsent: true });
    await rejectsWith("exists", store().put("race/taken", seededBytes(12, 200), { ifAbsent: true }));
    assert.deepEqual(await readAll(store(), "race/taken"), seededBytes(11, 100));
  });

  for (const [count, bytes] of [
    [contenders, 1_000],
    [contenders / 4, 9 * 1024 * 1024],
  ] as const) {
    test(`of ${count} concurrent ifAbsent puts of ${bytes} bytes exactly one wins, and its bytes are there`, async () => {
      const handles = [store(), await place().open()];
      const name = `race/won-${bytes}`;
      const outcomes = await Promise.all(
        Array.from({ length: count }, (_, seed) => outcome(handles[seed % 2], name, patternStream(seed, bytes))),
      );
      assert.equal(outcomes.filter((code) => code === "won").length, 1, outcomes.join(" "));
      assert.equal(outcomes.filter((code) => code === "exists").length, count - 1, outcomes.join(" "));
      const winner = await collect(patternStream(outcomes.indexOf("won"), bytes)());
      assert.equal(sha256(await store().get(name)), sha256(winner));
    });
  }

  test("readers see the old object or the new one, whole, while it is replaced", async () => {
    const versions = [0, 1, 2, 3].map((seed) => new Uint8Array(200_000).fill(seed + 1));
    await store().put("race/replaced", versions[0] ?? new Uint8Array());
    const second = await place().open();
    let writing = true;
    const writer = inParallel(Array.from({ length: 12 }), 1, (_, round) =>
      store().put("race/replaced", versions[round % 4] ?? new Uint8Array()),
    ).finally(() => {
      writing = false;
    });
    while (writing) {
      const seen = await second.get("race/replaced");
      assert.equal(seen.byteLength, 200_000);
      assert.ok(seen.every((byte) => byte === seen[0]));
    }
    await writer;
  });

  test("a second handle sees what the first has written and deleted", async () => {
    const second = await place().open();
    await store().put("race/shared", seededBytes(13, 10));
    assert.deepEqual(await readAll(second, "race/shared"), seededBytes(13, 10));
    assert.deepEqual(await names(second, "race/sh"), ["race/shared"]);
    await second.delete("race/shared");
    assert.equal(await store().stat("race/shared"), null);
  });
}

function listTests({ store }: Suite): void {
  test(`a list of ${listedNames} names is complete, in order, with sizes, and resumes behind any name`, async () => {
    const wanted = Array.from(
      { length: listedNames },
      (_, n) => `list/many/${createHash("md5").update(`${n}`).digest("hex")}`,
    );
    await inParallel(wanted, 32, (name, n) => store().put(name, new Uint8Array(n % 7)));
    wanted.sort();
    const seen: string[] = [];
    for await (const entry of store().list("list/many/")) {
      seen.push(entry.name);
      if (seen.length % 500 === 0) assert.deepEqual(await store().stat(entry.name), { size: entry.size });
    }
    assert.deepEqual(seen, wanted);
    for (const index of [0, 999, 1000, listedNames - 2, listedNames - 1]) {
      assert.deepEqual(await names(store(), "list/many/", wanted[index]), wanted.slice(index + 1));
    }
    const middle = "list/many/8";
    assert.deepEqual(
      await names(store(), middle),
      wanted.filter((name) => name.startsWith(middle)),
    );
    await inParallel(wanted, 32, (name) => store().delete(name));
    assert.deepEqual(await names(store(), "list/many/"), []);
  });

  test("folders and names around the slash are listed in the order of their bytes", async () => {
    const wanted = ["a-b", "a-b.c", "a.b", "a.b-c", "a/b", "a/b-", "a/c/d", "a/c0", "a0", "a0-/x", "a0b", "aa", "b/a"]
      .map((name) => `list/order/${name}`)
      .sort();
    for (const name of wanted) await store().put(name, new Uint8Array(1));
    assert.deepEqual(await names(store(), "list/order/"), wanted);
    for (const prefix of ["list/order/a", "list/order/a.", "list/order/a/", "list/order/a/c", "list/ord"]) {
      const expected = wanted.filter((name) => name.startsWith(prefix));
      assert.deepEqual(await names(store(), prefix), expected, prefix);
      for (const name of wanted) {
        const behind = expected.filter((other) => other > name);
        assert.deepEqual(await names(store(), prefix, name), behind, `${prefix} after ${name}`);
      }
    }
    assert.deepEqual(await names(store(), "list/order/a", "list/order/a.c"), wanted.slice(4, -1));
    assert.deepEqual(await names(store(), "list/order/none"), []);
  });

  test("a list that is not read to its end, and writes during a list, cause no errors", async () => {
    for (const n of [1, 2, 3, 4]) await store().put(`list/left/${n}`, new Uint8Array(1));
    for await (const entry of store().list("list/left/")) {
      assert.equal(entry.name, "list/left/1");
      break;
    }
    const seen: string[] = [];
    for await (const { name } of store().list("list/left/")) {
      seen.push(name);
      if (seen.length === 1) await store().delete("list/left/3");
      if (seen.length === 2) await store().put("list/left/5", new Uint8Array(1));
    }
    const certain = seen.filter((name) => !/[35]$/.test(name));
    assert.deepEqual(certain, ["list/left/1", "list/left/2", "list/left/4"]);
  });
}

function abortTests({ store }: Suite): void {
  test("a signal that has already fired ends every call before it does anything", async () => {
    const signal = AbortSignal.abort(new Error("enough"));
    await store().put("abort/kept", new Uint8Array(1));
    await rejectsWith("aborted", store().put("abort/new", new Uint8Array(1), { signal }));
    await rejectsWith("aborted", store().get("abort/kept", { signal }));
    await rejectsWith("aborted", store().stat("abort/kept", { signal }));
    await rejectsWith("aborted", store().delete("abort/kept", { signal }));
    await rejectsWith("aborted", collectNames(store().list("abort/", { signal })));
    assert.deepEqual(await names(store(), "abort/"), ["abort/kept"]);
  });

  for (const bytes of [1_000, 20 * 1024 * 1024]) {
    test(`a put that is aborted while its body stalls after ${bytes} bytes ends, and leaves nothing`, async () => {
      const controller = new AbortController();
      async function* stalling(): AsyncGenerator<Uint8Array> {
        yield* patternStream(14, bytes)();
        controller.abort(new Error("enough"));
        await new Promise(() => undefined);
      }
      const name = `abort/stalled-${bytes}`;
      await rejectsWith("aborted", store().put(name, stalling, { signal: controller.signal }));
      assert.equal(await store().stat(name), null);
      assert.deepEqual(await names(store(), name), []);
    });
  }
}

async function* failingStream(bytes: number): AsyncGenerator<Uint8Array> {
  yield* patternStream(15, bytes)();
  throw new Error("the disk with the spool file broke");
}

async function outcome(
  store: ObjectStore | undefined,
  name: string,
  body: () => AsyncIterable<Uint8Array>,
): Promise<"won" | ObjectStoreErrorCode> {
  try {
    await store?.put(name, body, { ifAbsent: true });
    return "won";
  } catch (error) {
    if (isObjectStoreError(error)) return error.code;
    throw error;
  }
}

async function readAll(store: ObjectStore, name: string): Promise<Uint8Array> {
  return new Uint8Array(await store.get(name));
}

async function names(store: ObjectStore, prefix: string, behind?: string): Promise<string[]> {
  return collectNames(store.list(prefix, { after: behind }));
}

async function collectNames(entries: AsyncIterable<{ name: string }>): Promise<string[]> {
  const seen: string[] = [];
  for await (const { name } of entries) seen.push(name);
  return seen;
}

async function collect(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(new Uint8Array(chunk));
  return Buffer.concat(parts);
}

async function inParallel<T>(items: readonly T[], width: number, work: (item: T, index: number) => Promise<unknown>) {
  const queue = items.entries();
  const worker = async () => {
    for (const [index, item] of queue) await work(item, index);
  };
  await Promise.all(Array.from({ length: width }, worker));
}
