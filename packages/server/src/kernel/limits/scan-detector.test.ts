import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { testClock } from "../../testing/clock.ts";
import { needs } from "../../testing/needs.ts";
import { connected, startRedis } from "../../testing/redis.ts";
import { createScanDetector, type ScanSubject, scanTargets, scanWindowMs } from "./scan-detector.ts";

function detecting() {
  const clock = testClock();
  const reported: ScanSubject[] = [];
  const detector = createScanDetector({
    clock,
    nameOf: (id) => id,
    onScan: (subject) => void reported.push(subject),
    onError: (error) => assert.fail(String(error)),
  });
  return { clock, reported, detector };
}

const someone = { kind: "address", id: "192.0.2.1" } as const;

describe("different targets", () => {
  test("so many within a minute are reported once; fewer never, however long it goes on", () => {
    const { clock, reported, detector } = detecting();
    for (let n = 0; n < scanTargets - 1; n++) detector.observe(someone, `/${n}`);
    for (let n = 0; n < scanTargets - 1; n++) detector.observe(someone, `/${n}`);
    assert.equal(reported.length, 0);
    detector.observe(someone, "/one-more");
    assert.deepEqual(reported, [someone]);
    for (let n = 0; n < 3 * scanTargets; n++) {
      // One in 61 milliseconds: 984 in any minute.
      clock.advance(Math.ceil(scanWindowMs / scanTargets) + 1);
      detector.observe({ ...someone, id: "192.0.2.2" }, `/${n}`);
    }
    assert.equal(reported.length, 1);
  });

  test("one that is asked for again and again counts as long as it is, and no longer", () => {
    for (const { seconds, reports } of [
      { seconds: 59, reports: 1 },
      { seconds: 61, reports: 0 },
    ]) {
      const { clock, reported, detector } = detecting();
      // For half a minute, several times a second.
      for (let n = 0; n < 100; n++, clock.advance(300)) detector.observe(someone, "/again");
      clock.advance((seconds - 1) * 1_000);
      for (let n = 1; n < scanTargets; n++) detector.observe(someone, `/${n}`);
      assert.equal(reported.length, reports, `${seconds} s later`);
    }
  });

  test("of others do not count", () => {
    const { reported, detector } = detecting();
    for (let n = 0; n < scanTargets * 2; n++) {
      detector.observe({ kind: "client", id: `c${n % 3}`, accountId: "a" }, `/${n}`);
    }
    assert.equal(reported.length, 0);
  });

  test("memory is bounded whatever comes: subjects not seen for longest are forgotten", () => {
    const { reported, detector } = detecting();
    for (let n = 0; n < 900; n++) detector.observe(someone, `/${n}`);
    for (let n = 0; n < 60_000; n++) detector.observe({ kind: "address", id: String(n) }, "/");
    for (let n = 900; n < 1_100; n++) detector.observe(someone, `/${n}`);
    assert.equal(reported.length, 0, "what was forgotten does not count");
  });
});

test("with a shared store the targets of all processes count together, and the subject is reported", async (t) => {
  const command = needs(t, "redis");
  if (command === undefined) return;
  const redis = await startRedis({ after }, command);
  const reported = Promise.withResolvers<ScanSubject>();
  const detectors = await Promise.all(
    [0, 1, 2, 3].map(async () =>
      createScanDetector({
        clock: testClock(),
        redis: await connected({ after }, redis),
        nameOf: (id) => `hidden ${id.length}`,
        onScan: reported.resolve,
        onError: reported.reject,
      }),
    ),
  );
  for (let n = 0; n < scanTargets; n++) detectors[n % 4]?.observe(someone, `/${n}`);
  assert.deepEqual(await reported.promise, someone);
});
