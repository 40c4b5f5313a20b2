import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import http2, { type ClientHttp2Session, constants } from "node:http2";
import https from "node:https";
import path from "node:path";
import { after, beforeEach, describe, type TestContext, test } from "node:test";
import { needs } from "../../testing/needs.ts";
import { openRaw } from "../../testing/raw.ts";
import { startTestService, type TestCall, testToken } from "../../testing/running.ts";
import { contentBytes, seen, tagOf, transferEndpoints, untilSeen } from "../../testing/transfers.ts";

const account = "0199c0de-0000-7000-8000-0000000000aa";
const authorization = `Bearer ${testToken(account, "client-1", ["account:read", "account:write"])}`;
const service = await startTestService(
  { after },
  { extra: transferEndpoints, settings: { EMANET_DRAIN_SECONDS: "0" } },
);
const caFile = path.join(service.dataDir, "test-ca.pem");
await writeFile(caFile, service.ca);

const size = 777_777;
const all = contentBytes(0, size);
const target = `/v1/test-content?size=${size}`;

beforeEach(() => void seen.splice(0));

const begun = () => seen.some(({ what }) => what === "content begun");

for (const http2 of [false, true]) {
  const send = (method: string, where: string, { headers, ...call }: TestCall = {}) =>
    service.send(method, where, { ...call, headers: { authorization, ...headers }, http2 });

  describe(`${http2 ? "HTTP/2" : "HTTP/1.1"}: a streamed answer`, () => {
    test("has every byte, its length, a strong tag, and is never compressed or changed on the way", async () => {
      const { status, headers, body } = await send("GET", target, { headers: { "accept-encoding": "gzip, br, zstd" } });
      assert.equal(status, 200);
      assert.ok(body.equals(all));
      assert.equal(headers["content-length"], String(size));
      assert.equal(headers.etag, tagOf(size));
      assert.equal(headers["accept-ranges"], "bytes");
      assert.equal(headers["cache-control"], "private, no-cache, no-transform");
      assert.equal(headers["content-type"], "application/octet-stream");
      assert.equal(headers["content-encoding"], undefined);
      assert.equal(headers.vary, undefined);
    });

    test("without a known length has every byte; without content it ends at once", async () => {
      const { body, headers } = await send("GET", `/v1/test-stream?size=${size}`);
      assert.ok(body.equals(all));
      assert.equal(headers["content-length"], undefined);
      for (const empty of ["/v1/test-stream?size=0", "/v1/test-content?size=0"]) {
        const answer = await send("GET", empty);
        assert.deepEqual([answer.status, answer.body.length], [200, 0]);
      }
    });

    test("gives one range, refuses what lies beyond, and ignores what it does not understand", async () => {
      const part = await send("GET", target, { headers: { range: "bytes=100001-300000" } });
      assert.equal(part.status, 206);
      assert.ok(part.body.equals(all.subarray(100_001, 300_001)));
      assert.equal(part.headers["content-range"], `bytes 100001-300000/${size}`);
      assert.equal(part.headers["content-length"], "200000");
      assert.equal(part.headers.etag, tagOf(size));
      const beyond = await send("GET", target, { headers: { range: `bytes=${size}-` } });
      assert.deepEqual([beyond.status, beyond.json?.code], [416, "range_not_satisfiable"]);
      assert.equal(beyond.headers["content-range"], `bytes */${size}`);
      for (const headers of [{ range: "bytes=0-1,3-4" }, { range: "bytes=0-1", "if-range": '"another"' }]) {
        assert.equal((await send("GET", target, { headers })).body.length, size);
      }
      const resumed = { range: "bytes=777770-", "if-range": tagOf(size) };
      assert.ok((await send("GET", target, { headers: resumed })).body.equals(all.subarray(777_770)));
    });

    test("is not made for a client that has it, nor for HEAD", async () => {
      for (const headers of [{ "if-none-match": tagOf(size) }, { "if-none-match": "*", range: `bytes=${size}-` }]) {
        const known = await send("GET", target, { headers });
        assert.deepEqual([known.status, known.body.length, known.headers.etag], [304, 0, tagOf(size)]);
      }
      const head = await send("HEAD", target, { headers: { range: "bytes=0-1" } });
      assert.deepEqual([head.status, head.body.length], [200, 0]);
      assert.equal(head.headers["content-length"], String(size));
      assert.equal(head.headers["accept-ranges"], "bytes");
      assert.equal(head.headers.etag, tagOf(size));
      assert.equal((await send("HEAD", target, { headers: { "if-none-match": tagOf(size) } })).status, 304);
      assert.equal((await send("HEAD", "/v1/test-stream?size=5")).headers["content-length"], undefined);
      assert.ok(!begun());
    });

    test("that fails before its first byte is a problem", async () => {
      const { status, json } = await send("GET", `${target}&fails=0`);
      assert.deepEqual([status, json?.code], [500, "internal_error"]);
      const late = await send("GET", `${target}&hangs=0`);
      assert.deepEqual([late.status, late.json?.code], [503, "unavailable"]);
    });
  });
}

