import assert from "node:assert/strict";
import http2Client from "node:http2";
import { after, describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { createNotesTable, noteEndpoints } from "../../testing/notes.ts";
import { exchangeRaw, openRaw } from "../../testing/raw.ts";
import { startTestService, testToken } from "../../testing/running.ts";
import { endpoint, maxJsonBodyBytes } from "./endpoint.ts";
import { closed, Type } from "./schema.ts";

const account = "0199c0de-0000-7000-8000-0000000000aa";
const authorization = `Bearer ${testToken(account, "client-1", ["account:read", "account:write"])}`;
const headers = { authorization, "content-type": "application/json" };

const echo = endpoint(
  {
    id: "tests.echo",
    method: "POST",
    path: "/v1/test-echo",
    tag: "health",
    summary: "For tests",
    description: "For tests.",
    access: { kind: "public" },
    bodyLimitBytes: maxJsonBodyBytes,
    body: closed({
      count: Type.Integer({ format: "int64", minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
      part: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
    }),
    replies: {
      200: {
        description: "What was understood.",
        body: closed({ count: Type.Integer({ format: "int64", minimum: 0, maximum: Number.MAX_SAFE_INTEGER }) }),
      },
    },
  },
  async (_ctx, { body }) => ({ status: 200, body: { count: body.count } }),
);

const service = await startTestService({ after }, { extra: [...noteEndpoints, echo] });
await createNotesTable(service.database.owner);

/** Nothing that a client sent may look like a fault of ours, and the next client is served. */
async function assertUnharmed(): Promise<void> {
  assert.deepEqual(
    service.logLines.filter((line) => line.includes('"request_failed"')),
    [],
  );
  assert.equal((await service.send("GET", "/health/ready")).status, 200);
}

async function inFlight(): Promise<number> {
  const text = await (await fetch(service.running.metricsUrl ?? "")).text();
  return Number(/^emanet_http_requests_in_flight (\d+)/m.exec(text)?.[1] ?? Number.NaN);
}

async function settled(): Promise<void> {
  for (let waited = 0; waited < 30_000; waited += 20) {
    if ((await inFlight()) === 0) return;
    await delay(20);
  }
  assert.fail("requests stayed in flight");
}

describe("bodies", () => {
  const nested = (levels: number) => `{"text":${"[".repeat(levels)}${"]".repeat(levels)}}`;
  const bodies: Readonly<Record<string, readonly [number, string, string | Uint8Array]>> = {
    nothing: [400, "malformed_json", ""],
    "half an object": [400, "malformed_json", '{"text":"x"'],
    "a trailing comma": [400, "malformed_json", '{"text":"x",}'],
    "single quotes": [400, "malformed_json", "{'text':'x'}"],
    "a comment": [400, "malformed_json", '{"text":"x"/**/}'],
    "a byte order mark": [400, "malformed_json", '\uFEFF{"text":"x"}'],
    "two values": [400, "malformed_json", '{"text":"x"}{"text":"y"}'],
    "a control character in a string": [400, "malformed_json", '{"text":"a\nb"}'],
    "not a number": [400, "malformed_json", '{"text":NaN}'],
    "a repeated key": [400, "malformed_json", '{"text":"x","text":"y"}'],
    "a repeated key, spelled differently": [400, "malformed_json", '{"text":"x","te\\u0078t":"y"}'],
    "bytes that are no UTF-8": [400, "malformed_json", Buffer.from('{"text":"\xff\xfe"}', "latin1")],
    "an overlong encoding of a slash": [400, "malformed_json", Buffer.from('{"text":"\xc0\xaf"}', "latin1")],
    "a surrogate encoded as UTF-8": [400, "malformed_json", Buffer.from('{"text":"\xed\xa0\x80"}', "latin1")],
    "100 000 levels": [400, "malformed_json", nested(100_000)],
    "100 000 levels without an end": [400, "malformed_json", '{"text":'.repeat(100_000)],
    "more levels than any shape has": [400, "malformed_json", nested(33)],
    "fewer levels": [422, "validation_failed", nested(20)],
    "100 000 unknown fields": [422, "validation_failed", manyFields(100_000)],
    "an array": [422, "validation_failed", "[]"],
    null: [422, "validation_failed", "null"],
    "a string": [422, "validation_failed", '"text"'],
    "an unknown field": [422, "validation_failed", '{"text":"x","extra":1}'],
    "a member __proto__": [422, "validation_failed", '{"text":"x","__proto__":{"admin":true}}'],
    "only __proto__": [422, "validation_failed", '{"__proto__":{"text":"x"}}'],
    "a member constructor": [422, "validation_failed", '{"text":"x","constructor":{"prototype":{"admin":true}}}'],
    "a wrong type": [422, "validation_failed", '{"text":5}'],
    "a huge number for a text": [422, "validation_failed", '{"text":1e999999}'],
    "a NUL": [422, "validation_failed", '{"text":"a\\u0000b"}'],
    "half a surrogate pair": [422, "validation_failed", '{"text":"\\ud800"}'],
    "surrogates in the wrong order": [422, "validation_failed", '{"text":"\\udc00\\ud800"}'],
  };

  function manyFields(count: number): string {
    return `{${Array.from({ length: count }, (_, index) => `"${index.toString(36)}":1`).join(",")}}`;
  }

  for (const [name, [status, code, body]] of Object.entries(bodies)) {
    test(`${name}: ${status} ${code}, over both versions of HTTP`, async () => {
      for (const http2 of [false, true]) {
        const answer = await service.send("POST", "/v1/test-notes", { headers, body, http2 });
        assert.deepEqual([answer.status, answer.json?.code], [status, code]);
        assert.ok(answer.body.length < 5_000, "a hostile body buys no long answer");
      }
    });
  }

  test("numbers that JSON can write and a double cannot hold are refused", async () => {
    const send = (body: string) => service.send("POST", "/v1/test-echo", { headers, body });
    assert.equal((await send('{"count":9007199254740991}')).json?.count, 9007199254740991);
    for (const count of ["9007199254740993", "1e400", "-1", "1.5", "-1e400", `1${"0".repeat(10_000)}`]) {
      const answer = await send(`{"count":${count}}`);
      assert.ok([400, 422].includes(answer.status), `${count.slice(0, 30)}: ${answer.status} ${answer.body}`);
    }
    assert.equal((await send('{"count":1,"part":1e400}')).status, 422);
  });

  test("no object of ours got a new member by any of this, and no error was made", async () => {
    assert.equal(({} as Record<string, unknown>).admin, undefined);
    await assertUnharmed();
  });
});

describe("heads", () => {
  const start = "GET /health/live HTTP/1.1\r\nHost: x\r\n";

  test("10 MB of header over HTTP/1.1: 431 with a problem body", async () => {
    const answer = await exchangeRaw(service, `${start}X-A: ${"a".repeat(10_000_000)}`);
    assert.match(answer, /^HTTP\/1\.1 431 .*application\/problem\+json.*"code":"headers_too_large"/s);
  });

  test("10 MB of header, and an address of 1 MB, over HTTP/2: the connection is closed", async () => {
    for (const request of [
      { ":path": "/health/live", "x-a": "a".repeat(10_000_000) },
      { ":path": `/${"a".repeat(1_000_000)}` },
    ]) {
      const session = http2Client.connect(service.url, { ca: service.ca, maxSendHeaderBlockLength: 20_000_000 });
      session.on("error", () => undefined);
      let status: unknown;
      const stream = session.request(request);
      stream.on("error", () => undefined);
      stream.on("response", (answer) => {
        status = answer[":status"];
      });
      await new Promise((resolve) => session.once("close", resolve));
      assert.equal(status, undefined);
    }
  });

  test("an address of 1 MB over HTTP/1.1: 431, since the head as a whole is too large", async () => {
    const answer = await exchangeRaw(service, `GET /${"a".repeat(1_000_000)} HTTP/1.1\r\nHost: x\r\n\r\n`);
    assert.match(answer, /^HTTP\/1\.1 431 .*"code":"headers_too_large"/s);
  });

  test("more headers than any client sends: 431", async () => {
    const many = Array.from({ length: 300 }, (_, index) => `X-${index}: 1\r\n`).join("");
    assert.match(await exchangeRaw(service, `${start}${many}\r\n`), /^HTTP\/1\.1 431 /);
  });

  test("what is no HTTP: 400 malformed_request, and the connection ends", async () => {
    for (const text of [
      "\x16\x03\x01\x02\x00\r\n\r\n",
      "GET /health/live\r\n\r\n",
      "GET /health/live HTTP/9.9\r\nHost: x\r\n\r\n",
      `${start}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`,
      `${start}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      `${start}X: a\0b\r\n\r\n`,
      `${start}Authorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n`,
      "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n",
    ]) {
      const answer = await exchangeRaw(service, text);
      assert.match(answer, /^HTTP\/1\.1 400 .*"code":"malformed_request"/s, JSON.stringify(text));
      assert.match(answer, /x-request-id: [\w-]+/i);
    }
  });

  test("headers with values of every byte are read or refused, never a fault", async () => {
    const names = [
      "Accept",
      "Accept-Language",
      "X-Request-Id",
      "If-None-Match",
      "Idempotency-Key",
      "Authorization",
      "X-Forwarded-For",
      "Content-Type",
      "Content-Encoding",
    ];
    for (const name of names) {
      const value = Buffer.from(Array.from({ length: 223 }, (_, index) => index + 33)).toString("latin1");
      const bytes = Buffer.from(`${start}${name}: ${value}\r\nConnection: close\r\n\r\n`, "latin1");
      const answer = await exchangeRaw(service, bytes);
      assert.match(answer, /^HTTP\/1\.1 (200|400|401|406) /, name);
    }
    await assertUnharmed();
  });
});

describe("crowds", () => {
  test("150 connections at once, each with a request, are all answered", async () => {
    const answers = await Promise.all(Array.from({ length: 150 }, () => service.send("GET", "/health/live")));
    assert.ok(answers.every(({ status }) => status === 200));
  });

  test("1000 requests on one HTTP/2 session are all answered", async (t) => {
    const session = http2Client.connect(service.url, { ca: service.ca });
    t.after(() => session.destroy());
    const request = () =>
      new Promise<number>((resolve, reject) => {
        const stream = session.request({ ":path": "/health/live" });
        stream.on("response", (answer) => resolve(Number(answer[":status"])));
        stream.on("error", reject);
        stream.resume();
      });
    const statuses = await Promise.all(Array.from({ length: 1000 }, request));
    assert.deepEqual(new Set(statuses), new Set([200]));
  });

  test("clients that break off at every byte of a request leave nothing in flight and no row", async () => {
    const body = '{"text":"broken off"}';
    const whole = `POST /v1/test-notes HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const step = Math.ceil(whole.length / 100);
    for (let at = 1; at < whole.length; at += step * 20) {
      const cuts = Array.from({ length: 20 }, (_, index) => at + index * step).filter((cut) => cut < whole.length);
      await Promise.all(
        cuts.map(async (cut, index) => {
          const raw = await openRaw(service);
          raw.socket.write(whole.slice(0, cut), () => (index % 2 === 0 ? raw.socket.destroy() : raw.socket.end()));
          await raw.closed;
        }),
      );
    }
    await settled();
    const list = await service.send("GET", "/v1/test-notes?contains=broken", { headers: { authorization } });
    assert.deepEqual(list.json?.data, []);
    await assertUnharmed();
  });
});
