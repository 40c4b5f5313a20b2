import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, type TestContext, test } from "node:test";
import pg from "pg";
import type { Random } from "./clock.ts";
import { createErrorReports, type ErrorReports, noErrorReports } from "./error-reports.ts";
import { createLog, silentLog } from "./log.ts";

const random: Random = { bytes: (size) => Buffer.alloc(size, 7), uuid: () => assert.fail("not used") };

/** Longer than any local answer takes; only a hanging test waits so long. */
const flushMs = 10_000;

interface Collector {
  readonly dsn: string;
  readonly bodies: string[];
  readonly urls: string[];
  readonly headers: string[];
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** A collector on this machine that keeps every envelope. */
async function collector(t: TestContext, answer: Answer = (_request, response) => response.end("{}")) {
  const seen: Collector = { dsn: "", bodies: [], urls: [], headers: [] };
  const server = createServer(async (request, response) => {
    seen.bodies.push(Buffer.concat(await request.toArray()).toString());
    seen.urls.push(request.url ?? "");
    seen.headers.push(JSON.stringify(request.rawHeaders));
    answer(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { ...seen, dsn: `http://publickey@127.0.0.1:${(server.address() as AddressInfo).port}/42` };
}

interface Made {
  readonly reports: ErrorReports;
  readonly lines: string[];
  advance(ms: number): void;
}

async function make(dsn: string): Promise<Made> {
  let now = Date.parse("2026-03-01T09:30:00.000Z");
  const clock = { now: () => new Date(now) };
  const lines: string[] = [];
  const log = createLog({ level: "debug", clock, write: (line) => lines.push(line) });
  const reports = await createErrorReports({ dsn, release: "0.1.0", profile: "sandbox", clock, random, log });
  return { reports, lines, advance: (ms) => (now += ms) };
}

function eventIn(envelope: string | undefined) {
  const [, , item] = (envelope ?? "").split("\n");
  return JSON.parse(item ?? "null");
}

describe("error reports", () => {
  test("a report has class, code, places, release, profile, request and operation, and nothing else", async (t) => {
    const { dsn, bodies, urls } = await collector(t);
    const { reports } = await make(dsn);
    const cause = Object.assign(new pg.DatabaseError("duplicate", 1, "error"), { code: "23505" });
    reports.report(new TypeError("no", { cause }), { request_id: "abc", operation: "applications.create" });
    await reports.flush(flushMs);
    assert.equal(bodies.length, 1);
    assert.match(urls[0] ?? "", /^\/api\/42\/envelope\/\?sentry_version=7&sentry_key=publickey&/);
    const event = eventIn(bodies[0]);
    const [first, last] = event.exception.values;
    assert.deepEqual([first.type, first.value, last.type, last.value], ["DatabaseError", "23505", "TypeError", ""]);
    const frame = last.stacktrace.frames.at(-1);
    assert.equal(frame.filename, "packages/server/src/kernel/error-reports.test.ts");
    assert.deepEqual(Object.keys(event).sort(), [
      ...["environment", "event_id", "exception", "level", "platform", "release", "sdk", "tags", "timestamp"],
      "transaction",
    ]);
    assert.deepEqual(event.tags, { request_id: "abc" });
    assert.deepEqual(
      [event.transaction, event.release, event.environment],
      ["applications.create", "0.1.0", "sandbox"],
    );
    assert.equal(event.timestamp, Date.parse("2026-03-01T09:30:00.000Z") / 1000);
    assert.deepEqual(event.sdk, { name: "emanet.server", version: "1", integrations: [], packages: [] });
  });

  test("a crash loop sends at most 20 reports a minute and says how many it dropped", async (t) => {
    const { dsn, bodies } = await collector(t);
    const { reports, lines, advance } = await make(dsn);
    for (let index = 0; index < 500; index += 1) reports.report(new Error("again"));
    await reports.flush(flushMs);
    assert.equal(bodies.length, 20);
    assert.ok(lines.some((line) => line.includes('"event":"error_reports_dropped","count":480')));
    advance(60_000);
    reports.report(new Error("again"));
    await reports.flush(flushMs);
    assert.equal(bodies.length, 21);
  });

  test("after 429 with Retry-After the collector is left alone for that time", async (t) => {
    const { dsn, bodies } = await collector(t, (_request, response) =>
      response.writeHead(429, { "retry-after": "30" }).end(),
    );
    const { reports, advance } = await make(dsn);
    for (const after of [0, 0, 29_000]) {
      advance(after);
      reports.report(new Error("x"));
      await reports.flush(flushMs);
      assert.equal(bodies.length, 1);
    }
    advance(2_000);
    reports.report(new Error("x"));
    await reports.flush(flushMs);
    assert.equal(bodies.length, 2);
  });

  test("a rate limit announced with success is honoured too", async (t) => {
    const { dsn, bodies } = await collector(t, (_request, response) =>
      response.writeHead(200, { "x-sentry-rate-limits": "60:error:key" }).end(),
    );
    const { reports } = await make(dsn);
    reports.report(new Error("x"));
    await reports.flush(flushMs);
    reports.report(new Error("x"));
    await reports.flush(flushMs);
    assert.equal(bodies.length, 1);
  });

  test("a redirect is not followed", async (t) => {
    const other = await collector(t);
    const target = other.dsn.replace("publickey@", "");
    const { dsn } = await collector(t, (_request, response) => response.writeHead(307, { location: target }).end());
    const { reports } = await make(dsn);
    reports.report(new Error("x"));
    await reports.flush(flushMs);
    assert.equal(other.bodies.length, 0);
  });

  test("a collector that never answers blocks nothing: report returns, the queue is bounded, flush gives up", async (t) => {
    const { dsn, bodies } = await collector(t, () => undefined);
    const { reports, lines, advance } = await make(dsn);
    for (let minute = 0; minute < 5; minute += 1) {
      for (let index = 0; index < 20; index += 1) reports.report(new Error("x"));
      advance(60_000);
    }
    await reports.flush(10);
    reports.report(new Error("x"));
    await reports.flush(10);
    assert.ok(bodies.length <= 1);
    const dropped = lines.map((line) => JSON.parse(line)).filter((line) => line.event === "error_reports_dropped");
    const total = dropped.reduce((sum, line) => sum + line.count, 0);
    assert.equal(total, 101 - 1 - 30); // One on its way, thirty waiting.
  });

  test("a collector that is down is not an error of ours", async (t) => {
    const { dsn } = await collector(t, (request) => request.socket.destroy());
    const { reports, lines } = await make(dsn);
    reports.report(new Error("x"));
    await reports.flush(flushMs);
    assert.ok(lines.some((line) => line.includes("error_report_not_sent")));
  });

  test("anything may be reported, also what cannot be read", async (t) => {
    const { dsn, bodies } = await collector(t);
    const { reports } = await make(dsn);
    const hostile = new Proxy(new Error("x"), { get: () => assert.fail("read") });
    for (const thrown of [undefined, null, "text", hostile, Object.create(null)])
      reports.report(thrown, hostile as never);
    await reports.flush(flushMs);
    assert.equal(bodies.length, 5);
  });

  test("without a DSN nothing is loaded or sent", async () => {
    const options = { release: "0.1.0", profile: "local", clock: { now: () => new Date(0) }, random, log: silentLog };
    const reports = await createErrorReports({ dsn: null, ...options });
    assert.equal(reports, noErrorReports);
    reports.report(new Error("x"));
    await reports.flush(1);
  });

  test("a DSN without key or project is refused without being quoted", async () => {
    for (const dsn of ["https://example.invalid/1", "https://sekretkey@example.invalid/", "ftp://k@h/1", "sekretkey"]) {
      await assert.rejects(make(dsn), (error: Error) => !error.message.includes("sekretkey"));
    }
  });
});
