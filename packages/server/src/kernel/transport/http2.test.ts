import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import { constants } from "node:http2";
import type { Socket } from "node:net";
import { describe, type TestContext, test } from "node:test";
import { flag, frame, frameType, greeting, parseFrames, requestBlock, uint32 } from "./testing/http2-frames.ts";
import { connectHttp2, connectRaw, eventually, readHttp2, requestHttp2, startTransport } from "./testing/transport.ts";

const post = { ":path": "/", ":method": "POST" };

/** Reads the whole body, then answers with its length; a body that breaks off is recorded. */
function countingHandler(outcomes: string[] = []) {
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let bytes = 0;
    try {
      for await (const chunk of request) bytes += (chunk as Buffer).length;
      outcomes.push("end");
      response.end(String(bytes));
    } catch (error) {
      outcomes.push((error as NodeJS.ErrnoException).code ?? "error");
    }
  };
}

describe("bodies over HTTP/2", () => {
  test("a large body arrives whole, and many at once do", async (context) => {
    const server = await startTransport(context, { handler: countingHandler() });
    const client = connectHttp2(context, server);
    const body = Buffer.alloc(6_000_000);
    const answers = await Promise.all([1, 2, 3, 4].map(() => requestHttp2(client, post, body)));
    for (const answer of answers) assert.equal(answer.body, "6000000");
  });

  const reset = (code: number) => (socket: Socket) => socket.write(frame(frameType.rstStream, 0, 1, uint32(code)));
  for (const [name, breakOff] of Object.entries({
    "a reset (CANCEL)": reset(constants.NGHTTP2_CANCEL),
    "a reset (NO_ERROR)": reset(constants.NGHTTP2_NO_ERROR),
    "a reset (INTERNAL_ERROR)": reset(constants.NGHTTP2_INTERNAL_ERROR),
    "a lost connection": (socket: Socket) => socket.destroy(),
    "a closed connection": (socket: Socket) => socket.end(),
  })) {
    test(`a body cut off by ${name} is an error to the application, never an end`, async (context) => {
      const outcomes: string[] = [];
      const server = await startTransport(context, { handler: countingHandler(outcomes) });
      const raw = await connectRaw(server, "h2");
      raw.socket.write(Buffer.concat([greeting, frame(frameType.headers, flag.endHeaders, 1, requestBlock("POST"))]));
      raw.socket.write(frame(frameType.data, 0, 1, Buffer.from("the first half")));
      await eventually(() => server.transport.counts().requests === 1, "the request has arrived");
      breakOff(raw.socket);
      await eventually(() => outcomes.length > 0, "the application has seen it");
      assert.deepEqual(outcomes, ["ECONNRESET"]);
      await eventually(() => server.transport.counts().requests === 0, "nothing is left open");
      raw.socket.destroy();
    });
  }

  test("an unread body that is cut off does no harm", async (context) => {
    const server = await startTransport(context, { handler: () => {} });
    const client = connectHttp2(context, server);
    const stream = client.request(post);
    stream.on("error", () => {});
    stream.write("some");
    await eventually(() => server.transport.counts().requests === 1, "the request has arrived");
    stream.close(constants.NGHTTP2_CANCEL);
    await eventually(() => server.transport.counts().requests === 0, "nothing is left open");
  });

  test("a body that stops or dribbles: 408, and other streams of the session go on", async (context) => {
    const limits = { bodyWindowMs: 200, bodyWindowBytes: 50 };
    const server = await startTransport(context, { limits, handler: countingHandler() });
    const client = connectHttp2(context, server);
    const stopped = requestHttp2(client, post, null);
    const dribbling = client.request(post);
    const dribble = setInterval(() => dribbling.writable && dribbling.write("x"), 5).unref();
    for (const answer of await Promise.all([stopped, readHttp2(dribbling)])) {
      assert.equal(answer.status, 408);
      assert.equal(JSON.parse(answer.body).code, "request_timeout");
    }
    clearInterval(dribble);
    assert.equal((await requestHttp2(client, post, "abc")).body, "3");
    assert.ok(!client.destroyed);
  });

  test("an answer before the whole body comes through, and the stream is ended without an error", async (context) => {
    const server = await startTransport(context, { handler: answerEarly });
    const client = connectHttp2(context, server);
    for (const path of ["/unread", "/partly", "/thrown", "/empty"]) {
      const answer = await requestHttp2(client, { ...post, ":path": path }, null);
      assert.equal(answer.status, 413);
      assert.equal(answer.body, path === "/empty" ? "" : "too much");
      assert.equal(answer.rstCode, constants.NGHTTP2_NO_ERROR);
    }
    assert.ok(!client.destroyed);
  });

  async function answerEarly(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.statusCode = 413;
    if (request.url === "/partly") await new Promise((resolve) => request.once("data", resolve));
    if (request.url === "/thrown") {
      try {
        for await (const _ of request) throw new Error();
      } catch {
        response.setHeader("x-thrown", "1");
      }
    }
    if (request.url === "/empty") response.end();
    else response.end("too much");
  }

  test("a whole request gets no reset", async (context) => {
    const server = await startTransport(context);
    const raw = await connectRaw(server, "h2");
    raw.socket.write(greeting);
    raw.socket.write(frame(frameType.headers, flag.endStream | flag.endHeaders, 1, requestBlock()));
    const ended = () =>
      parseFrames(raw.bytes()).some(({ streamId, flags }) => streamId === 1 && flags & flag.endStream);
    await eventually(ended, "the answer");
    raw.socket.write(frame(frameType.ping, 0, 0, Buffer.alloc(8)));
    await eventually(() => parseFrames(raw.bytes()).some(({ type }) => type === frameType.ping), "the ping's answer");
    assert.ok(parseFrames(raw.bytes()).every(({ type }) => type !== frameType.rstStream));
    raw.socket.destroy();
  });
});

