import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import { describe, test } from "node:test";
import { connectRaw, eventually, startTransport, type TestServer } from "./testing/transport.ts";

const get = "GET / HTTP/1.1\r\nHost: x\r\n";

/** Writes one text to a new connection and gives everything that comes back until it is closed. */
async function exchange(server: TestServer, text: string): Promise<string> {
  const raw = await connectRaw(server);
  raw.socket.write(text);
  return raw.closed;
}

/** Answers with what the handler saw of the request, and ends the connection. */
function echo(request: IncomingMessage, response: ServerResponse): void {
  response.setHeader("connection", "close");
  response.end(`${request.method} ${request.url}`);
}

function assertProblem(answer: string, status: number, code: string): void {
  assert.match(answer, new RegExp(`^HTTP/1.1 ${status} `));
  assert.match(answer, /\r\ncontent-type: application\/problem\+json\r\n/i);
  assert.match(answer, /\r\nconnection: close\r\n/i);
  const [head = "", body = ""] = answer.split("\r\n\r\n");
  assert.match(head, new RegExp(`content-length: ${Buffer.byteLength(body)}`, "i"));
  assert.equal(JSON.parse(body).code, code);
}

async function assertServesOthers(server: TestServer): Promise<void> {
  assert.match(await exchange(server, `${get}Connection: close\r\n\r\n`), /^HTTP\/1.1 200 /);
}

describe("requests that are none", () => {
  const refused: Record<string, string> = {
    garbage: "what is this\r\n\r\n",
    "no version": "GET /\r\n\r\n",
    "an unknown method": "BREW / HTTP/1.1\r\nHost: x\r\n\r\n",
    "no Host": "GET / HTTP/1.1\r\n\r\n",
    "two Hosts": `${get}Host: y\r\n\r\n`,
    "two Authorizations": `${get}Authorization: a\r\nauthorization: b\r\n\r\n`,
    "Content-Length beside Transfer-Encoding": `${get}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    "Transfer-Encoding beside Content-Length": `${get}Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n`,
    "two Content-Lengths": `${get}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`,
    "two equal Content-Lengths": `${get}Content-Length: 1\r\nContent-Length: 1\r\n\r\na`,
    "a negative Content-Length": `${get}Content-Length: -1\r\n\r\n`,
    "a list as Content-Length": `${get}Content-Length: 1, 1\r\n\r\na`,
    "an unknown coding before chunked": `${get}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
    "an unknown coding": `${get}Transfer-Encoding: identity\r\n\r\n`,
    "chunking in HTTP/1.0": "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a space before the colon": `${get}Content-Length : 3\r\n\r\nabc`,
    "a folded line": `${get}X-A: b\r\n c\r\n\r\n`,
    "a bare line feed": "GET / HTTP/1.1\nHost: x\n\n",
    "a null byte in a value": `${get}X-A: a\0b\r\n\r\n`,
    "a chunk size with a sign": `${get}Transfer-Encoding: chunked\r\n\r\n+1\r\na\r\n0\r\n\r\n`,
    "a chunk size that overflows": `${get}Transfer-Encoding: chunked\r\n\r\n${"f".repeat(20)}\r\na\r\n`,
    CONNECT: "CONNECT other.example:443 HTTP/1.1\r\nHost: other.example:443\r\n\r\n",
  };
  for (const [name, text] of Object.entries(refused)) {
    test(`${name}: 400 with a problem body, and the connection ends`, async (context) => {
      const server = await startTransport(context, { plain: true, handler: readAll });
      assertProblem(await exchange(server, text), 400, "malformed_request");
      await assertServesOthers(server);
    });
  }

  test("a request cut off by the client is no request: the application sees an error, not an end", async (context) => {
    const seen = Promise.withResolvers<string>();
    const server = await startTransport(context, {
      plain: true,
      handler: async (request) => {
        try {
          for await (const _ of request);
          seen.resolve("end");
        } catch (error) {
          seen.resolve((error as NodeJS.ErrnoException).code ?? "error");
        }
      },
    });
    const raw = await connectRaw(server);
    raw.socket.write(`POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`);
    await eventually(() => server.transport.counts().requests === 1, "the request has arrived");
    raw.socket.destroy();
    assert.equal(await seen.promise, "ECONNRESET");
  });
});

