import assert from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "../kernel/log.ts";
import type { ChangeListener, RunTx } from "../kernel/tx.ts";
import { testClock } from "../testing/clock.ts";
import { openAddressBans } from "./address-bans.ts";

/** A list whose second read waits until the test lets it fail. */
async function openWithFailingRead() {
  const lines: string[] = [];
  const failed = Promise.withResolvers<never>();
  let reads = 0;
  let changed: ChangeListener = () => assert.fail("the list does not wait for changes");
  const run: RunTx = <T>() => (reads++ === 0 ? Promise.resolve([] as T) : failed.promise);
  const bans = await openAddressBans({
    run,
    transactions: {
      onChange: (_, listener) => {
        changed = listener;
      },
    },
    clock: testClock(),
    log: createLog({ level: "info", clock: testClock(), write: (line) => lines.push(line) }),
  });
  return { bans, lines, read: () => changed(null), fail: () => failed.reject(new Error("stopped")) };
}

test("a read that fails is logged, and does not fail the change that caused it", async () => {
  const { bans, lines, read, fail } = await openWithFailingRead();
  const done = read();
  fail();
  await done;
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? "", /bans_unread/);
  await bans.close();
});

test("closing waits for a read that is under way, and its failure is not logged: the service is stopping", async () => {
  const { bans, lines, read, fail } = await openWithFailingRead();
  const done = read();
  let isClosed = false;
  const closed = bans.close().then(() => {
    isClosed = true;
  });
  await new Promise(setImmediate);
  assert.equal(isClosed, false);
  fail();
  await Promise.all([done, closed]);
  assert.deepEqual(lines, []);
});
