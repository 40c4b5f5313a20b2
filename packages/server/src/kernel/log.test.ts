import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createLog, errorFields, type Log, type LogFields, type LogLevel } from "./log.ts";

const clock = { now: () => new Date("2026-03-01T09:30:00.123Z") };

interface Collected {
  readonly log: Log;
  readonly lines: string[];
  readonly dropped: number[];
  last(): Record<string, unknown>;
}

function collect(level: LogLevel = "debug"): Collected {
  const lines: string[] = [];
  const dropped: number[] = [];
  const log = createLog({ level, clock, write: (line) => lines.push(line), onDropped: (count) => dropped.push(count) });
  return { log, lines, dropped, last: () => JSON.parse(lines.at(-1) ?? "{}") };
}

describe("log", () => {
  test("a line is one JSON object with level, time, event and its fields, and nothing else", () => {
    const { log, lines, last } = collect();
    log.info("request_completed", {
      request_id: "0198c0de-0000-7000-8000-00000000abcd",
      operation: "applications.create",
      method: "POST",
      status: 202,
      duration_ms: 12.3456,
      ip: "203.0.113.77",
    });
    assert.match(lines[0] ?? "", /^\{.*\}\n$/);
    assert.deepEqual(last(), {
      level: "info",
      time: "2026-03-01T09:30:00.123Z",
      event: "request_completed",
      request_id: "0198c0de-0000-7000-8000-00000000abcd",
      operation: "applications.create",
      method: "POST",
      status: 202,
      duration_ms: 12.3,
      ip: "203.0.113.0/24",
    });
  });

  test("each line has its own time, also of a clock that was set back", () => {
    const times = [
      "2026-03-01T09:30:00.123Z",
      "2026-03-01T09:30:00.123Z",
      "2026-03-01T09:30:00.124Z",
      "2026-01-01T00:00:00.000Z",
    ];
    const lines: string[] = [];
    const moving = { now: () => new Date(times[lines.length] ?? 0) };
    const log = createLog({ level: "info", clock: moving, write: (line) => lines.push(line) });
    for (const _ of times) log.info("e");
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).time),
      times,
    );
  });

  test("an unknown field is dropped and counted, even with a cast", () => {
    const { log, last, dropped } = collect();
    log.warn("job_failed", { email: "ada@example.invalid", body: { a: 1 }, __proto__: "x", count: 3 } as never);
    assert.equal(last().count, 3);
    assert.equal(last().dropped, 2);
    assert.deepEqual(Object.keys(last()), ["level", "time", "event", "count", "dropped"]);
    assert.deepEqual(dropped, [2]);
  });

  test("names of Object.prototype are no fields", () => {
    const { log, last } = collect();
    log.info("e", { constructor: "a", toString: "b", hasOwnProperty: "c" } as never);
    assert.equal(last().dropped, 3);
  });

  test("a field with a value of another form is dropped and counted", () => {
    const wrong: Record<keyof LogFields, unknown[]> = {
      request_id: ["a b", "a".repeat(65), "5321234567", "905321234567", "", 5],
      instance: ["abc", "0198c0de-0000-7000-8000-00000000abc", 5],
      operation: ["/v1/applications/ada", "Applications", "a..b", "a b", "x5321234567", 1],
      method: ["get", "PROPFIND /ada", "", 1],
      status: ["200", 99, 600, 200.5, Number.NaN],
      duration_ms: [-1, 5_321_234_567, Number.POSITIVE_INFINITY, Number.NaN, "1"],
      protocol: ["h3 ada", 2],
      error_code: ["not found", "Ada", "kod_482139"],
      error_name: ["a b", "ada@example.invalid", "N5321234567", ""],
      error_system_code: ["JBSWY3DPEHPK3PXP", "482139", "ada"],
      error_at: ["text", ["/home/ada/gizli.pdf:1:1"], ["ada yılmaz packages/a.ts:1:1"], [1], ["packages/a.pdf:1:1"]],
      error_causes: [["a b"], "Error", [{}]],
      ip: ["ada", "203.0.113.7; ada", "203.0.113.0/24", 3_405_803_783],
      job: ["Send Mail", "a/b", "ada@example.invalid"],
      attempt: [-1, 1001, 1.5, "1"],
      count: [-1, 1_000_000_000, 10_000_000_146, 1.5],
      port: [65_536, "8443"],
      pid: [-1, "1"],
      signal: ["SIGTERM ada", "TERM"],
      role: ["admin"],
      profile: ["Production", "ada"],
      version: ["ada", "1.2.3+ada", "5321234567"],
      migration: ["ada.sql", "0001", "1_a"],
      account_id: ["5321234567", "ada", "0198c0de-0000-7000-8000-00000000abcg"],
      target_id: ["5321234567", "ada"],
      template: ["Ada Yılmaz", "ada@example.invalid"],
      channel: ["fax"],
      policy: ["a b"],
      outcome: ["Ada!"],
      reason: ["because ada said so", "5321234567"],
      setting: ["EMANET_LISTEN=ada", "emanet_listen"],
    };
    for (const [name, values] of Object.entries(wrong)) {
      for (const value of values) {
        const { log, last } = collect();
        log.info("e", { [name]: value } as never);
        assert.equal(last().dropped, 1, `${name} ${JSON.stringify(value)}`);
        assert.ok(!(name in last()), `${name} ${JSON.stringify(value)}`);
      }
    }
  });

  test("a getter that throws costs its field, not the caller", () => {
    const { log, last } = collect();
    const fields = Object.defineProperty({}, "status", { enumerable: true, get: () => assert.fail("read") });
    log.error("e", fields);
    assert.equal(last().dropped, 1);
  });

  test("an event that is not a word of the code is not written", () => {
    const { log, lines, last } = collect();
    for (const event of ["ada@example.invalid signed in", "code_482139", "A", "%s %j", ""]) {
      log.info(event);
      assert.equal(last().event, "unnamed_event");
      assert.equal(last().dropped, 1);
    }
    assert.ok(!lines.join("").includes("ada@") && !lines.join("").includes("482139"));
  });

  test("addresses are cut to their network, mapped ones too", () => {
    const { log, last } = collect();
    const cut = { "2001:db8:aaaa:bbbb:cccc::7": "2001:db8:aaaa::/48", "::ffff:203.0.113.77": "203.0.113.0/24" };
    for (const [ip, network] of Object.entries(cut)) {
      log.info("e", { ip });
      assert.equal(last().ip, network);
    }
  });

  test("a child's fields are on all its lines, under the same rules, and a line's own win", () => {
    const { log, last } = collect();
    const child = log.child({ request_id: "abc", email: "ada@example.invalid" } as never).child({ operation: "a.b" });
    child.info("e", { operation: "c.d" });
    assert.equal(last().request_id, "abc");
    assert.equal(last().operation, "c.d");
    assert.equal(last().dropped, 1);
  });

  test("lines below the level are not written, and silent writes none", () => {
    const warn = collect("warn");
    warn.log.info("a");
    warn.log.warn("b");
    assert.equal(warn.lines.length, 1);
    const silent = collect("silent");
    silent.log.error("c");
    assert.equal(silent.lines.length, 0);
  });

  test("undefined fields are neither written nor counted", () => {
    const { log, last } = collect();
    log.info("e", { status: undefined, error_code: undefined });
    assert.deepEqual(Object.keys(last()), ["level", "time", "event"]);
  });

  test("errorFields gives class, code, places and causes, and all of it is written", () => {
    const { log, last } = collect();
    const cause = Object.assign(new Error("open /home/ada/gizli.pdf"), { code: "ENOENT" });
    log.error("job_failed", errorFields(new TypeError("bad ada@example.invalid", { cause })));
    const line = last();
    assert.equal(line.error_name, "TypeError");
    assert.deepEqual(line.error_causes, ["Error"]);
    assert.match((line.error_at as string[])[0] ?? "", /packages\/server\/src\/kernel\/log\.test\.ts:\d+:\d+$/);
    assert.equal(line.dropped, undefined);
    log.error("job_failed", errorFields(cause));
    assert.equal(last().error_system_code, "ENOENT");
  });
});