describe("unusual requests", () => {
  test("absolute-form reaches the application as a path; the host in it means nothing", async (context) => {
    const server = await startTransport(context, { plain: true, handler: echo });
    assert.match(await exchange(server, "GET http://evil.example/a?b=c HTTP/1.1\r\nHost: x\r\n\r\n"), /GET \/a\?b=c$/);
    assert.match(await exchange(server, "GET HTTPS://evil.example HTTP/1.1\r\nHost: x\r\n\r\n"), /GET \/$/);
    assert.match(await exchange(server, "GET http://evil.example?x HTTP/1.1\r\nHost: x\r\n\r\n"), /GET \/\?x$/);
    assert.match(await exchange(server, "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n"), /OPTIONS \*$/);
  });

  test("TRACE reaches the application, which refuses it; Upgrade is ignored", async (context) => {
    const server = await startTransport(context, { handler: echo });
    assert.match(await exchange(server, "TRACE /x HTTP/1.1\r\nHost: x\r\n\r\n"), /TRACE \/x$/);
    const upgrade = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n";
    assert.match(await exchange(server, `${get}${upgrade}`), /^HTTP\/1.1 200 .*GET \/$/s);
  });

  test("an unknown expectation is answered 417", async (context) => {
    const server = await startTransport(context);
    assertProblem(await exchange(server, `${get}Expect: miracles\r\n\r\n`), 417, "expectation_failed");
  });

  test("HTTP/1.0 without Host is served", async (context) => {
    const server = await startTransport(context, { plain: true, handler: echo });
    assert.match(await exchange(server, "GET /old HTTP/1.0\r\n\r\n"), /GET \/old$/);
  });
});

describe("headers", () => {
  test("10 MB of one header: 431 that the client can read, over TLS and plain", async (context) => {
    for (const plain of [true, false]) {
      const server = await startTransport(context, { plain });
      const raw = await connectRaw(server);
      // Reads nothing before all is sent, as simple clients do.
      raw.socket.pause();
      await new Promise((resolve) => raw.socket.write(`${get}X-A: ${"a".repeat(10_000_000)}`, resolve));
      raw.socket.resume();
      assertProblem(await raw.closed, 431, "headers_too_large");
      await assertServesOthers(server);
      await eventually(() => server.transport.counts().connections === 0, "no socket is left");
    }
  });

  test("many short headers, and a long path: 431", async (context) => {
    const server = await startTransport(context, { limits: { headerCount: 20, headerBytes: 4096 } });
    const many = Array.from({ length: 20 }, (_, index) => `X-${index}: 1\r\n`).join("");
    assertProblem(await exchange(server, `${get}${many}\r\n`), 431, "headers_too_large");
    const longPath = `GET /${"a".repeat(5000)} HTTP/1.1\r\nHost: x\r\n\r\n`;
    assertProblem(await exchange(server, longPath), 431, "headers_too_large");
    await assertServesOthers(server);
  });

  test("slow headers: 408 for those who began, a closed connection for those who said nothing", async (context) => {
    const server = await startTransport(context, { limits: { headersTimeoutMs: 60 } });
    const slow = await connectRaw(server);
    const dribble = setInterval(() => slow.socket.write("X-A: b\r\n"), 5).unref();
    slow.socket.write(get);
    const answer = await slow.closed;
    clearInterval(dribble);
    assertProblem(answer, 408, "request_timeout");
    const silent = await connectRaw(server);
    assert.equal(await silent.closed, "");
    await eventually(() => server.transport.counts().connections === 0, "no socket is left");
  });
});

