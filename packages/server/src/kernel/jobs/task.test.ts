import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Ending, outcomeOf } from "./outcome.ts";
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
  const run_at = new Date("2031-05-06T07:00:00Z");
  const job = { attempt: 1, crashes: 2, run_at, failed_at: null, error_class: null, error_code: null };
  const error = new TransientJobError("busy");
  const label = { error_class: "TransientJobError", error_code: "busy" };
  const recurrence = recurring(task("a.b", spec), { everyMs: 60_000 });

  function outcome(ending: Ending, attempt = 1, isRecurring = false) {
    const context = { retry: retryAfter(1_000, 5_000), next: isRecurring ? recurrence.next : undefined, now };
    return outcomeOf(ending, { ...job, attempt }, context);
  }

  test("a failure waits as its schedule says, and is final when the schedule is used up", () => {
    const ending = { kind: "error", error } as const;
    const again = (attempt: number, ms: number) => {
      return { name: "retried", row: { ...job, ...label, attempt, run_at: new Date(now.getTime() + ms) } };
    };
    assert.deepEqual(outcome(ending, 1), again(2, 1_000));
    assert.deepEqual(outcome(ending, 2), again(3, 5_000));
    const failed = { name: "given_up", row: { ...job, ...label, attempt: 3, failed_at: now } };
    assert.deepEqual(outcome(ending, 3), failed);
  });

  test("a permanent error and its subclasses are final at once", () => {
    class Refused extends PermanentJobError {}
    const { name, row } = outcome({ kind: "error", error: new Refused("refused") });
    assert.deepEqual(
      [name, row?.failed_at, row?.error_class, row?.error_code],
      ["given_up", now, "Refused", "refused"],
    );
  });

  test("of an error only its class and a code that is a word are kept", () => {
    for (const code of ["Ada Lovelace", "ada@example.test", "12345678901", "", "x".repeat(65)]) {
      const { row } = outcome({ kind: "error", error: new PermanentJobError(code) });
      assert.deepEqual([row?.error_class, row?.error_code], ["PermanentJobError", null]);
    }
    const { row } = outcome({ kind: "error", error: "a text with personal data" }, 3);
    assert.deepEqual([row?.error_class, row?.error_code], ["NotAnError", null]);
  });

  test("a recurring job is never done and never fails for good", () => {
    const next = { ...job, attempt: 1, crashes: 0, run_at: new Date("2031-05-06T07:09:00Z") };
    assert.deepEqual(outcome({ kind: "ok" }, 2, true), { name: "done", row: next });
    assert.deepEqual(outcome({ kind: "error", error }, 3, true), { name: "given_up", row: { ...next, ...label } });
  });

  test("an attempt that the worker stopped is repeated under its number; one that was canceled or is done leaves no row", () => {
    assert.deepEqual(outcome({ kind: "stopped" }, 2), { name: "released", row: { ...job, attempt: 2 } });
    assert.deepEqual(outcome({ kind: "canceled" }, 2, true), { name: "canceled", row: null });
    assert.deepEqual(outcome({ kind: "ok" }), { name: "done", row: null });
  });
});
