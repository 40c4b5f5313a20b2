import assert from "node:assert/strict";
import { test } from "node:test";
import { FrameAreas, releaseArea } from "./frame-areas.ts";

test("an area is given out once until it is emptied; when all are full there is memory all the same", () => {
  const outbox = new FrameAreas(2, 1000);
  const first = outbox.room(1000);
  const second = outbox.room(10);
  assert.notEqual(first.buffer, second.buffer);
  const third = outbox.room(10);
  assert.ok(third.buffer instanceof ArrayBuffer);
  first.fill(1);
  second.fill(2);
  third.fill(3);
  assert.deepEqual([first[0], second[0], third[0]], [1, 2, 3]);
  releaseArea(second);
  assert.equal(outbox.room(20).buffer, second.buffer);
  assert.ok(outbox.room(20).buffer instanceof ArrayBuffer);
});

test("what is longer than an area gets memory of its own and takes none", () => {
  const outbox = new FrameAreas(1, 1000);
  assert.equal(outbox.room(1001).length, 1001);
  assert.ok(outbox.room(1000).buffer instanceof SharedArrayBuffer);
});

test("emptying memory that is no area does nothing", () => {
  const own = Buffer.allocUnsafeSlow(8).fill(7);
  releaseArea(own);
  assert.deepEqual([...own], [7, 7, 7, 7, 7, 7, 7, 7]);
});
