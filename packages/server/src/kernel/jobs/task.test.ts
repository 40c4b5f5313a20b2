import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isGivenUp, outcomeOf } from "./outcome.ts";
import {
  maxRetries,
  maxRetryDelayMs,
  noPayload,
  PermanentJobError,
  recurring,
  retryAfter,
  TransientJobError,
  task,
} from "./task.ts";

const run = async () => {};
const spec = { parse: noPayload, retry: retryAfter(), run };
const now = new Date("2031-05-06T07:08:09.100Z");

describe("tasks", () => {
  test("a task's name is dotted lower-case words", () => {
    assert.equal(task("messages.send_now", spec).name, "messages.send_now");
    for (const name of ["messages", "Messages.send", "messages.", ".send", "messages send", `a.${"b".repeat(100)}`]) {
      assert.throws(() => task(name, spec), RangeError, name);
    }
  });

  test("schedules and time limits are bounded", () => {
    assert.throws(() => retryAfter(-1), RangeError);
    assert.throws(() => retryAfter(0.5), RangeError);
    assert.throws(() => retryAfter(maxRetryDelayMs + 1), RangeError);
    assert.throws(() => retryAfter(...Array.from({ length: maxRetries + 1 }, () => 1)), RangeError);
    assert.throws(() => task("a.b", { ...spec, timeoutMs: 0 }), RangeError);
    assert.throws(() => recurring(task("a.b", spec), { everyMs: 999 }), RangeError);
  });

  test("a recurring task must accept the empty payload", () => {
    const picky = task("a.b", {
      ...spec,
      parse: (): string => {
        throw new TypeError("a word, please");
      },
    });
    assert.throws(() => recurring(picky, { everyMs: 1_000 }), TypeError);
  });

  test("the next time of a recurring task is the next whole interval, never the present moment", () => {
    const { next } = recurring(task("a.b", spec), { everyMs: 60_000 });
    assert.deepEqual(next(now), new Date("2031-05-06T07:09:00Z"));
    assert.deepEqual(next(new Date("2031-05-06T07:09:00Z")), new Date("2031-05-06T07:10:00Z"));
  });
});

describe("outcomes", () => {
  const attempt = { number: 1, retry: retryAfter(1_000, 5_000), recurrence: undefined, now };
  const error = new TransientJobError("busy");
  const label = { class: "TransientJobError", code: "busy" };

  test("a failure waits as its schedule says, and is final when the schedule is used up", () => {
    const ending = { kind: "error", error } as const;
    const again = (number: number, ms: number) => ({
      kind: "again",
      attempt: number,
      runAt: new Date(now.getTime() + ms),
      error: label,
    });
    assert.deepEqual(outcomeOf(ending, attempt), again(2, 1_000));
    assert.deepEqual(outcomeOf(ending, { ...attempt, number: 2 }), again(3, 5_000));
    assert.deepEqual(outcomeOf(ending, { ...attempt, number: 3 }), { kind: "failed", at: now, error: label });
  });

  test("a permanent error and its subclasses are final at once", () => {
    class Refused extends PermanentJobError {}
    const outcome = outcomeOf({ kind: "error", error: new Refused("refused") }, attempt);
    assert.deepEqual(outcome, { kind: "failed", at: now, error: { class: "Refused", code: "refused" } });
    assert.ok(isGivenUp(outcome));
  });

  test("of an error only its class and a code that is a word are kept", () => {
    for (const code of ["Ada Lovelace", "ada@example.test", "12345678901", "", "x".repeat(65)]) {
      const outcome = outcomeOf({ kind: "error", error: new PermanentJobError(code) }, attempt);
      assert.deepEqual(outcome, { kind: "failed", at: now, error: { class: "PermanentJobError", code: undefined } });
    }
    const thrown = outcomeOf({ kind: "error", error: "a text with personal data" }, { ...attempt, number: 3 });
    assert.deepEqual(thrown, { kind: "failed", at: now, error: { class: "NotAnError", code: undefined } });
  });

  test("a recurring job is never done and never fails for good", () => {
    const recurrence = recurring(task("a.b", spec), { everyMs: 60_000 });
    const runAt = new Date("2031-05-06T07:09:00Z");
    const ok = outcomeOf({ kind: "ok" }, { ...attempt, recurrence });
    assert.deepEqual(ok, { kind: "again", attempt: 1, runAt, error: undefined });
    assert.ok(!isGivenUp(ok));
    const gaveUp = outcomeOf({ kind: "error", error }, { ...attempt, number: 3, recurrence });
    assert.deepEqual(gaveUp, { kind: "again", attempt: 1, runAt, error: label });
    assert.ok(isGivenUp(gaveUp));
  });

  test("an attempt that the worker cut short is repeated under its number", () => {
    assert.deepEqual(outcomeOf({ kind: "cut" }, attempt), { kind: "released" });
    assert.deepEqual(outcomeOf({ kind: "ok" }, attempt), { kind: "done" });
  });
});
