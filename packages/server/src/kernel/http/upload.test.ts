import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import http2, { type ClientHttp2Session, constants } from "node:http2";
import path from "node:path";
import { after, beforeEach, describe, type TestContext, test } from "node:test";
import { needs } from "../../testing/needs.ts";
import { openRaw } from "../../testing/raw.ts";
import { startTestService, type TestCall, testToken } from "../../testing/running.ts";
import { contentBytes, maxUploadBytes, seen, transferEndpoints, untilSeen } from "../../testing/transfers.ts";

const account = "0199c0de-0000-7000-8000-0000000000aa";
const authorization = `Bearer ${testToken(account, "client-1", ["account:read", "account:write"])}`;
const readOnly = `Bearer ${testToken(account, "client-1", ["account:read"])}`;

const service = await startTestService(
  { after },
  { extra: transferEndpoints, settings: { EMANET_DRAIN_SECONDS: "0" } },
);
const caFile = path.join(service.dataDir, "test-ca.pem");
await writeFile(caFile, service.ca);

const tar = "application/x-tar";
const body = contentBytes(0, 1_000_000);
const sha256 = createHash("sha256").update(body).digest("hex");

beforeEach(() => void seen.splice(0));

for (const http2 of [false, true]) {
  const send = (method: string, target: string, { headers, ...call }: TestCall = {}) =>
    service.send(method, target, { ...call, headers: { authorization, ...headers }, http2 });

  describe(`${http2 ? "HTTP/2" : "HTTP/1.1"}: a streamed body`, () => {
    test("reaches the handler byte for byte, with what its head says", async () => {
      const headers = {
        "content-type": "Application/X-Tar; a=b",
        "content-encoding": "GZIP",
        "x-test-mtime": "2026-01-02",
      };
      const { status, json } = await send("POST", "/v1/test-uploads", { body, headers });
      const announced = http2 ? null : body.length;
      const expected = {
        bytes: body.length,
        sha256,
        media_type: tar,
        encoding: "gzip",
        announced,
        mtime: "2026-01-02",
      };
      assert.deepEqual([status, json], [201, expected]);
      assert.deepEqual((await send("POST", "/test-uploads", { body })).json?.media_type, null);
      assert.equal((await send("POST", "/v1/test-uploads", { body: "" })).json?.bytes, 0);
      assert.equal((await send("POST", "/v1/test-uploads")).json?.bytes, 0);
    });

    test("is refused by its type, coding, part or headers before it is read", async () => {
      const cases: [number, string, Record<string, string>][] = [
        [415, "unsupported_media_type", { "content-type": "text/plain" }],
        [415, "unsupported_media_type", { "content-type": "application/json" }],
        [415, "unsupported_media_type", { "content-type": "tar" }],
        [415, "unsupported_media_type", { "content-type": "" }],
        [415, "unsupported_media_type", { "content-encoding": "zstd" }],
        [415, "unsupported_media_type", { "content-encoding": "gzip, gzip" }],
        [400, "invalid_header", { "content-range": "bytes 0-9/20" }],
        [400, "invalid_header", { "x-test-mtime": "yesterday" }],
      ];
      for (const [wanted, code, headers] of cases) {
        const { status, json } = await send("POST", "/v1/test-uploads", { body: "x", headers });
        assert.deepEqual([status, json?.code], [wanted, code], JSON.stringify(headers));
      }
      assert.deepEqual(seen, []);
    });

    test("JSON is the body where both are taken, unless the query says that it is content", async () => {
      const json = { "content-type": "application/json" };
      const text = '{"text":"x"}';
      const either = async (query: string, call: TestCall) => {
        const answer = await send("POST", `/v1/test-either${query}`, call);
        return [answer.status, answer.json?.json, answer.json?.bytes, answer.json?.code];
      };
      assert.deepEqual(await either("", { body: text, headers: json }), [201, "x", 0, undefined]);
      assert.deepEqual(await either("?path=a", { body: text, headers: json }), [201, null, 12, undefined]);
      assert.deepEqual(await either("?path=a", { body: text, headers: { "content-type": "a/b" } }), [
        201,
        null,
        12,
        undefined,
      ]);
      assert.deepEqual(await either("", { body: text, headers: { "content-type": tar } }), [201, null, 12, undefined]);
      assert.deepEqual(await either("", { body: text }), [201, null, 12, undefined]);
      const refused = [undefined, undefined, "unsupported_media_type"];
      assert.deepEqual(await either("", { body: text, headers: { "content-type": "a/b" } }), [415, ...refused]);
      const other = { "content-type": "application/json; charset=latin1" };
      assert.deepEqual(await either("", { body: text, headers: other }), [415, ...refused]);
      assert.equal((await either("", { body: '{"text":1}', headers: json }))[3], "validation_failed");
    });

    test("may have exactly as many bytes as its operation takes, announced or not", async () => {
      const most = Buffer.alloc(maxUploadBytes);
      const chunked: Record<string, string> = http2 ? {} : { "transfer-encoding": "chunked" };
      for (const headers of [{}, chunked]) {
        assert.equal((await send("POST", "/v1/test-uploads", { body: most, headers })).json?.bytes, maxUploadBytes);
      }
    });
  });
}

