import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import https from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, test } from "node:test";
import tls from "node:tls";
import { promisify } from "node:util";
import Fastify from "fastify";
import { systemClock, systemRandom } from "../clock.ts";
import { openLocalAuthority, openOwnCertificate } from "./certificates.ts";
import { createTransport } from "./server.ts";
import {
  commandExists,
  connectHttp2,
  connectRaw,
  eventually,
  requestHttp2,
  silentLog,
  startTransport,
  type TestServer,
  testProblem,
} from "./testing/transport.ts";

const run = promisify(execFile);

interface Handshake {
  readonly alpnProtocol: string | false | null;
  readonly serialNumber: string | undefined;
}

/** One handshake; gives what was agreed on, or the error's code. */
async function handshake(server: TestServer, options: tls.ConnectionOptions): Promise<string | Handshake> {
  const { promise, resolve } = Promise.withResolvers<string | Handshake>();
  const socket = tls.connect({ host: "127.0.0.1", port: server.port, ca: server.ca, ...options }, () => {
    resolve({ alpnProtocol: socket.alpnProtocol, serialNumber: socket.getPeerX509Certificate()?.serialNumber });
    socket.destroy();
  });
  socket.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  return promise;
}

describe("TLS", () => {
  test("the protocol is chosen by ALPN; without ALPN it is HTTP/1.1, with an unknown one there is no connection", async (context) => {
    const server = await startTransport(context);
    for (const [offered, chosen] of [
      [["h2", "http/1.1"], "h2"],
      [["http/1.1"], "http/1.1"],
      [["http/1.1", "h2"], "h2"],
      [undefined, false],
    ] as const) {
      const result = await handshake(server, offered === undefined ? {} : { ALPNProtocols: [...offered] });
      assert.ok(typeof result !== "string");
      assert.equal(result.alpnProtocol, chosen);
    }
    assert.match(String(await handshake(server, { ALPNProtocols: ["spdy/3"] })), /NO_APPLICATION_PROTOCOL/);
  });

  test("TLS 1.1 and older are refused, 1.2 and 1.3 are spoken, with forward secrecy only", async (context) => {
    const server = await startTransport(context);
    for (const version of ["TLSv1", "TLSv1.1"] as const) {
      const old = { minVersion: version, maxVersion: version, ciphers: "DEFAULT:@SECLEVEL=0" };
      assert.match(String(await handshake(server, old)), /ALERT_PROTOCOL_VERSION/);
    }
    for (const version of ["TLSv1.2", "TLSv1.3"] as const) {
      assert.ok(typeof (await handshake(server, { minVersion: version, maxVersion: version })) !== "string");
    }
    const withoutSecrecy = { maxVersion: "TLSv1.2", ciphers: "AES128-GCM-SHA256:AES256-SHA" } as const;
    assert.equal(typeof (await handshake(server, withoutSecrecy)), "string");
  });

  test("a client that connects and does not finish the handshake is cut", async (context) => {
    const server = await startTransport(context, { limits: { handshakeTimeoutMs: 50 } });
    const raw = await connectRaw({ ...server, origin: "http:" });
    raw.socket.write(Buffer.from("1603010200", "hex"));
    await raw.closed;
    await eventually(() => server.transport.counts().connections === 0, "the connection is forgotten");
  });

  test("a new certificate is served to new connections while requests on old ones go on", async (context) => {
    const folder = await mkdtemp(path.join(tmpdir(), "emanet-reload-"));
    context.after(() => rm(folder, { recursive: true }));
    const issue = (names: string[]) =>
      openLocalAuthority({ folder, names, clock: systemClock, random: systemRandom, log: silentLog });
    (await issue([])).stop();
    const files = { certFile: path.join(folder, "server.pem"), keyFile: path.join(folder, "server.key") };
    const certificates = await openOwnCertificate({ ...files, clock: systemClock, log: silentLog });
    const release = Promise.withResolvers<void>();
    const server = await startTransport(context, {
      certificates,
      handler: (_, response) => void release.promise.then(() => response.end("late")),
    });
    const trusted = { ...server, ca: await readFile(path.join(folder, "ca.pem"), "utf8") };
    const client = connectHttp2(context, trusted);
    const answer = requestHttp2(client, { ":path": "/" });
    await eventually(() => server.transport.counts().requests === 1, "the request has arrived");
    const serialNow = async (): Promise<string> => {
      const result = await handshake(trusted, {});
      assert.ok(typeof result !== "string" && result.serialNumber !== undefined, String(result));
      return result.serialNumber;
    };
    const first = await serialNow();
    await writeFile(files.keyFile, "broken");
    assert.equal((await certificates.reload()).kind, "failed");
    assert.equal(await serialNow(), first);
    (await issue(["other.example"])).stop();
    assert.equal((await certificates.reload()).kind, "changed");
    assert.notEqual(await serialNow(), first);
    release.resolve();
    assert.equal((await answer).body, "late");
  });
});

