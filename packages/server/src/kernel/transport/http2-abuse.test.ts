/**
 * What hostile clients send over HTTP/2, frame by frame. Each attack must end with a closed connection, while another
 * client of the same server is served as before.
 */

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import type { RequestHandler, TransportLimits } from "./server.ts";
import {
  enhanceYourCalm,
  field,
  flag,
  frame,
  frameType,
  greeting,
  parseFrames,
  requestBlock,
  uint32,
} from "./testing/http2-frames.ts";
import { connectHttp2, connectRaw, eventually, requestHttp2, startTransport } from "./testing/transport.ts";

const whole = flag.endStream | flag.endHeaders;
const settingsAck = frame(frameType.settings, flag.ack, 0);
const cancel = uint32(8);
/** RFC 9113, section 7. */
const protocolError = 1;
const frameSizeError = 6;

interface Attack {
  /** Chunks to send after the greeting; sent until the server closes. */
  readonly chunks: Iterable<Buffer>;
  readonly limits?: Partial<TransportLimits>;
  readonly handler?: RequestHandler;
}

/** Sends the attack; resolves with the code of the server's GOAWAY (null without one) when the connection is closed. */
async function attack(context: TestContext, { chunks, limits, handler }: Attack): Promise<number | null> {
  const server = await startTransport(context, { ...(limits && { limits }), handler: handler ?? answer });
  const neighbour = connectHttp2(context, server);
  assert.equal((await requestHttp2(neighbour, { ":path": "/neighbour" })).body, "ok");
  const raw = await connectRaw(server, "h2");
  raw.socket.write(greeting);
  for (const chunk of chunks) {
    if (raw.socket.destroyed) break;
    raw.socket.write(chunk);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await raw.closed;
  assert.equal((await requestHttp2(neighbour, { ":path": "/neighbour" })).body, "ok");
  await eventually(() => server.transport.counts().connections === 1, "only the neighbour is left");
  assert.equal(server.transport.counts().requests, 0);
  const goaway = parseFrames(raw.bytes()).find(({ type }) => type === frameType.goaway);
  return goaway?.payload.readUInt32BE(4) ?? null;
}

const answer: RequestHandler = (_, response) => void response.end("ok");

/** Never answers, except the neighbour. */
const silence: RequestHandler = (request, response) => {
  if (request.url === "/neighbour") response.end("ok");
};

/** The same chunk again and again, up to a number of times that no server should wait for. */
function* repeated(chunk: Buffer, times: number): Generator<Buffer> {
  for (let index = 0; index < times; index += 1) yield chunk;
}

/** One chunk per stream, for many streams. */
function* perStream(make: (streamId: number) => readonly Buffer[], streams = 20_000): Generator<Buffer> {
  for (let index = 0; index < streams; index += 1) yield Buffer.concat(make(2 * index + 1));
}

function* firstThen(first: Buffer, rest: Iterable<Buffer>): Generator<Buffer> {
  yield first;
  yield* rest;
}

describe("HTTP/2 abuse ends the connection", () => {
  test("rapid reset: streams opened and reset at once (CVE-2023-44487)", async (context) => {
    let begun = 0;
    const limits = { streamResetBurst: 50, streamResetsPerSecond: 1 };
    const request = (id: number) => [
      frame(frameType.headers, whole, id, requestBlock()),
      frame(frameType.rstStream, 0, id, cancel),
    ];
    await attack(context, {
      chunks: perStream(request),
      limits,
      handler: (_, response) => {
        begun += 1;
        response.end("ok");
      },
    });
    assert.ok(begun <= 60, `${begun} requests reached the application`);
  });

  test("provoked resets: the client makes the server reset (CVE-2025-8671)", async (context) => {
    const open = (id: number): Buffer => frame(frameType.headers, whole, id, requestBlock());
    const malformed = (id: number) => [frame(frameType.headers, whole, id, requestBlock("GET", [["connection", "x"]]))];
    const zeroWindow = (id: number) => [open(id), frame(frameType.windowUpdate, 0, id, uint32(0))];
    const overflow = (id: number) => [open(id), frame(frameType.windowUpdate, 0, id, uint32(0x7fffffff))];
    const dataAfterEnd = (id: number) => [open(id), frame(frameType.data, 0, id, Buffer.from("x"))];
    for (const make of [malformed, zeroWindow, overflow, dataAfterEnd]) {
      await attack(context, { chunks: perStream(make), handler: silence });
    }
  });

  test("more streams at once than allowed, without end", async (context) => {
    const request = (id: number) => [frame(frameType.headers, whole, id, requestBlock())];
    await attack(context, { chunks: perStream(request), limits: { concurrentStreams: 20 }, handler: silence });
  });

  test("SETTINGS flood", async (context) => {
    const chunk = Buffer.concat(Array(10).fill(frame(frameType.settings, 0, 0)));
    assert.equal(await attack(context, { chunks: repeated(chunk, 100_000) }), enhanceYourCalm);
  });

  test("one SETTINGS frame with too many entries", async (context) => {
    const entries = frame(frameType.settings, 0, 0, Buffer.alloc(6 * 1000));
    assert.equal(await attack(context, { chunks: [entries] }), enhanceYourCalm);
  });

  test("PING flood, and a flood of PING answers without a PING", async (context) => {
    const ping = Buffer.concat(Array(10).fill(frame(frameType.ping, 0, 0, Buffer.alloc(8))));
    await attack(context, { chunks: repeated(ping, 100_000) });
    const pong = Buffer.concat(Array(10).fill(frame(frameType.ping, flag.ack, 0, Buffer.alloc(8))));
    await attack(context, { chunks: repeated(pong, 100_000) });
  });

  test("a PING flood from a client that never reads the answers", async (context) => {
    const server = await startTransport(context, { limits: { lingerMs: 50 } });
    const raw = await connectRaw(server, "h2");
    raw.socket.pause();
    raw.socket.write(greeting);
    const ping = Buffer.concat(Array(1000).fill(frame(frameType.ping, 0, 0, Buffer.alloc(8))));
    for (let count = 0; count < 100; count += 1) raw.socket.write(ping);
    await eventually(() => server.transport.counts().connections === 0, "the connection is closed");
    raw.socket.destroy();
  });

  test("CONTINUATION flood (CVE-2024-28182): fields without end, and empty frames without end", async (context) => {
    const start = frame(frameType.headers, flag.endStream, 1, requestBlock());
    const fields = frame(frameType.continuation, 0, 1, field("x-a", "a".repeat(1000)));
    await attack(context, { chunks: firstThen(start, repeated(fields, 100_000)) });
    const empty = frame(frameType.continuation, 0, 1);
    await attack(context, { chunks: firstThen(start, repeated(empty, 100_000)) });
  });

  test("10 MB of header, in frames as large as the server allows", async (context) => {
    const block = Buffer.concat([requestBlock(), field("x-large", "a".repeat(10_000_000))]);
    const frameBytes = 256 * 1024;
    const chunks: Buffer[] = [settingsAck];
    for (let at = 0; at < block.length; at += frameBytes) {
      const type = at === 0 ? frameType.headers : frameType.continuation;
      const isLast = at + frameBytes >= block.length;
      const flags = (at === 0 ? flag.endStream : 0) | (isLast ? flag.endHeaders : 0);
      chunks.push(frame(type, flags, 1, block.subarray(at, at + frameBytes)));
    }
    await attack(context, { chunks });
  });

  test("10 MB of header in many small fields", async (context) => {
    const fields = Buffer.concat(Array(1000).fill(field("x-a", "b")));
    const start = frame(frameType.headers, flag.endStream, 1, requestBlock());
    await attack(context, { chunks: firstThen(start, repeated(frame(frameType.continuation, 0, 1, fields), 1300)) });
  });

  test("empty DATA frames, PRIORITY frames, frames of unknown types, without end", async (context) => {
    const upload = frame(frameType.headers, flag.endHeaders, 1, requestBlock("POST"));
    const empty = Buffer.concat(Array(100).fill(frame(frameType.data, 0, 1)));
    await attack(context, { chunks: firstThen(upload, repeated(empty, 100_000)), handler: silence });
    const dependency = Buffer.concat([uint32(3), Buffer.from([1])]);
    const priority = Buffer.concat(Array(100).fill(frame(frameType.priority, 0, 1, dependency)));
    await attack(context, { chunks: repeated(priority, 100_000) });
    const unknown = Buffer.concat(Array(100).fill(frame(99, 0, 0, Buffer.alloc(8))));
    await attack(context, { chunks: repeated(unknown, 100_000) });
  });

  test("frames that are none: too large, of the wrong length, on the wrong stream", async (context) => {
    const tooLarge = frame(frameType.data, 0, 1, Buffer.alloc(300_000));
    const wrongLength = frame(frameType.settings, 0, 0, Buffer.alloc(5));
    const wrongStream = frame(frameType.ping, 0, 1, Buffer.alloc(8));
    const evenStream = frame(frameType.headers, whole, 2, requestBlock());
    const interleaved = Buffer.concat([
      frame(frameType.headers, flag.endStream, 1, requestBlock()),
      frame(frameType.headers, whole, 3, requestBlock()),
    ]);
    const brokenBlock = frame(frameType.headers, whole, 1, Buffer.from("ffffffffffffffffffff", "hex"));
    for (const chunk of [tooLarge, wrongLength, wrongStream, evenStream, interleaved, brokenBlock]) {
      await attack(context, { chunks: [settingsAck, chunk] });
    }
  });

  test("frames larger than we announce, and padding longer than its frame, have the codes of RFC 9113", async (context) => {
    const announced = 256 * 1024;
    const tooLarge = frame(frameType.headers, whole, 1, Buffer.alloc(announced + 1));
    assert.equal(await attack(context, { chunks: [settingsAck, tooLarge] }), frameSizeError);
    // The stream is open and its body is read: the frame cannot pass for one that came too late.
    const open = frame(frameType.headers, flag.endHeaders, 1, requestBlock("POST", [["content-length", "4"]]));
    const padded = frame(frameType.data, flag.padded, 1, Buffer.from([6, 0x54, 0x65, 0x73, 0x74]));
    const chunks = [settingsAck, open, padded];
    assert.equal(await attack(context, { chunks, handler: silence }), protocolError);
  });

  test("something else than HTTP/2 after ALPN", async (context) => {
    const server = await startTransport(context);
    const raw = await connectRaw(server, "h2");
    raw.socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    await raw.closed;
    await eventually(() => server.transport.counts().connections === 0, "no socket is left");
  });

  test("unread bodies that fill memory: the largest sessions end first", async (context) => {
    const limits = { unreadBytes: 3_000_000, sessionCheckMs: 5 };
    const server = await startTransport(context, { limits, handler: silence });
    const small = connectHttp2(context, server);
    const large = connectHttp2(context, server);
    const smallStream = small.request({ ":path": "/", ":method": "POST" });
    smallStream.write(Buffer.alloc(500_000));
    const closed = new Promise((resolve) => large.once("close", resolve));
    for (let count = 0; count < 2; count += 1) {
      const stream = large.request({ ":path": "/", ":method": "POST" });
      stream.on("error", () => {});
      stream.write(Buffer.alloc(2_000_000));
    }
    await closed;
    assert.ok(!small.destroyed);
    assert.equal((await requestHttp2(small, { ":path": "/neighbour" })).body, "ok");
    assert.equal(server.transport.counts().sessionsCutTotal, 1);
  });
});