describe("an answer that cannot be finished is cut, and never ends normally", () => {
  const faults: [string, string][] = [
    ["content that fails, with a length", `${target}&fails=300000`],
    ["content that fails, without a length", `/v1/test-stream?size=${size}&fails=300000`],
    ["content that hangs", `${target}&hangs=300000`],
    ["content shorter than it said", `/v1/test-stream?size=${size}&says=${size + 1}`],
    ["content longer than it said", `/v1/test-stream?size=${size}&says=${size - 1}`],
  ];
  for (const [name, where] of faults) {
    test(`HTTP/1.1: ${name}`, async () => {
      const outcome = await new Promise<string>((resolve, reject) => {
        const request = https.get(`${service.url}${where}`, {
          ca: service.ca,
          agent: false,
          headers: { authorization },
        });
        request.on("error", reject);
        request.on("response", (response) => {
          response.on("error", (error) => resolve(error.message));
          response.on("end", () => resolve("end"));
          response.resume();
        });
      });
      assert.equal(outcome, "aborted");
    });

    test(`HTTP/2: ${name}`, async (t) => {
      const session = connect(t);
      const stream = session.request({ ":path": where, authorization });
      let ended = false;
      stream.on("end", () => {
        ended = stream.rstCode === constants.NGHTTP2_NO_ERROR;
      });
      stream.resume();
      await once(stream, "close").catch(() => undefined);
      assert.equal(stream.rstCode, constants.NGHTTP2_INTERNAL_ERROR);
      assert.ok(!ended);
      const next = session.request({ ":path": "/v1/test-stream?size=10" });
      const [headers] = await once(next, "response");
      assert.equal(headers[":status"], 200);
    });

    for (const version of ["--http1.1", "--http2"]) {
      test(`curl ${version}: ${name}`, async (t) => {
        const curl = needs(t, "curl");
        if (curl === undefined) return;
        const args = ["-s", "-o", "/dev/null", "--cacert", caFile, version, "-H", `Authorization: ${authorization}`];
        const child = spawn(curl, [...args, `${service.url}${where}`]);
        const [code] = await once(child, "close");
        assert.notEqual(code, 0);
      });
    }
  }
});

function connect(t: TestContext): ClientHttp2Session {
  const session = http2.connect(service.url, { ca: service.ca });
  session.on("error", () => undefined);
  t.after(() => session.destroy());
  return session;
}

describe("a client that does not read", () => {
  const large = 200_000_000;
  const where = `/v1/test-content?size=${large}`;
  const made = () => seen.find(({ what }) => what === "content ended")?.bytes;

  /** Little may be made ahead of a client: what its buffers, ours and the kernel's hold. */
  const aheadBytes = 32 * 1024 * 1024;

  test("HTTP/1.1: makes no more content than it takes; when it leaves, the content ends", async () => {
    const raw = await openRaw(service);
    raw.socket.pause();
    raw.socket.write(`GET ${where} HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n\r\n`);
    await untilSeen("content begun");
    await service.send("GET", "/health/live");
    assert.equal(made(), undefined);
    raw.socket.destroy();
    const { bytes } = await untilSeen("content ended");
    assert.ok(bytes < aheadBytes, `${bytes} bytes were made`);
  });

  test("HTTP/2: the same", async (t) => {
    const session = connect(t);
    const stream = session.request({ ":path": where, authorization });
    stream.on("error", () => undefined);
    await untilSeen("content begun");
    await service.send("GET", "/health/live");
    assert.equal(made(), undefined);
    stream.close(constants.NGHTTP2_CANCEL);
    const { bytes } = await untilSeen("content ended");
    assert.ok(bytes < aheadBytes, `${bytes} bytes were made`);
  });

  test("content that waits when its client leaves learns of it", async (t) => {
    const session = connect(t);
    const stream = session.request({ ":path": `${where}&hangs=100003`, authorization });
    stream.on("error", () => undefined);
    stream.resume();
    await once(stream, "response");
    session.destroy();
    await untilSeen("content ended");
  });
});
