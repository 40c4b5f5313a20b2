/** Questions of several askers are joined while calls are in flight, as far as one call may have them, and each gets its own answers. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { joinedCalls } from "./joined-calls.ts";

/** A service that answers when the test says so; the answer to a number is its negative. A call has at most four questions. */
function slowService() {
  const calls: { readonly questions: readonly number[]; readonly end: (error?: Error) => void }[] = [];
  const ask = joinedCalls<number, number>(
    (questions) => {
      const { promise, resolve, reject } = Promise.withResolvers<readonly number[]>();
      const end = (error?: Error) => (error === undefined ? resolve(questions.map((each) => -each)) : reject(error));
      calls.push({ questions, end });
      return promise;
    },
    (questions) => questions.length <= 4,
  );
  return { calls, ask };
}

test("two calls are in flight; what is asked meanwhile goes into one, and everybody gets the answers to what it asked", async () => {
  const { calls, ask } = slowService();
  const asked = [[1], [2, 3], [4], [5, 6], [7]].map((questions) => ask(questions));
  assert.deepEqual(
    calls.map(({ questions }) => questions),
    [[1], [2, 3]],
  );
  calls[1]?.end();
  assert.deepEqual(await asked[1], [-2, -3]);
  assert.deepEqual(calls[2]?.questions, [4, 5, 6, 7]);
  calls[2]?.end();
  calls[0]?.end();
  assert.deepEqual(await Promise.all(asked), [[-1], [-2, -3], [-4], [-5, -6], [-7]]);
  assert.equal(calls.length, 3);
});

test("a call has no more than fits, in the order in which it was asked, unless one asker alone has more", async () => {
  const { calls, ask } = slowService();
  const asked = [[1], [2], [3, 4, 5], [6, 7], [8, 9, 10, 11, 12], [13]].map((questions) => ask(questions));
  for (let at = 0; at < calls.length; at++) {
    calls[at]?.end();
    await new Promise((resolve) => setImmediate(resolve));
  }
  await Promise.all(asked);
  assert.deepEqual(
    calls.slice(2).map(({ questions }) => questions),
    [[3, 4, 5], [6, 7], [8, 9, 10, 11, 12], [13]],
  );
});

test("a call that fails fails those that were in it, and the others go on", async () => {
  const { calls, ask } = slowService();
  const asked = [1, 2, 3, 4].map((each) => ask([each]));
  const outcomes = Promise.allSettled(asked);
  calls[0]?.end();
  await asked[0];
  calls[2]?.end(new Error("away"));
  calls[1]?.end();
  assert.deepEqual(
    (await outcomes).map(({ status }) => status),
    ["fulfilled", "fulfilled", "rejected", "rejected"],
  );
  const later = ask([9]);
  calls.at(-1)?.end();
  assert.deepEqual(await later, [-9]);
});