describe("with Fastify on top", () => {
  async function startFastify(plain = false): Promise<{ app: ReturnType<typeof Fastify>; server: TestServer }> {
    const folder = await mkdtemp(path.join(tmpdir(), "emanet-fastify-"));
    const certificates = await openLocalAuthority({
      folder,
      names: [],
      clock: systemClock,
      random: systemRandom,
      log: silentLog,
    });
    const transport = createTransport({
      mode: plain ? { kind: "plain" } : { kind: "tls", certificates },
      log: silentLog,
      writeParserProblem: testProblem,
    });
    const app = Fastify({ serverFactory: transport.serverFactory });
    app.get("/version", (request) => ({ version: request.raw.httpVersion }));
    app.post("/echo", { bodyLimit: 1000 }, (request) => request.body);
    app.addHook("onClose", async () => {
      certificates.stop();
      await rm(folder, { recursive: true });
    });
    await app.listen({ host: "127.0.0.1", port: 0 });
    const { port } = app.server.address() as AddressInfo;
    const ca = await readFile(path.join(folder, "ca.pem"), "utf8");
    const origin = `${plain ? "http" : "https"}://127.0.0.1:${port}`;
    return { app, server: { transport, certificates, server: app.server, port, origin, ca } };
  }

  test("requests are answered over HTTP/2 and HTTP/1.1, bodies included", async (context) => {
    const { app, server } = await startFastify();
    const client = connectHttp2(context, server);
    assert.deepEqual(JSON.parse((await requestHttp2(client, { ":path": "/version" })).body), { version: "2.0" });
    const json = { "content-type": "application/json" };
    const echoed = await requestHttp2(client, { ":path": "/echo", ":method": "POST", ...json }, '{"a":1}');
    assert.equal(echoed.body, '{"a":1}');
    const raw = await connectRaw(server);
    raw.socket.write("GET /version HTTP/1.1\r\nHost: x\r\n\r\n");
    await raw.until(/\{"version":"1.1"\}$/);
    raw.socket.write("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n");
    raw.socket.write('{"b":2}');
    await raw.until(/\{"b":2\}$/);
    client.close();
    raw.socket.destroy();
    await app.close();
  });

  test("a body above Fastify's limit is refused in a way that the client can read, over both", async (context) => {
    const { app, server } = await startFastify();
    const body = Buffer.alloc(3_000_000, 32);
    const client = connectHttp2(context, server);
    const json = { "content-type": "application/json" };
    const answer = await requestHttp2(client, { ":path": "/echo", ":method": "POST", ...json }, body);
    assert.equal(answer.status, 413);
    const status = await new Promise((resolve, reject) => {
      const options = { method: "POST", ca: server.ca, headers: { ...json, "transfer-encoding": "chunked" } };
      const request = https.request(`${server.origin}/echo`, options, (response) => resolve(response.statusCode));
      request.once("error", reject);
      request.end(body);
    });
    assert.equal(status, 413);
    client.close();
    await server.transport.drain(0);
    await app.close();
  });

  test("closing the application after a drain comes to an end, in both modes", async () => {
    for (const plain of [false, true]) {
      const { app, server } = await startFastify(plain);
      const raw = await connectRaw(server);
      assert.deepEqual(await server.transport.drain(1000), { cut: 0 });
      await raw.closed;
      await app.close();
    }
  });

  test("curl is served over both versions with the local authority", {
    skip: !commandExists("curl") && "no curl",
  }, async () => {
    const { app, server } = await startFastify();
    for (const [flag, version] of [
      ["--http2", "2.0"],
      ["--http1.1", "1.1"],
    ] as const) {
      const caFile = server.certificates.caFile ?? "";
      const { stdout } = await run("curl", ["-sS", flag, "--cacert", caFile, `${server.origin}/version`]);
      assert.deepEqual(JSON.parse(stdout), { version });
    }
    await server.transport.drain(0);
    await app.close();
  });
});

describe("behind a proxy", () => {
  test("plain HTTP/1.1 is served, and HTTP/2 without TLS is not", async (context) => {
    const server = await startTransport(context, { plain: true });
    const raw = await connectRaw(server);
    raw.socket.write("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert.match(await raw.closed, /^HTTP\/1.1 200 /);
    const priorKnowledge = await connectRaw(server);
    priorKnowledge.socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    assert.doesNotMatch(await priorKnowledge.closed, / 200 /);
  });
});

describe("number of connections", () => {
  test("above the limit per address new ones are closed, and exempt addresses are not counted", async (context) => {
    const limits = { connectionsPerAddress: 3 };
    const server = await startTransport(context, { limits });
    const open = [await connectRaw(server), await connectRaw(server), await connectRaw(server)];
    await assert.rejects(connectRaw(server));
    assert.equal(server.transport.counts().connectionsRefusedTotal, 1);
    open[0]?.socket.destroy();
    await eventually(() => server.transport.counts().connections === 2, "a place is free");
    open.push(await connectRaw(server));
    for (const { socket } of open) socket.destroy();

    const proxied = await startTransport(context, { limits, isExempt: (address) => address === "127.0.0.1" });
    for (let count = 0; count < 5; count += 1) open.push(await connectRaw(proxied));
    assert.equal(proxied.transport.counts().connections, 5);
    for (const { socket } of open) socket.destroy();
  });

  test("above the overall limit new ones are closed, behind a proxy too", async (context) => {
    const limits = { connections: 2, connectionsPerAddress: 1 };
    const server = await startTransport(context, { limits, plain: true });
    const first = await connectRaw(server);
    const second = await connectRaw(server);
    await (await connectRaw(server)).closed;
    assert.equal(server.transport.counts().connections, 2);
    first.socket.destroy();
    second.socket.destroy();
  });
});