interface CurlResult {
  readonly code: number | null;
  readonly output: string;
  readonly log: string;
}

/** Runs curl with this as its standard input, and gives what it printed. */
async function runCurl(curl: string, args: readonly string[], input: Buffer): Promise<CurlResult> {
  const child = spawn(curl, ["-sv", "--cacert", caFile, ...args], { stdio: "pipe" });
  let output = "";
  let log = "";
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString();
  });
  child.stderr.on("data", (chunk: Buffer) => {
    log += chunk.toString();
  });
  child.stdin.on("error", () => undefined);
  child.stdin.end(input);
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, output, log };
}

/** What is in curl's own log about the bytes that it sent of a body. */
const sentNothing = /^(?!.*100 Continue).*$/s;

describe("curl shows the problem, and sends no byte of the body where it waits for 100 (Continue)", () => {
  const target = (query = "") => `${service.url}/v1/test-uploads${query}`;
  const large = Buffer.alloc(3 * 1024 * 1024, 7);
  const auth = ["-H", `Authorization: ${authorization}`];
  const type = ["-H", `Content-Type: ${tar}`];
  const cases: [string, number, string, string[]][] = [
    ["401", 401, "missing_token", [...type, target()]],
    ["403", 403, "insufficient_scope", [...type, "-H", `Authorization: ${readOnly}`, target()]],
    ["409", 409, "state_conflict", [...type, ...auth, target("?refuse=true")]],
    ["415", 415, "unsupported_media_type", ["-H", "Content-Type: a/b", ...auth, target()]],
    ["422", 422, "validation_failed", [...type, ...auth, target("?after=-1")]],
  ];
  for (const version of ["--http1.1", "--http2"]) {
    for (const [name, status, code, args] of cases) {
      for (const expect of ["with Expect", "without Expect"]) {
        test(`${name} ${expect} ${version}`, async (t) => {
          const curl = needs(t, "curl");
          if (curl === undefined) return;
          const header = expect === "with Expect" ? "Expect: 100-continue" : "Expect:";
          const all = ["-X", "POST", "-T", "-", version, "-H", header, ...args];
          const { code: exit, output, log } = await runCurl(curl, all, large);
          assert.equal(exit, 0, log);
          const problem = JSON.parse(output);
          assert.deepEqual([problem.status, problem.code], [status, code]);
          assert.match(log, sentNothing);
          assert.deepEqual(seen, []);
        });
      }
    }

    test(`413 at once by the announced length, and midway without one ${version}`, async (t) => {
      const curl = needs(t, "curl");
      if (curl === undefined) return;
      const file = path.join(service.dataDir, "large");
      const tooLarge = Buffer.alloc(maxUploadBytes + 1);
      await writeFile(file, tooLarge);
      for (const header of ["Expect: 100-continue", "Expect:"]) {
        const common = ["-X", "POST", version, "-H", header, ...type, ...auth];
        const announced = await runCurl(curl, [...common, "-T", file, target()], Buffer.alloc(0));
        assert.deepEqual([announced.code, JSON.parse(announced.output).code], [0, "payload_too_large"], announced.log);
        assert.deepEqual(seen, []);
        const midway = await runCurl(curl, [...common, "-T", "-", target()], tooLarge);
        assert.deepEqual([midway.code, JSON.parse(midway.output).code], [0, "payload_too_large"], midway.log);
        const [{ what, bytes } = assert.fail("nothing was read")] = seen.splice(0);
        assert.equal(what, "stopped");
        assert.ok(bytes <= maxUploadBytes);
      }
    });

    test(`a refusal midway ${version}`, async (t) => {
      const curl = needs(t, "curl");
      if (curl === undefined) return;
      const args = ["-X", "POST", version, "-T", "-", ...type, ...auth, target("?after=200000")];
      const { code, output, log } = await runCurl(curl, args, large);
      assert.deepEqual([code, JSON.parse(output).code], [0, "state_conflict"], log);
    });

    test(`a whole upload ${version}`, async (t) => {
      const curl = needs(t, "curl");
      if (curl === undefined) return;
      const args = ["-X", "POST", version, "-T", "-", ...type, ...auth, target()];
      const { output, log } = await runCurl(curl, args, body);
      assert.equal(JSON.parse(output).sha256, sha256);
      if (version === "--http1.1") assert.match(log, /100 Continue/);
    });
  }
});