describe("bodies", () => {
  const post = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n";
  const limits = { bodyWindowMs: 60, bodyWindowBytes: 50, lingerMs: 50 };
  /** For clients that must not be cut: no pause of a busy machine is that long. */
  const patient = { ...limits, bodyWindowMs: 400 };

  async function readAndCount(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let bytes = 0;
    try {
      for await (const chunk of request) bytes += (chunk as Buffer).length;
      response.end(String(bytes));
    } catch {
      // The transport has answered.
    }
  }

  test("a body that stops, or only dribbles: 408 and the connection ends", async (context) => {
    const server = await startTransport(context, { limits, handler: readAndCount });
    assertProblem(await exchange(server, `${post}some`), 408, "request_timeout");
    const raw = await connectRaw(server);
    const dribble = setInterval(() => raw.socket.write("x"), 5).unref();
    raw.socket.write(post);
    const answer = await raw.closed;
    clearInterval(dribble);
    assertProblem(answer, 408, "request_timeout");
    await eventually(() => server.transport.counts().connections === 0, "no socket is left");
  });

  test("a body may take many windows as long as it comes on", async (context) => {
    // Longer than a busy machine may let this process wait.
    const bodyWindowMs = 1_500;
    const server = await startTransport(context, { limits: { ...limits, bodyWindowMs }, handler: readAndCount });
    const raw = await connectRaw(server);
    raw.socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10000\r\nConnection: close\r\n\r\n");
    const started = performance.now();
    let sent = 0;
    const timer = setInterval(() => {
      raw.socket.write("x".repeat(100));
      sent += 100;
      if (sent === 10_000) clearInterval(timer);
    }, 32).unref();
    assert.match(await raw.closed, /10000$/);
    assert.ok(performance.now() - started > 2 * bodyWindowMs);
  });

  test("an application that is slow to read is not the client's fault", async (context) => {
    const server = await startTransport(context, {
      limits: patient,
      handler: async (request, response) => {
        let bytes = 0;
        for await (const chunk of request) {
          bytes += (chunk as Buffer).length;
          if (bytes === (chunk as Buffer).length)
            await new Promise((resolve) => setTimeout(resolve, 2 * patient.bodyWindowMs));
        }
        response.end(String(bytes));
      },
    });
    const raw = await connectRaw(server);
    raw.socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\nConnection: close\r\n\r\n");
    raw.socket.write(Buffer.alloc(1_000_000));
    assert.match(await raw.closed, /1000000$/);
  });

  test("a body that the handler does not read: the answer is sent, the rest is discarded, the connection stays open", async (context) => {
    const server = await startTransport(context, { handler: (_, response) => void response.end("no thanks") });
    const raw = await connectRaw(server);
    raw.socket.write(post);
    await raw.until(/no thanks$/);
    raw.socket.write(Buffer.alloc(100_000));
    raw.socket.write(`${get}\r\n`);
    await raw.until(/no thanks.*no thanks$/s);
    raw.socket.destroy();
  });

  test("a refused body that does not end is cut after a while, or after so many bytes", async (context) => {
    const handler = (_: IncomingMessage, response: ServerResponse) => void response.end("no thanks");
    const slow = await startTransport(context, { limits, handler });
    assert.match(await exchange(slow, `${post}some`), /no thanks$/);

    const large = await startTransport(context, { limits: { lingerBytes: 1_000_000, lingerMs: 20_000 }, handler });
    const raw = await connectRaw(large);
    raw.socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000000\r\n\r\n");
    const flood = setInterval(() => raw.socket.write(Buffer.alloc(100_000)), 1).unref();
    assert.match(await raw.closed, /no thanks$/);
    clearInterval(flood);
  });

  for (const way of ["/thrown", "/destroyed", "/closing", "/paused"]) {
    test(`a client that sends its whole body before it reads gets the refusal that came in between (${way})`, async (context) => {
      const limits = { lingerBytes: 100_000_000 };
      const server = await startTransport(context, { limits, handler: refuseInTheMiddle });
      const raw = await connectRaw(server);
      raw.socket.pause();
      raw.socket.write(`POST ${way} HTTP/1.1\r\nHost: x\r\nContent-Length: 20000000\r\n\r\n`);
      await new Promise((resolve) => raw.socket.write(Buffer.alloc(20_000_000), resolve));
      raw.socket.resume();
      assert.match(await raw.until(/too much$/), /^HTTP\/1.1 413 /);
      raw.socket.destroy();
    });
  }

  /** In the ways in which applications stop reading. */
  async function refuseInTheMiddle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url === "/thrown") {
      try {
        for await (const _ of request) throw new Error();
      } catch {
        response.setHeader("x-thrown", "1");
      }
    } else {
      await new Promise((resolve) => request.once("data", resolve));
      if (request.url === "/destroyed") request.destroy();
      else request.pause();
    }
    if (request.url === "/closing") response.setHeader("connection", "close");
    response.statusCode = 413;
    response.end("too much");
  }
});