describe("time over HTTP/2", () => {
  const until = async (context: TestContext, limits: Record<string, number>, send: Buffer): Promise<Buffer> => {
    const server = await startTransport(context, { limits });
    const raw = await connectRaw(server, "h2");
    raw.socket.write(send);
    await raw.closed;
    await eventually(() => server.transport.counts().connections === 0, "no socket is left");
    return raw.bytes();
  };

  test("a client that says nothing, or only greets, is closed", async (context) => {
    await until(context, { headersTimeoutMs: 40 }, Buffer.alloc(0));
    const frames = parseFrames(await until(context, { headersTimeoutMs: 40 }, greeting));
    assert.ok(frames.some(({ type }) => type === frameType.goaway));
  });

  test("slow headers: an unfinished header block is closed however its bytes keep coming", async (context) => {
    const server = await startTransport(context, { limits: { headersTimeoutMs: 60 } });
    const raw = await connectRaw(server, "h2");
    const block = requestBlock();
    raw.socket.write(Buffer.concat([greeting, frame(frameType.headers, flag.endStream, 1, block)]));
    const continuation = frame(frameType.continuation, 0, 1, Buffer.from("000161016200", "hex").subarray(0, 5));
    let sent = 0;
    const dribble = setInterval(() => {
      raw.socket.write(continuation.subarray(sent % continuation.length, (sent % continuation.length) + 1));
      sent += 1;
    }, 10).unref();
    await raw.closed;
    clearInterval(dribble);
    assert.ok(sent < 60);
  });

  test("a session without requests is closed after a while, and not before its requests have ended", async (context) => {
    const limits = { sessionIdleMs: 40, lingerMs: 20 };
    const server = await startTransport(context, {
      limits,
      handler: (_, response) => void setTimeout(() => response.end("late"), 150),
    });
    const client = connectHttp2(context, server);
    assert.equal((await requestHttp2(client, { ":path": "/" })).body, "late");
    await new Promise((resolve) => client.once("close", resolve));
    await eventually(() => server.transport.counts().connections === 0, "no socket is left");
  });

  test("a client that opens no window for its answer is cut", async (context) => {
    const server = await startTransport(context, {
      limits: { responseStallMs: 60 },
      handler: (_, response) => void response.end(Buffer.alloc(1_000_000)),
    });
    const client = connectHttp2(context, server);
    const stream = client.request({ ":path": "/" });
    stream.on("error", () => {});
    stream.pause();
    const closed = new Promise((resolve) => stream.once("close", resolve));
    await new Promise((resolve) => stream.once("response", resolve));
    await eventually(() => server.transport.counts().requests === 0, "the exchange is cut");
    await closed;
    assert.equal(stream.rstCode, constants.NGHTTP2_CANCEL);
    assert.ok(!client.destroyed);
  });
});

describe("requests over HTTP/2", () => {
  test("CONNECT, an unknown expectation and a repeated header are refused with a problem body", async (context) => {
    const server = await startTransport(context);
    const client = connectHttp2(context, server);
    const connect = await requestHttp2(client, { ":method": "CONNECT", ":authority": "other.example:443" }, null);
    assert.equal(connect.status, 400);
    const expectation = await requestHttp2(client, { ...post, expect: "miracles" });
    assert.equal(expectation.status, 417);
    assert.equal(JSON.parse(expectation.body).code, "expectation_failed");
    const raw = await connectRaw(server, "h2");
    const twice = requestBlock("GET", [
      ["authorization", "a"],
      ["authorization", "b"],
    ]);
    raw.socket.write(Buffer.concat([greeting, frame(frameType.headers, flag.endStream | flag.endHeaders, 1, twice)]));
    await raw.until(/malformed_request/);
    raw.socket.destroy();
  });

  test("too many or too long headers reset the stream and leave the session", async (context) => {
    const server = await startTransport(context, { limits: { headerCount: 20, headerBytes: 4096 } });
    const client = connectHttp2(context, server);
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`x-${index}`, "1"]));
    for (const headers of [many, { "x-long": "a".repeat(6000) }]) {
      const refused = requestHttp2(client, { ":path": "/", ...headers });
      await assert.rejects(refused, /ENHANCE_YOUR_CALM/);
    }
    assert.equal((await requestHttp2(client, { ":path": "/" })).body, "ok");
  });
});