describe("HTTP/1.1: the connection", () => {
  const head = (query: string, framing: string) =>
    `POST /v1/test-uploads${query} HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n${framing}\r\n\r\n`;

  test("100 leaves when the body is read, and not for a body that nobody reads", async () => {
    const raw = await openRaw(service);
    raw.socket.write(head("", "Content-Length: 5\r\nExpect: 100-continue"));
    assert.equal(await raw.until(/\r\n\r\n$/), "HTTP/1.1 100 Continue\r\n\r\n");
    raw.socket.write("hello");
    assert.match(await raw.until(/"bytes":5/), /HTTP\/1\.1 201 /);
    raw.socket.write(head("?ignore=true", "Content-Length: 5\r\nExpect: 100-continue"));
    assert.match(await raw.closed, /HTTP\/1\.1 204 .*connection: close/is);
    assert.equal(raw.received().match(/100 Continue/g)?.length, 1);
  });

  test("serves the next request after a body that was read, refused or ignored, once it has come to its end", async () => {
    const raw = await openRaw(service);
    const framing = `Content-Type: ${tar}\r\nContent-Length: 100000`;
    for (const query of ["", "?ignore=true", "?refuse=true", "?unknown=1", ""]) {
      raw.socket.write(head(query, framing));
      raw.socket.write(Buffer.alloc(100_000, 65));
      await raw.until(new RegExp(`^(?:.*?HTTP/1\\.1 \\d{3} ){${raw.received().split("HTTP/1.1 ").length}}`, "s"));
    }
    await raw.until(/HTTP\/1\.1 201 .*HTTP\/1\.1 204 .*HTTP\/1\.1 409 .*HTTP\/1\.1 400 .*HTTP\/1\.1 201 /s);
    raw.socket.destroy();
  });

  test("a client that leaves midway makes the reader throw, with a length and in chunks", async () => {
    for (const [framing, part] of [
      ["Content-Length: 1000000", Buffer.alloc(5000)],
      ["Transfer-Encoding: chunked", `5\r\nhello\r\n`],
    ] as const) {
      seen.splice(0);
      const raw = await openRaw(service);
      raw.socket.write(head("", framing));
      raw.socket.write(part);
      raw.socket.end();
      assert.equal((await untilSeen("gone", "whole")).what, "gone");
    }
  });

  test("a body that stalls is answered with 408 and the reader throws", async () => {
    for (const drip of [false, true]) {
      seen.splice(0);
      const raw = await openRaw(service);
      raw.socket.write(head("", "Content-Length: 1000000"));
      raw.socket.write(Buffer.alloc(10_000));
      const timer = drip ? setInterval(() => raw.socket.writable && raw.socket.write("x"), 20) : undefined;
      assert.match(await raw.until(/\}$/), /^HTTP\/1\.1 408 .*"request_timeout"/s);
      clearInterval(timer);
      assert.equal((await untilSeen("stalled")).what, "stalled");
      raw.socket.destroy();
    }
  });
});

function connect(t: TestContext): ClientHttp2Session {
  const session = http2.connect(service.url, { ca: service.ca });
  session.on("error", () => undefined);
  t.after(() => session.destroy());
  return session;
}

function begin(session: ClientHttp2Session, query = "") {
  const head = { ":method": "POST", ":path": `/v1/test-uploads${query}`, authorization, "content-type": tar };
  const stream = session.request(head, { endStream: false });
  stream.on("error", () => undefined);
  return stream;
}

describe("HTTP/2: a body that does not come to its end never passes for a whole one", () => {
  const ways: Record<string, (stream: ReturnType<typeof begin>, session: ClientHttp2Session) => void> = {
    "reset without an error": (stream) => stream.close(constants.NGHTTP2_NO_ERROR),
    canceled: (stream) => stream.close(constants.NGHTTP2_CANCEL),
    "session destroyed": (_, session) => session.destroy(),
    "socket destroyed": (_, session) => session.socket.destroy(),
  };
  for (const [name, leave] of Object.entries(ways)) {
    test(name, async (t) => {
      const session = connect(t);
      await once(session, "connect");
      const stream = begin(session);
      stream.write(Buffer.alloc(70_000));
      await new Promise((resolve) => session.ping(resolve));
      leave(stream, session);
      const { what } = await untilSeen("gone", "whole");
      assert.equal(what, "gone");
    });
  }

  test("one that stalls is answered with 408, and the session serves others", async (t) => {
    const session = connect(t);
    const stream = begin(session);
    stream.write(Buffer.alloc(10_000));
    const status = await new Promise((resolve) => stream.once("response", (headers) => resolve(headers[":status"])));
    assert.equal(status, 408);
    await untilSeen("stalled");
    const next = begin(session);
    next.end(body);
    assert.equal(await new Promise((resolve) => next.once("response", (headers) => resolve(headers[":status"]))), 201);
  });
});

test("an upload may take longer than its operation's deadline as long as bytes come", async (t) => {
  // Ten pieces of more than 1 KiB, so slowly that all of them take longer than the time between two.
  const session = connect(t);
  const stream = begin(session);
  let left = 10;
  const timer = setInterval(() => {
    left -= 1;
    stream.write(Buffer.alloc(2000));
    if (left > 0) return;
    clearInterval(timer);
    stream.end();
  }, 100);
  assert.equal(await new Promise((resolve) => stream.once("response", (headers) => resolve(headers[":status"]))), 201);
  assert.deepEqual(seen, [{ what: "whole", bytes: 20_000 }]);
});
