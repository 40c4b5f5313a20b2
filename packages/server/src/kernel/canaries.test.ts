/**
 * Values of people, sent through the log and the error reports in every way that code might: none comes out. Each
 * canary is searched for whole and in parts, so that a cut value is found too.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, test } from "node:test";
import { inspect } from "node:util";
import pg from "pg";
import { systemClock, systemRandom } from "./clock.ts";
import { createErrorReports } from "./error-reports.ts";
import { createLog, errorFields, type Log, type LogFields } from "./log.ts";

/** Written in two parts: what is in a source file may be named as a function of that file. */
const canaries = {
  email: "kanarya.fatma@mukellef.example",
  phone: "+905321112233",
  vkn: ["12345", "67890"].join(""),
  tckn: ["10000", "000146"].join(""),
  password: "Kanarya-Parola!77",
  code: ["482", "139"].join(""),
  recoveryCode: "k4nar-y4x9z",
  totpSecret: ["KANARYAJBSW", "Y3DPEHPK3PXP"].join(""),
  token: ["eyJhbGciOiJFUz", "I1NiJ9.eyJzdWIiOiJrYW5h", "cnlhIn0.c2ln"].join(""),
  opaqueToken: ["kanarya_4f9c0a7b", "2d1e8f63"].join(""),
  clientSecret: "ecs.kanarya/9f8e7d6c",
  fileName: "Kanarya Beyannamesi 2026.pdf",
  filePath: "/home/kanarya/Muhasebe/fatura-7.xml",
  name: "Fatma Kanarya",
  url: "https://kanarya.example/v1/files/a?x=1",
};

/** Any of these in an output is a leak. */
const traces = /kanarya|fatma|mukellef|5321112233|1234567890|10000000146|482139|k4nar|eyJ|beyanname|muhasebe|fatura/i;

/** Says where, without printing the whole output. */
function assertNoTrace(output: string): void {
  const at = output.search(traces);
  assert.equal(at, -1, at < 0 ? "" : `found in …${output.slice(Math.max(0, at - 80), at + 80)}…`);
}

/** Errors that carry a canary in every place an error has. */
function errorsWith(value: string): unknown[] {
  const withStack = new Error("x");
  withStack.stack = `Error: ${value}\n    at ${value} (/srv/${value}:1:1)\n    at ok (${import.meta.filename}:1:1)\n${value}`;
  const database = Object.assign(new pg.DatabaseError(`Key (email)=(${value}) exists`, 1, "error"), {
    code: "23505",
    detail: value,
    table: value,
    constraint: value,
  });
  const named = { [value]: () => new Error("x") }[value]?.();
  class Custom extends Error {}
  return [
    new Error(value),
    new TypeError(`multi\n${value}\n    at ${value} (file:///srv/${value}:1:1)\nline`),
    new Error("x", { cause: new Error(value) }),
    new Error("x", { cause: value }),
    new AggregateError([new Error(value), value, { value }], value),
    Object.assign(new Custom("x"), { name: value, code: value, reason: value, payload: { value }, [value]: value }),
    Object.assign(new Error("x"), { constructor: { name: value } }),
    new DOMException(value, value),
    withStack,
    database,
    named,
    value,
    { value, message: value, stack: value },
    Number(value.replace(/\D/g, "")),
  ];
}

const fieldNames = Object.keys({
  ...{ request_id: 0, operation: 0, method: 0, status: 0, duration_ms: 0, protocol: 0, error_code: 0, error_name: 0 },
  ...{ error_system_code: 0, error_at: 0, error_causes: 0, ip: 0, job: 0, attempt: 0, count: 0, port: 0, pid: 0 },
  ...{ signal: 0, role: 0, profile: 0, version: 0, migration: 0, account_id: 0, target_id: 0, template: 0, channel: 0 },
  ...{ policy: 0, outcome: 0, reason: 0, setting: 0, instance: 0 },
} satisfies Record<keyof LogFields, 0>);

function logEverything(log: Log, value: string): void {
  for (const error of errorsWith(value)) {
    log.error("canary", errorFields(error));
    log.error("canary", { error, err: error, message: error } as never);
    log.error(error as never, error as never);
  }
  for (const name of fieldNames) {
    for (const form of [value, [value], { value }, ` ${value}`, BigInt(1), Number(value.replace(/\D/g, ""))]) {
      // The code is six digits: as a number it is within every count, and only a word of the code could name it.
      if (typeof form === "number" && form < 1_000_000_000) continue;
      // A client may send any of these as its own request id, and gets it back: that is its choice by the contract.
      if (name === "request_id" && typeof form === "string" && /^[A-Za-z0-9_-]+$/.test(form)) continue;
      log.info("canary", { [name]: form } as never);
      log.child({ [name]: form } as never).warn("canary");
    }
  }
  log.warn(value);
  log.info(`canary ${value}`, value as never);
  log.info("canary", { [value]: value } as never);
  log.child({ [value]: value } as never).debug("canary");
}

describe("canaries", () => {
  for (const [kind, value] of Object.entries(canaries)) {
    test(`log: no line shows ${kind}, in a field, an event or an error`, () => {
      const lines: string[] = [];
      logEverything(createLog({ level: "debug", clock: systemClock, write: (line) => lines.push(line) }), value);
      assert.ok(lines.length > 200);
      for (const line of lines) assertNoTrace(line.replace(/"time":"[^"]*"/, ""));
    });
  }

  test("error reports: no envelope, header or log line of theirs shows any canary", async (t) => {
    const received: string[] = [];
    const server = createServer(async (request, response) => {
      received.push(Buffer.concat(await request.toArray()).toString(), inspect(request.rawHeaders), request.url ?? "");
      response.end("{}");
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    t.after(() => server.close());
    const dsn = `http://key@127.0.0.1:${(server.address() as AddressInfo).port}/1`;
    let minutes = 0;
    const clock = { now: () => new Date(Date.UTC(2026, 0, 1) + minutes * 60_000) };
    const lines: string[] = [];
    const log = createLog({ level: "debug", clock, write: (line) => lines.push(line) });
    const reports = await createErrorReports({
      dsn,
      release: "0.1.0",
      profile: "sandbox",
      clock,
      random: systemRandom,
      log,
    });
    let sent = 0;
    for (const value of Object.values(canaries)) {
      for (const error of errorsWith(value)) {
        const context = { request_id: ` ${value}`, operation: value, job: value, user: value, [value]: value };
        reports.report(error, context);
        sent += 1;
      }
      await reports.flush(10_000);
      minutes += 1;
    }
    assert.equal(received.length, sent * 3);
    // Ids are random hex: digits of a canary may occur in them by chance.
    const told = [...received, ...lines].join("\n").replaceAll(/"event_id":"[0-9a-f]{32}"/g, "");
    assertNoTrace(told.replaceAll(/"(?:sent_at|timestamp)":[^,}]*/g, ""));
  });
});
