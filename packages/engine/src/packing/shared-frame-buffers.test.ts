import assert from "node:assert/strict";
import { test } from "node:test";
import { releaseFrameBuffer, SharedFrameBuffers } from "./shared-frame-buffers.ts";

test("a shared buffer is allocated once until it is released; with all in use a frame gets ordinary memory", () => {
  const buffers = new SharedFrameBuffers(2, 1000);
  const first = buffers.allocate(1000);
  const second = buffers.allocate(10);
  assert.notEqual(first.buffer, second.buffer);
  const third = buffers.allocate(10);
  assert.ok(third.buffer instanceof ArrayBuffer);
  first.fill(1);
  second.fill(2);
  third.fill(3);
  assert.deepEqual([first[0], second[0], third[0]], [1, 2, 3]);
  releaseFrameBuffer(second);
  assert.equal(buffers.allocate(20).buffer, second.buffer);
  assert.ok(buffers.allocate(20).buffer instanceof ArrayBuffer);
});

test("a frame that is longer than a buffer gets ordinary memory and leaves the buffers free", () => {
  const buffers = new SharedFrameBuffers(1, 1000);
  assert.equal(buffers.allocate(1001).length, 1001);
  assert.ok(buffers.allocate(1000).buffer instanceof SharedArrayBuffer);
});

test("releasing ordinary memory does nothing", () => {
  const own = Buffer.allocUnsafeSlow(8).fill(7);
  releaseFrameBuffer(own);
  assert.deepEqual([...own], [7, 7, 7, 7, 7, 7, 7, 7]);
});
