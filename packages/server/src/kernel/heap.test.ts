import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startTestService } from "../testing/running.ts";

test("a small buffer that a running service keeps holds less than 9 KiB of memory", async () => {
  await startTestService({ after });
  // The pool of before the start is still used up.
  for (let used = 0; used <= 64 * 1024; used += 1000) Buffer.from("x".repeat(1000));
  const { buffer } = Buffer.from("kept");
  assert.ok(buffer.byteLength < 9 * 1024, `${buffer.byteLength} bytes`);
});
