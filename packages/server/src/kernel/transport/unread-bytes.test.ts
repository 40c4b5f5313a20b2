import assert from "node:assert/strict";
import { test } from "node:test";
import { planCuts } from "./unread-bytes.ts";

test("the sessions that hold most are ended first, and no more than needed", () => {
  const holdings = [
    { session: "a", bytes: 10 },
    { session: "b", bytes: 50 },
    { session: "c", bytes: 30 },
  ];
  assert.deepEqual(planCuts(holdings, 90), []);
  assert.deepEqual(planCuts(holdings, 89), ["b"]);
  assert.deepEqual(planCuts(holdings, 39), ["b", "c"]);
  assert.deepEqual(planCuts(holdings, 0), ["b", "c", "a"]);
});
