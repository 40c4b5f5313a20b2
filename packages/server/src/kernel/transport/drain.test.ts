import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { constants } from "node:http2";
import net from "node:net";
import { describe, type TestContext, test } from "node:test";
import {
  connectHttp2,
  connectRaw,
  eventually,
  readHttp2,
  requestHttp2,
  startTransport,
  type TestServer,
  type TestServerOptions,
} from "./testing/transport.ts";

const get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

/** Longer than any test; a drain that waits for it has failed. */
const longMs = 60_000;

/** A server whose answers the test gives. */
async function startHeld(
  context: TestContext,
  options: TestServerOptions = {},
): Promise<{ server: TestServer; held: ServerResponse[]; arrived(count: number): Promise<void> }> {
  const held: ServerResponse[] = [];
  const server = await startTransport(context, { ...options, handler: (_, response) => void held.push(response) });
  return { server, held, arrived: (count) => eventually(() => held.length === count, `${count} requests`) };
}

describe("drain", () => {
  for (const plain of [false, true]) {
    test(`HTTP/1.1 in flight finishes with Connection: close, idle connections end at once (plain: ${plain})`, async (context) => {
      const { server, held, arrived } = await startHeld(context, { plain });
      const busy = await connectRaw(server);
      const idle = await connectRaw(server);
      const used = await connectRaw(server);
      used.socket.write(get);
      await arrived(1);
      held.shift()?.end("before");
      await used.until(/before$/);
      busy.socket.write(get);
      await arrived(1);
      const drained = server.transport.drain(longMs);
      await Promise.all([idle.closed, used.closed]);
      assert.equal(busy.socket.destroyed, false);
      held[0]?.end("whole");
      const answer = await busy.closed;
      assert.match(answer, /^HTTP\/1.1 200 .*whole$/s);
      assert.match(answer, /\r\nconnection: close\r\n/i);
      assert.deepEqual(await drained, { cut: 0 });
    });
  }

  test("an HTTP/1.1 answer that had begun finishes, then its connection ends", async (context) => {
    const { server, held, arrived } = await startHeld(context);
    const raw = await connectRaw(server);
    raw.socket.write(get);
    await arrived(1);
    held[0]?.write("first half, ");
    await raw.until(/first half/);
    const drained = server.transport.drain(longMs);
    held[0]?.end("second half");
    assert.match(await raw.closed, /second half\r\n0\r\n\r\n$/);
    assert.deepEqual(await drained, { cut: 0 });
  });

  test("HTTP/2 in flight finishes, uploads included; GOAWAY goes out at once; idle sessions end", async (context) => {
    const { server, held, arrived } = await startHeld(context);
    const busy = connectHttp2(context, server);
    const idle = connectHttp2(context, server);
    await new Promise((resolve) => idle.once("remoteSettings", resolve));
    const download = requestHttp2(busy, { ":path": "/" });
    const upload = busy.request({ ":path": "/", ":method": "POST" });
    upload.write("first half, ");
    await arrived(2);
    const goaway = new Promise<number>((resolve) => busy.once("goaway", resolve));
    const idleEnd = new Promise((resolve) => idle.once("close", resolve));
    const drained = server.transport.drain(longMs);
    assert.equal(await goaway, constants.NGHTTP2_NO_ERROR);
    await idleEnd;
    upload.end("second half");
    let received = "";
    const uploadResponse = held[1];
    uploadResponse?.req.on("data", (chunk: Buffer) => {
      received += chunk.toString();
    });
    uploadResponse?.req.once("end", () => uploadResponse.end(received));
    assert.equal((await readHttp2(upload)).body, "first half, second half");
    held[0]?.end("whole");
    assert.equal((await download).body, "whole");
    assert.deepEqual(await drained, { cut: 0 });
  });

  test("requests that are unfinished at the deadline are cut off and counted", async (context) => {
    const { server, arrived } = await startHeld(context);
    const raw = await connectRaw(server);
    raw.socket.write(get);
    const client = connectHttp2(context, server);
    const streams = [client.request({ ":path": "/" }), client.request({ ":path": "/" })];
    for (const stream of streams) stream.on("error", () => {});
    await arrived(3);
    assert.deepEqual(await server.transport.drain(20), { cut: 3 });
    await raw.closed;
    await eventually(() => client.destroyed, "the session has ended");
    await eventually(() => server.transport.counts().connections === 0, "no socket is left");
  });

  test("nothing new is accepted, and clients that never said anything do not hold it up", async (context) => {
    const { server } = await startHeld(context);
    const silent = net.connect(server.port, "127.0.0.1");
    silent.on("error", () => {});
    await eventually(() => server.transport.counts().connections === 1, "it is connected");
    const gone = new Promise((resolve) => silent.once("close", resolve));
    assert.deepEqual(await server.transport.drain(longMs), { cut: 0 });
    await gone;
    await assert.rejects(connectRaw(server), /ECONNREFUSED/);
  });

  test("a second drain waits for the first", async (context) => {
    const { server, held, arrived } = await startHeld(context);
    const client = connectHttp2(context, server);
    const answer = requestHttp2(client, { ":path": "/" });
    await arrived(1);
    const both = [server.transport.drain(longMs), server.transport.drain(0)];
    held[0]?.end("whole");
    assert.equal((await answer).body, "whole");
    assert.deepEqual(await Promise.all(both), [{ cut: 0 }, { cut: 0 }]);
  });

  test("a large answer that is still being sent is sent whole", async (context) => {
    const { server, held, arrived } = await startHeld(context);
    const client = connectHttp2(context, server);
    const raw = await connectRaw(server);
    raw.socket.write(get);
    await arrived(1);
    const overHttp2 = requestHttp2(client, { ":path": "/" });
    await arrived(2);
    const body = Buffer.alloc(30_000_000, "x");
    for (const response of held) response.end(body);
    const drained = server.transport.drain(longMs);
    assert.equal((await overHttp2).body.length, body.length);
    assert.ok((await raw.closed).length > body.length);
    assert.deepEqual(await drained, { cut: 0 });
  });
});
