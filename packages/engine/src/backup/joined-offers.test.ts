/** Offers of several portions are joined while calls are in flight, within the limits of one call, and each gets its own answers. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { joinedOffers } from "./joined-offers.ts";
import type { SegmentAnswer, SegmentQuery } from "./upload-target.ts";

/** A query with this number as its id, and so many blocks. */
function query(number: number, blocks = 1): SegmentQuery {
  const id = Buffer.alloc(32);
  id.writeUInt32LE(number);
  const blockIds = Buffer.alloc(16 * blocks);
  return { id, blockIds, hooks: [], oldSegments: [], continues: false, precedingHooks: [] };
}

const numberOf = ({ id }: SegmentQuery) => Buffer.from(id).readUInt32LE();

/** A target that answers when the test says so; each answer has the number of its query. */
function slowTarget() {
  const calls: { readonly numbers: readonly number[]; readonly end: (error?: Error) => void }[] = [];
  const offer = joinedOffers((queries) => {
    const { promise, resolve, reject } = Promise.withResolvers<readonly SegmentAnswer[]>();
    const numbers = queries.map(numberOf);
    const answers = numbers.map((ordinal) => ({ ordinal, places: [] }) as unknown as SegmentAnswer);
    calls.push({ numbers, end: (error) => (error === undefined ? resolve(answers) : reject(error)) });
    return promise;
  });
  const ordinals = async (queries: readonly SegmentQuery[]) => (await offer(queries)).map(({ ordinal }) => ordinal);
  return { calls, ordinals };
}

test("two calls are in flight; what comes meanwhile goes into one, and everybody gets the answers to what it asked", async () => {
  const { calls, ordinals } = slowTarget();
  const asked = [[1], [2, 3], [4], [5, 6, 7], [8]].map((numbers) => ordinals(numbers.map((each) => query(each))));
  assert.deepEqual(
    calls.map(({ numbers }) => numbers),
    [[1], [2, 3]],
  );
  calls[1]?.end();
  assert.deepEqual(await asked[1], [2, 3]);
  assert.deepEqual(calls[2]?.numbers, [4, 5, 6, 7, 8]);
  calls[2]?.end();
  calls[0]?.end();
  assert.deepEqual(await Promise.all(asked), [[1], [2, 3], [4], [5, 6, 7], [8]]);
  assert.equal(calls.length, 3);
});

test("a call has at most 512 segments and a megabyte of block ids, unless one portion alone has more", async () => {
  const { calls, ordinals } = slowTarget();
  const portion = (first: number, count: number, blocks = 1) =>
    ordinals(Array.from({ length: count }, (_, at) => query(first + at, blocks)));
  const asked = [portion(0, 1), portion(1, 1), portion(1000, 500), portion(2000, 12), portion(3000, 1)];
  asked.push(portion(4000, 1, 70_000), portion(5000, 1));
  for (let at = 0; at < calls.length; at++) {
    calls[at]?.end();
    await asked[at];
    await Promise.all(asked.slice(0, at));
  }
  await Promise.all(asked);
  assert.deepEqual(
    calls.slice(2).map(({ numbers }) => numbers.length),
    [512, 1, 1, 1],
  );
});

test("a call that fails fails those that were in it, and the others go on", async () => {
  const { calls, ordinals } = slowTarget();
  const asked = [1, 2, 3, 4].map((each) => ordinals([query(each)]));
  const outcomes = Promise.allSettled(asked);
  calls[0]?.end();
  await asked[0];
  calls[2]?.end(new Error("away"));
  calls[1]?.end();
  assert.deepEqual(
    (await outcomes).map(({ status }) => status),
    ["fulfilled", "fulfilled", "rejected", "rejected"],
  );
  const later = ordinals([query(9)]);
  calls.at(-1)?.end();
  assert.deepEqual(await later, [9]);
});
