import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import { constants } from "node:http2";
import { describe, test } from "node:test";
import { connectHttp2, connectRaw, eventually, readHttp2, startTransport } from "./testing/transport.ts";

const head = "POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n";

/** Waits for the release, then reads the body and answers with it. */
function readAfter(release: Promise<void>) {
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    await release;
    let body = "";
    for await (const chunk of request) body += chunk;
    response.end(body);
  };
}

const refuse = (_: IncomingMessage, response: ServerResponse): void => {
  response.statusCode = 401;
  response.end("who are you");
};

describe("Expect: 100-continue over HTTP/1.1", () => {
  test("100 comes when the application begins to read, not before", async (context) => {
    const release = Promise.withResolvers<void>();
    const server = await startTransport(context, { handler: readAfter(release.promise) });
    const raw = await connectRaw(server);
    raw.socket.write(`${head}\r\n`);
    await eventually(() => server.transport.counts().requests === 1, "the request has arrived");
    // Another exchange, begun later and finished: the server has had every occasion to send 100.
    const other = await connectRaw(server);
    other.socket.write("GET / HTTP/1.0\r\n\r\n");
    await eventually(() => server.transport.counts().requests === 2, "the other has arrived");
    assert.equal(raw.received(), "");
    release.resolve();
    assert.equal(await raw.until(/\r\n\r\n$/), "HTTP/1.1 100 Continue\r\n\r\n");
    raw.socket.write("hello");
    assert.match(await raw.until(/hello$/), /\r\n\r\nHTTP\/1.1 200 /);
    raw.socket.destroy();
  });

  test("a refusal comes instead of 100, and the connection ends without the body", async (context) => {
    const server = await startTransport(context, { handler: refuse });
    const raw = await connectRaw(server);
    raw.socket.write(`${head}\r\n`);
    const answer = await raw.closed;
    assert.match(answer, /^HTTP\/1.1 401 .*who are you$/s);
    assert.match(answer, /connection: close/i);
  });

  test("a client that sends the body without waiting gets the refusal all the same", async (context) => {
    const server = await startTransport(context, { handler: refuse });
    const raw = await connectRaw(server);
    raw.socket.pause();
    raw.socket.write(`${head.replace("Length: 5", "Length: 8000000")}\r\n`);
    await new Promise((resolve) => raw.socket.write(Buffer.alloc(8_000_000), resolve));
    raw.socket.resume();
    assert.match(await raw.closed, /^HTTP\/1.1 401 .*who are you$/s);
  });

  test("reading nothing and answering late sends no 100 at all", async (context) => {
    const server = await startTransport(context, { handler: (_, response) => void setImmediate(() => response.end()) });
    const raw = await connectRaw(server);
    raw.socket.write(`${head}\r\n`);
    assert.match(await raw.closed, /^HTTP\/1.1 200 /);
  });
});

describe("Expect: 100-continue over HTTP/2", () => {
  for (const expect of ["100-continue", "100-Continue"]) {
    test(`${expect}: 100 comes when the application begins to read, not before`, async (context) => {
      const release = Promise.withResolvers<void>();
      const server = await startTransport(context, { handler: readAfter(release.promise) });
      const client = connectHttp2(context, server);
      const stream = client.request({ ":path": "/", ":method": "POST", expect });
      let continued = false;
      stream.once("continue", () => {
        continued = true;
        stream.end("hello");
      });
      await eventually(() => server.transport.counts().requests === 1, "the request has arrived");
      await new Promise((resolve) => client.ping(resolve));
      assert.ok(!continued);
      release.resolve();
      assert.equal((await readHttp2(stream)).body, "hello");
      assert.ok(continued);
    });
  }

  test("a refusal comes instead of 100, and the stream ends without an error", async (context) => {
    const server = await startTransport(context, { handler: refuse });
    const client = connectHttp2(context, server);
    const stream = client.request({ ":path": "/", ":method": "POST", expect: "100-continue" });
    stream.once("continue", () => assert.fail("100 after a refusal"));
    const answer = await readHttp2(stream);
    assert.equal(answer.status, 401);
    assert.equal(answer.body, "who are you");
    assert.equal(answer.rstCode, constants.NGHTTP2_NO_ERROR);
    assert.ok(!client.destroyed);
  });
});
