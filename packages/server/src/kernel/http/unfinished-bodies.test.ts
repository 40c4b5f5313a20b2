import assert from "node:assert/strict";
import http2, { type ClientHttp2Session, type ClientHttp2Stream } from "node:http2";
import { after, describe, type TestContext, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { openRaw } from "../../testing/raw.ts";
import { startTestService, type TestService, testToken } from "../../testing/running.ts";
import { type EndpointSpec, endpoint, maxJsonBodyBytes } from "./endpoint.ts";
import { closed, Type, text } from "./schema.ts";
import { leastWeightBytes, unfinishedBytesInAll, unfinishedBytesPerAddress } from "./unfinished-bodies.ts";

const authorization = `Bearer ${testToken("0199c0de-0000-7000-8000-0000000000aa", "client-1", ["account:write"])}`;

const common = {
  method: "POST",
  tag: "health",
  summary: "For tests",
  description: "For tests.",
  access: { kind: "account", scope: "account:write" },
  replies: { 200: { description: "Done.", body: closed({ length: Type.Integer({ minimum: 0, maximum: 10 }) }) } },
} as const satisfies Partial<EndpointSpec>;

const done = async () => ({ status: 200, body: { length: 1 } }) as const;

/** What a body may take in all; the tests that expect it wait as long. */
const shortMs = 300;
const hasty = endpoint(
  { ...common, id: "tests.hasty", path: "/v1/test-hasty", body: closed({ text: text(10) }), deadlineMs: shortMs },
  done,
);
const hastyWithout = endpoint(
  { ...common, id: "tests.hasty_without", path: "/v1/test-none", deadlineMs: shortMs },
  done,
);
const hastyForm = endpoint(
  {
    ...common,
    id: "tests.hasty_form",
    path: "/v1/test-form",
    access: { kind: "public" },
    wire: "oauth",
    form: closed({ text: text(10) }),
    deadlineMs: shortMs,
  },
  done,
);
/** Ends never while a test runs. */
const patient = endpoint(
  { ...common, id: "tests.patient", path: "/v1/test-patient", body: closed({ text: text(10) }), deadlineMs: 600_000 },
  done,
);

const extra = [hasty, hastyWithout, hastyForm, patient];
/** The tests are the proxy: each request says for which address it asks. */
const settings = { EMANET_TRUSTED_PROXIES: "127.0.0.1/32", EMANET_DRAIN_SECONDS: "0" };
const service = await startTestService({ after }, { extra, settings });

const json = "application/json";
const form = "application/x-www-form-urlencoded";

/** Far more often than the transport's own rule about progress asks for. */
const dripMs = 20;

/** Writes a byte again and again until the signal ends. */
async function drip(write: () => void, until: AbortSignal): Promise<void> {
  while (!until.aborted) {
    write();
    await delay(dripMs);
  }
}

describe("a body that drips on ends with its operation's deadline, by 408", () => {
  for (const [name, path, type, framing] of [
    ["JSON with a length", "/v1/test-hasty", json, "Content-Length: 8000"],
    ["JSON in chunks", "/v1/test-hasty", json, "Transfer-Encoding: chunked"],
    ["a form", "/v1/test-form", form, "Content-Length: 8000"],
  ] as const) {
    test(`HTTP/1.1: ${name}`, async (t) => {
      const raw = await openRaw(service);
      const stop = new AbortController();
      t.after(() => stop.abort());
      raw.socket.write(
        `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\nContent-Type: ${type}\r\n${framing}\r\n\r\n`,
      );
      const chunk = framing.startsWith("Transfer") ? "1\r\n \r\n" : " ";
      void drip(() => raw.socket.writable && raw.socket.write(chunk), stop.signal);
      const answer = await raw.until(/\r\n\r\n\{.*\}/s);
      assert.match(answer, /^HTTP\/1\.1 408 /);
      assert.match(answer, path === "/v1/test-form" ? /"invalid_request"/ : /"request_timeout"/);
      await raw.closed;
    });

    test(`HTTP/2: ${name}`, async (t) => {
      const stop = new AbortController();
      t.after(() => stop.abort());
      const length: Record<string, string> = framing.startsWith("Content") ? { "content-length": "8000" } : {};
      const stream = connect(t, service).request(
        { ":method": "POST", ":path": path, authorization, "content-type": type, ...length },
        { endStream: false },
      );
      stream.on("error", () => undefined);
      const status = new Promise((resolve) => stream.once("response", (headers) => resolve(headers[":status"])));
      void drip(() => stream.writable && stream.write(" "), stop.signal);
      assert.equal(await status, 408);
    });
  }

  test("where no body is taken, one that never comes is not waited for longer", async () => {
    const raw = await openRaw(service);
    raw.socket.write(
      `POST /v1/test-none HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    assert.match(await raw.until(/\r\n\r\n\{.*\}/s), /^HTTP\/1\.1 408 .*"request_timeout"/s);
    raw.socket.destroy();
  });
});

function connect(t: TestContext, { url, ca }: TestService): ClientHttp2Session {
  const session = http2.connect(url, { ca });
  session.on("error", () => undefined);
  t.after(() => session.destroy());
  return session;
}

interface Begun {
  /** 100 when the service asks for the body, which is then open; else the status of its refusal. */
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly stream: ClientHttp2Stream;
}

/** Begins a body for an address, and leaves it open. */
function begin(session: ClientHttp2Session, address: string | null, headers: Record<string, string> = {}) {
  const forwarded: Record<string, string> = address === null ? {} : { "x-forwarded-for": address };
  const fixed = { ":method": "POST", ":path": "/v1/test-patient", authorization, "content-type": json };
  const stream = session.request({ ...fixed, expect: "100-continue", ...forwarded, ...headers }, { endStream: false });
  return new Promise<Begun>((resolve, reject) => {
    stream.once("error", reject);
    stream.once("continue", () => resolve({ status: 100, retryAfter: undefined, stream }));
    stream.once("response", (received) =>
      resolve({ status: Number(received[":status"]), retryAfter: received["retry-after"], stream }),
    );
  });
}

const largestPerAddress = unfinishedBytesPerAddress / maxJsonBodyBytes;
const largestInAll = unfinishedBytesInAll / maxJsonBodyBytes;

describe("unfinished bodies are few", () => {
  test("HTTP/2: per address, by what they may grow to; others continue, and each end frees its share", async (t) => {
    const session = connect(t, service);
    const open: Begun[] = [];
    for (let at = 0; at < largestPerAddress; at++) open.push(await begin(session, "203.0.113.1"));
    assert.deepEqual(new Set(open.map(({ status }) => status)), new Set([100]));
    const refused = await begin(session, "203.0.113.1");
    assert.deepEqual([refused.status, refused.retryAfter], [503, "5"]);
    assert.equal((await begin(session, "203.0.113.2")).status, 100);
    open[0]?.stream.end('{"text":"x"}');
    await new Promise((resolve) => open[0]?.stream.once("response", resolve));
    assert.equal((await begin(session, "203.0.113.1")).status, 100);
    assert.equal((await begin(session, "203.0.113.1")).status, 503);
  });

  test("HTTP/2: a body that announces little weighs little", async (t) => {
    const small = unfinishedBytesPerAddress / leastWeightBytes;
    const sessions = Array.from({ length: 4 }, () => connect(t, service));
    const all = Array.from({ length: small + 1 }, (_, at) =>
      begin(sessions[at % 4] ?? assert.fail(), "203.0.113.3", { "content-length": "20" }),
    );
    const statuses = (await Promise.all(all)).map(({ status }) => status).sort();
    assert.deepEqual(statuses, [...Array.from({ length: small }, () => 100), 503]);
  });

  test("HTTP/1.1: per address, over all its connections", async (t) => {
    const head = `POST /v1/test-patient HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\nContent-Type: ${json}\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\nX-Forwarded-For: 203.0.113.4\r\n\r\n`;
    const answer = async () => {
      const raw = await openRaw(service);
      t.after(() => raw.socket.destroy());
      raw.socket.write(head);
      return (await raw.until(/^HTTP\/1\.1 \d\d\d [^\n]*\r\n/)).slice(9, 12);
    };
    const answers: string[] = [];
    for (let at = 0; at <= largestPerAddress; at++) answers.push(await answer());
    assert.deepEqual(answers, [...Array.from({ length: largestPerAddress }, () => "100"), "503"]);
  });

  test("a proxy that does not say for whom it asks is bound by the limit in all only", async (t) => {
    const session = connect(t, service);
    for (let at = 0; at <= largestPerAddress; at++) assert.equal((await begin(session, null)).status, 100);
  });

  test("in all, over all addresses", async (t) => {
    const own = await startTestService(t, { extra, settings });
    const sessions = Array.from({ length: 4 }, () => connect(t, own));
    const session = sessions[0] ?? assert.fail();
    const all = Array.from({ length: largestInAll }, (_, at) =>
      begin(sessions[at % 4] ?? session, `198.51.100.${Math.floor(at / largestPerAddress)}`),
    );
    const statuses = (await Promise.all(all)).map(({ status }) => status);
    assert.deepEqual([statuses.length, new Set(statuses)], [256, new Set([100])]);
    for (const address of ["198.51.100.250", null]) assert.equal((await begin(session, address)).status, 503);
    // What has an end is served all the same.
    assert.equal((await own.send("GET", "/health/live")).status, 200);
  });
});
