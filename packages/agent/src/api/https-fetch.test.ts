import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { httpsFetch } from "./https-fetch.ts";

const expect = "100-continue";
const body = Buffer.alloc(1_000_000, 7);

/** A server that answers `Expect: 100-continue` with `listener`; a call to it, and its answer. */
async function put(t: TestContext, listener: RequestListener, headers: Record<string, string> = { expect }) {
  const server = createServer().on("checkContinue", listener).on("request", listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { fetch, close } = httpsFetch({ ca: null, userAgent: "test" });
  t.after(() => {
    close();
    server.close();
  });
  const chunks = async function* () {
    for (let at = 0; at < body.length; at += 100_000) yield body.subarray(at, at + 100_000);
  };
  const answer = fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, {
    method: "PUT",
    headers: { ...headers, "content-length": String(body.length) },
    body: ReadableStream.from(chunks()) as ReadableStream<Uint8Array>,
    duplex: "half",
  } as RequestInit);
  return { answer };
}

test("a body that the service does not ask for is not sent: its refusal is the answer", async (t) => {
  let received = 0;
  const { answer } = await put(t, (request, response) => {
    request.on("data", (chunk: Buffer) => {
      received += chunk.length;
    });
    response.writeHead(503, { "retry-after": "1" }).end("away");
  });
  const refused = await answer;
  assert.deepEqual([refused.status, await refused.text(), received], [503, "away", 0]);
});

test("a body that the service asks for is sent whole", async (t) => {
  const received: Buffer[] = [];
  const { answer } = await put(t, (request, response) => {
    response.writeContinue();
    request.on("data", (chunk: Buffer) => received.push(chunk)).on("end", () => response.end("stored"));
  });
  assert.equal(await (await answer).text(), "stored");
  assert.ok(Buffer.concat(received).equals(body));
});

test("a connection that ends before the service asks fails the call", async (t) => {
  const { answer } = await put(t, (request) => request.socket.destroy());
  await assert.rejects(answer);
});

test("a service that never asks gets the body after half a minute: a proxy may not pass the question on", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { answer } = await put(t, (request, response) => {
    request.resume().on("end", () => response.end("stored"));
    t.mock.timers.tick(30_000);
  });
  assert.equal(await (await answer).text(), "stored");
});

test("without the question a body is sent at once", async (t) => {
  const { answer } = await put(
    t,
    (request, response) => void request.resume().on("end", () => response.end("stored")),
    {},
  );
  assert.equal(await (await answer).text(), "stored");
});

test("a call of the API does not load Node's own `fetch`, a fifth of the time of a short command", async (t) => {
  const server = createServer((_request, response) => {
    response.setHeader("content-type", "application/json").setHeader("set-cookie", ["a=1", "b=2"]).end('{"name":"ev"}');
  }).listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  const script = `
    const { httpsFetch } = await import(${JSON.stringify(import.meta.resolve("./https-fetch.ts"))});
    const { createClient } = await import(${JSON.stringify(import.meta.resolve("@emanet/client/source"))});
    const { fetch, close } = httpsFetch({ ca: null, userAgent: "test" });
    const client = createClient({ baseUrl: process.argv[1], platform: { fetch } });
    const { headers, response, status } = await client.request({ method: "GET", path: "/", headers: { "X-Test": "1" } });
    const { name } = await response.json();
    close();
    const loaded = process.moduleLoadList.filter((each) => each.includes("undici"));
    console.log(JSON.stringify([status, name, headers.get("Set-Cookie"), headers.has("etag"), loaded]));
  `;
  const args = ["--disable-warning=ExperimentalWarning", "--input-type=module", "--eval", script];
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { stdout } = await promisify(execFile)(process.execPath, [...args, url]);
  assert.deepEqual(JSON.parse(stdout), [200, "ev", "a=1, b=2", false, []]);
});