describe("answers", () => {
  test("a client that does not take its answer is cut", async (context) => {
    const server = await startTransport(context, {
      limits: { responseStallMs: 60 },
      handler: (_, response) => void response.end(Buffer.alloc(50_000_000)),
    });
    const raw = await connectRaw(server);
    raw.socket.pause();
    raw.socket.write(`${get}\r\n`);
    await eventually(() => server.transport.counts().requests === 1, "the request has arrived");
    await eventually(() => server.transport.counts().connections === 0, "the connection is cut");
    raw.socket.destroy();
  });

  test("an application may take its time to answer", async (context) => {
    const server = await startTransport(context, {
      limits: { responseStallMs: 20, bodyWindowMs: 20, keepAliveMs: 20 },
      handler: (_, response) => void setTimeout(() => response.end("late"), 200),
    });
    assert.match(await exchange(server, `${get}Connection: close\r\n\r\n`), /late$/);
  });

  test("an idle connection between two requests is closed", async (context) => {
    const server = await startTransport(context, { limits: { keepAliveMs: 20 } });
    const raw = await connectRaw(server);
    raw.socket.write(`${get}\r\n`);
    assert.match(await raw.closed, /ok$/);
  });

  test("requests pipelined beyond the limit end the connection, and the application sees no more of them", async (context) => {
    let seen = 0;
    const server = await startTransport(context, {
      limits: { pipelinedRequests: 5 },
      handler: () => {
        seen += 1;
      },
    });
    await exchange(server, `${get}\r\n`.repeat(1000));
    assert.equal(seen, 5);
    await eventually(() => server.transport.counts().requests === 0, "nothing is left open");
  });
});

test("a thousand clients that break off at every point leave no socket and no request behind", async (context) => {
  const server = await startTransport(context, { plain: true, handler: readAll });
  const whole = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
  await breakOffEverywhere(server, whole);
  await eventually(() => server.transport.counts().connections === 0, "no socket is left");
  assert.equal(server.transport.counts().requests, 0);
});

async function breakOffEverywhere(server: TestServer, whole: string): Promise<void> {
  const cuts = Array.from({ length: 1000 }, (_, index) => index % whole.length);
  const parallel = 50;
  for (let start = 0; start < cuts.length; start += parallel) {
    await Promise.all(
      cuts.slice(start, start + parallel).map(async (length, index) => {
        const raw = await connectRaw(server);
        raw.socket.write(whole.slice(0, length));
        if (index % 2 === 0) raw.socket.destroy();
        else raw.socket.end();
        await raw.closed;
      }),
    );
  }
}

/** Answers once the body is whole, and not at all when it never is. */
async function readAll(request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    for await (const _ of request);
    response.end("ok");
  } catch {
    response.destroy();
  }
}
