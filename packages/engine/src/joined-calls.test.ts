/** Questions of several askers are joined while calls are in flight, as far as one call may have them, and each gets its own answers. */

import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { type Gathering, joinedCalls } from "./joined-calls.ts";

/** A service that answers when the test says so; the answer to a number is its negative. A call has at most four questions. */
function slowService(gathering?: Gathering) {
  const calls: { readonly questions: readonly number[]; readonly end: (error?: Error) => void }[] = [];
  const ask = joinedCalls<number, number>(
    (questions) => {
      const { promise, resolve, reject } = Promise.withResolvers<readonly number[]>();
      const end = (error?: Error) => (error === undefined ? resolve(questions.map((each) => -each)) : reject(error));
      calls.push({ questions, end });
      return promise;
    },
    (questions) => questions.length <= 4,
    gathering,
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

test("while more will come a call waits until it has enough questions, and not for those of a call in flight", async () => {
  let mayMoreCome = true;
  const { calls, ask } = slowService({ calls: 2, questions: 3, mayMoreCome: () => mayMoreCome });
  const asked = [ask([1]), ask([2])];
  assert.equal(calls.length, 0);
  asked.push(ask([3]));
  assert.deepEqual(calls[0]?.questions, [1, 2, 3]);
  asked.push(ask([4]));
  assert.equal(calls.length, 1, "one more of three is not enough");
  calls[0]?.end();
  await asked[0];
  assert.equal(calls.length, 1, "nor is it when a call was answered");
  mayMoreCome = false;
  asked.push(ask([5]));
  assert.deepEqual(calls[1]?.questions, [4, 5], "the last ones wait for nothing");
  calls[1]?.end();
  assert.deepEqual(await Promise.all(asked), [[-1], [-2], [-3], [-4], [-5]]);
});

test("a call waits some milliseconds at most, also if nothing more comes", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    const { calls, ask } = slowService({ calls: 2, questions: 3, mayMoreCome: () => true });
    const asked = ask([1]);
    mock.timers.tick(39);
    assert.equal(calls.length, 0);
    mock.timers.tick(1);
    assert.deepEqual(calls[0]?.questions, [1]);
    calls[0]?.end();
    assert.deepEqual(await asked, [-1]);
    mock.timers.tick(1000);
    assert.equal(calls.length, 1, "nothing is sent without a question");
  } finally {
    mock.timers.reset();
  }
});
