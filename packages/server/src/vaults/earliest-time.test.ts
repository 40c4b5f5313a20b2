import assert from "node:assert/strict";
import { test } from "node:test";
import { ClocksDifferError, earliestOf, maxClockDifferenceMs } from "./earliest-time.ts";

const now = Date.parse("2026-11-17T10:00:00Z");

test("the earliest of three clocks counts, whichever it is", () => {
  assert.equal(earliestOf([now, now - 2000, now - 1500]), now - 2000);
  assert.equal(earliestOf([now, now + 2000, now - 1500]), now - 1500);
  assert.equal(earliestOf([now, now + 2000, now + 1500]), now);
  assert.equal(earliestOf([now, now - 999, now]), now, "as exact as a store shows its time");
});

test("clocks that differ by five minutes are not believed, in either direction; a missing time neither", () => {
  for (const other of [now + maxClockDifferenceMs, now - maxClockDifferenceMs, Number.NaN]) {
    assert.throws(() => earliestOf([now, other, now]), ClocksDifferError);
    assert.throws(() => earliestOf([now, now, other]), ClocksDifferError);
  }
  assert.equal(earliestOf([now, now - maxClockDifferenceMs + 1]), now - maxClockDifferenceMs + 1);
});
