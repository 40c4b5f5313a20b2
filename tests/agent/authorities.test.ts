import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { httpsFetch } from "../../packages/agent/src/api/https-fetch.ts";
import { systemClock, systemRandom } from "../../packages/server/src/kernel/clock.ts";
import { issueAuthority, issueLeaf } from "../../packages/server/src/kernel/transport/issue.ts";

const now = systemClock.now();
const [named, known, stranger] = await Promise.all([1, 2, 3].map(() => issueAuthority(now, systemRandom)));

/** Calls a server whose certificate `signer` has signed, three times at once and once more. */
async function callsTo(t: TestContext, signer: typeof named) {
  assert.ok(named !== undefined && known !== undefined && signer !== undefined);
  const leaf = await issueLeaf(signer, ["127.0.0.1"], now, systemRandom);
  let connections = 0;
  const server = createServer(leaf, (request, response) => void request.pipe(response)).listen(0, "127.0.0.1");
  server.on("secureConnection", () => void connections++);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const { fetch, close } = httpsFetch({ ca: named.cert, authorities: [known.cert], userAgent: "test" });
  t.after(() => {
    close();
    server.closeAllConnections();
    server.close();
  });
  const url = `https://127.0.0.1:${port}/`;
  const call = async (text: string) => {
    const body = ReadableStream.from([Buffer.from(text)]) as ReadableStream<Uint8Array>;
    const headers = { "content-length": String(text.length) };
    return (await fetch(url, { method: "PUT", headers, body, duplex: "half" } as RequestInit)).text();
  };
  const restart = async (whileDown: () => Promise<void>) => {
    await new Promise((resolve) => server.close(resolve));
    await whileDown();
    await once(server.listen(port, "127.0.0.1"), "listening");
  };
  /** Another certificate for the same address, as behind a proxy that looks into TLS. */
  const signedBy = async (another: typeof named) => {
    server.setSecureContext(await issueLeaf(another, ["127.0.0.1"], now, systemRandom));
    server.closeAllConnections();
  };
  return { call, restart, signedBy, connections: () => connections };
}

test("a service is trusted whose certificate the named authority has signed", async (t) => {
  const { call } = await callsTo(t, named);
  assert.deepEqual(await Promise.all(["a", "b", "c"].map(call)), ["a", "b", "c"]);
  assert.equal(await call("d"), "d");
});

test("so is one of another known authority; bodies of the calls before that are sent whole, and once", async (t) => {
  const { call } = await callsTo(t, known);
  assert.deepEqual(await Promise.all(["a", "b", "c"].map(call)), ["a", "b", "c"]);
  assert.equal(await call("d"), "d");
});

test("a service that is away at the first call is trusted by the same rules later", async (t) => {
  const { call, restart } = await callsTo(t, known);
  await restart(() => assert.rejects(call("a"), { code: "ECONNREFUSED" }));
  assert.equal(await call("b"), "b");
});

test("the named authority is still trusted after a service of another known one", async (t) => {
  const { call, restart, signedBy } = await callsTo(t, known);
  assert.equal(await call("a"), "a");
  await signedBy(named ?? assert.fail("no authority"));
  await restart(async () => undefined);
  // The connection from before may not have been noticed as closed.
  await call("b").catch((error: NodeJS.ErrnoException) => assert.match(error.code ?? "", /^(?:ECONNRESET|EPIPE)$/));
  assert.equal(await call("c"), "c");
});

test("nobody else is, however often it is tried", async (t) => {
  const { call, connections } = await callsTo(t, stranger);
  for (let times = 0; times < 3; times++) await assert.rejects(call("a"), { code: "UNABLE_TO_VERIFY_LEAF_SIGNATURE" });
  assert.ok(connections() <= 4);
});

test("a certificate for another name is refused, also of the named authority", async (t) => {
  assert.ok(named !== undefined);
  const leaf = await issueLeaf(named, ["another.example"], now, systemRandom);
  const server = createServer(leaf, (_request, response) => void response.end()).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { fetch, close } = httpsFetch({ ca: named.cert, userAgent: "test" });
  t.after(() => {
    close();
    server.close();
  });
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  await assert.rejects(fetch(url), { code: "ERR_TLS_CERT_ALTNAME_INVALID" });
});
