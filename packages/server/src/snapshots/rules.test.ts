import assert from "node:assert/strict";
import { test } from "node:test";
import { canBecome, contentProblem, failureCodes, failures, type State, statesBefore, statuses } from "./rules.ts";

const states: readonly State[] = [...statuses, "deleted"];

test("a snapshot has these edges and no other", () => {
  const edges = states.flatMap((from) => states.filter((to) => canBecome(from, to)).map((to) => `${from} → ${to}`));
  assert.deepEqual(edges.sort(), [
    "canceled → deleted",
    "completed → deleted",
    "completed → expired",
    "deleted → canceled",
    "deleted → completed",
    "deleted → expired",
    "deleted → failed",
    "expired → deleted",
    "failed → deleted",
    "queued → canceled",
    "queued → failed",
    "queued → running",
    "running → canceled",
    "running → completed",
    "running → failed",
  ]);
});

test("the states before one are those that have an edge to it; a deleted snapshot is none of them", () => {
  assert.deepEqual(statesBefore("completed"), ["running"]);
  assert.deepEqual(statesBefore("running"), ["queued"]);
  assert.deepEqual(statesBefore("failed"), ["queued", "running"]);
});

test("content is read only of completed snapshots", () => {
  assert.deepEqual(
    statuses.map((status) => contentProblem(status)),
    ["state_conflict", "state_conflict", null, "state_conflict", "state_conflict", "snapshot_expired"],
  );
});

test("every failure says whether the same upload may succeed later", () => {
  assert.deepEqual(
    failureCodes.filter((code) => !failures[code].retryable),
    ["quota_exceeded", "invalid_archive", "canceled"],
  );
});
