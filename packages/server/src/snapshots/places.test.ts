import assert from "node:assert/strict";
import { test } from "node:test";
import { Places } from "./places.ts";

const { signal } = new AbortController();

/** Work that ends when the test says so. */
function task() {
  const begun = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  let isBegun = false;
  const work = async () => {
    isBegun = true;
    begun.resolve();
    await end.promise;
  };
  return { work, begun: begun.promise, end: end.resolve, isBegun: () => isBegun };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test("as many run at once as there are places, the others in the order in which they came", async () => {
  const places = new Places({ inAll: 2, perAccount: 2 });
  const [a, b, c, d] = [task(), task(), task(), task()];
  const runs = [a, b, c, d].map((one, at) => places.run(`account ${at}`, signal, one.work));
  await turn();
  assert.deepEqual([places.taken, places.waiting, c.isBegun()], [2, 2, false]);
  b.end();
  await c.begun;
  assert.equal(d.isBegun(), false);
  for (const one of [a, c, d]) one.end();
  await Promise.all(runs);
  assert.deepEqual([places.taken, places.waiting], [0, 0]);
});

test("an account at its own limit lets others pass", async () => {
  const places = new Places({ inAll: 3, perAccount: 1 });
  const [first, second, other] = [task(), task(), task()];
  const runs = [
    places.run("busy", signal, first.work),
    places.run("busy", signal, second.work),
    places.run("other", signal, other.work),
  ];
  await other.begun;
  assert.equal(second.isBegun(), false);
  first.end();
  await second.begun;
  second.end();
  other.end();
  await Promise.all(runs);
});

test("one that gives up while it waits takes no place, and an error frees one", async () => {
  const places = new Places({ inAll: 1, perAccount: 1 });
  const running = task();
  const run = places.run("a", signal, running.work);
  const control = new AbortController();
  const waiting = places.run("b", control.signal, async () => assert.fail("it gave up"));
  control.abort(new Error("gave up"));
  await assert.rejects(waiting, { message: "gave up" });
  running.end();
  await run;
  await assert.rejects(
    places.run("a", signal, () => Promise.reject(new Error("failed"))),
    { message: "failed" },
  );
  assert.equal(places.taken, 0);
});

test("content that is not read to its end frees its place", async () => {
  const places = new Places({ inAll: 1, perAccount: 1 });
  const numbers = async function* () {
    yield 1;
    yield 2;
  };
  for await (const _ of places.stream("a", signal, numbers)) break;
  assert.equal(places.taken, 0);
});
