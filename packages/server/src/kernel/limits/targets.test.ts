import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { testClock } from "../../testing/clock.ts";
import { needs } from "../../testing/needs.ts";
import { connected, startRedis } from "../../testing/redis.ts";
import { createTargetWatch, suspiciousTargets, suspiciousWindowMs, type WatchedSubject } from "./targets.ts";

function watching() {
  const clock = testClock();
  const reported: WatchedSubject[] = [];
  const watch = createTargetWatch({
    clock,
    nameOf: (id) => id,
    onSuspicious: (subject) => void reported.push(subject),
    onError: (error) => assert.fail(String(error)),
  });
  return { clock, reported, watch };
}

const someone = { kind: "address", id: "192.0.2.1" } as const;

describe("different targets", () => {
  test("so many within a minute are reported once; fewer never, however long it goes on", () => {
    const { clock, reported, watch } = watching();
    for (let n = 0; n < suspiciousTargets - 1; n++) watch.saw(someone, `/${n}`);
    for (let n = 0; n < suspiciousTargets - 1; n++) watch.saw(someone, `/${n}`);
    assert.equal(reported.length, 0);
    watch.saw(someone, "/one-more");
    assert.deepEqual(reported, [someone]);
    for (let n = 0; n < 3 * suspiciousTargets; n++) {
      // One in 61 milliseconds: 984 in any minute.
      clock.advance(Math.ceil(suspiciousWindowMs / suspiciousTargets) + 1);
      watch.saw({ ...someone, id: "192.0.2.2" }, `/${n}`);
    }
    assert.equal(reported.length, 1);
  });

  test("of others do not count", () => {
    const { reported, watch } = watching();
    for (let n = 0; n < suspiciousTargets * 2; n++) {
      watch.saw({ kind: "client", id: `c${n % 3}`, accountId: "a" }, `/${n}`);
    }
    assert.equal(reported.length, 0);
  });

  test("memory is bounded whatever comes: subjects not seen for longest are forgotten", () => {
    const { reported, watch } = watching();
    for (let n = 0; n < 900; n++) watch.saw(someone, `/${n}`);
    for (let n = 0; n < 60_000; n++) watch.saw({ kind: "address", id: String(n) }, "/");
    for (let n = 900; n < 1_100; n++) watch.saw(someone, `/${n}`);
    assert.equal(reported.length, 0, "what was forgotten does not count");
  });
});

test("with a shared store the targets of all processes count together, and the subject is reported", async (t) => {
  const command = needs(t, "redis");
  if (command === undefined) return;
  const redis = await startRedis({ after }, command);
  const reported = Promise.withResolvers<WatchedSubject>();
  const watches = await Promise.all(
    [0, 1, 2, 3].map(async () =>
      createTargetWatch({
        clock: testClock(),
        redis: await connected({ after }, redis),
        nameOf: (id) => `hidden ${id.length}`,
        onSuspicious: reported.resolve,
        onError: reported.reject,
      }),
    ),
  );
  for (let n = 0; n < suspiciousTargets; n++) watches[n % 4]?.saw(someone, `/${n}`);
  assert.deepEqual(await reported.promise, someone);
});
