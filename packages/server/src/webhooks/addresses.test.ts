import assert from "node:assert/strict";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { createServer, type Server } from "node:net";
import { after, describe, test } from "node:test";
import { storedRows } from "../testing/rows.ts";
import { createSender } from "./http-sender.ts";
import { allowListOf, isPublicAddress } from "./public-address.ts";
import { askDns, hostResolver } from "./resolve-host.ts";
import { parseTarget } from "./target-url.ts";
import { hostileUrls } from "./testing/hostile-urls.ts";
import { startNameServer } from "./testing/name-server.ts";
import { startReceiver } from "./testing/receiver.ts";
import { webhookTest } from "./testing/webhook-test.ts";

const nothingAllowed = allowListOf([]);

/** A listener that counts who connects, at an address of this machine. */
async function countingListener(host: string, port = 0) {
  let connections = 0;
  const server: Server = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(port, host, resolve));
  after(() => new Promise((resolve) => server.close(resolve)));
  const at = server.address();
  return { port: typeof at === "object" && at !== null ? at.port : 0, connections: () => connections };
}

/** Sockets that this process opens while the work runs. */
async function socketsDuring(work: () => Promise<unknown>): Promise<number> {
  let opened = 0;
  const count = () => {
    opened += 1;
  };
  subscribe("net.client.socket", count);
  try {
    await work();
  } finally {
    unsubscribe("net.client.socket", count);
  }
  return opened;
}

describe("hostile addresses", () => {
  test("more than 200 are refused when they are saved", () => {
    const urls = hostileUrls(8443);
    assert.ok(urls.length >= 200, String(urls.length));
    const accepted = urls.filter((url) => parseTarget(url, nothingAllowed) !== null);
    assert.deepEqual(accepted, []);
  });

  test("no socket is opened for any of them, also if one were saved", async () => {
    const { port, connections } = await countingListener("127.0.0.1");
    const dns = await startNameServer({ after }, () => ["127.0.0.1"]);
    const resolver = hostResolver(nothingAllowed, askDns([dns.address]));
    const sender = createSender({ resolver });
    const urls = hostileUrls(port).filter((url) => URL.canParse(url) && new URL(url).protocol === "https:");
    const classes = new Set<string | null>();
    const opened = await socketsDuring(async () => {
      for (const url of urls) {
        const { error } = await sender.send(
          { target: new URL(url), headers: {}, body: Buffer.from("{}") },
          new Date(0),
        );
        classes.add(error);
      }
    });
    await sender.close();
    assert.deepEqual([opened, connections()], [0, 0]);
    assert.ok(classes.has("blocked") && !classes.has(null), [...classes].join(" "));
  });

  test("a name with one private address among public ones is refused as a whole", async () => {
    const dns = await startNameServer({ after }, () => ["93.184.216.34", "10.0.0.1"]);
    const resolver = hostResolver(nothingAllowed, askDns([dns.address]));
    await assert.rejects(resolver.resolve("karisik.example.com"), { reason: "blocked" });
  });

  test("422 when a name has a private address at the time of saving", async () => {
    const dns = await startNameServer({ after }, (name) => (name === "ic.example.com" ? ["10.1.2.3"] : []));
    const env = await webhookTest({ after }, { settings: { EMANET_WEBHOOK_DNS: dns.address } });
    const account = await env.account();
    const url = "https://ic.example.com/";
    const answer = await account.call("POST", "/v1/webhooks", { url, events: ["*"] });
    assert.deepEqual([answer.status, answer.json?.code], [422, "webhook_url_blocked"]);
  });
});

describe("DNS rebinding", () => {
  test("a name that changes between two looks is connected to only where it was found allowed", async () => {
    // 127.0.0.2 stands for a public address, 127.0.0.1 for a private one. The name alternates between them.
    const receiver = await startReceiver({ after }, ["hooks.example.com"]);
    const trap = await countingListener("127.0.0.2", receiver.port);
    const dns = await startNameServer({ after }, (_name, count) => [count % 2 === 0 ? "127.0.0.1" : "127.0.0.2"]);
    // The other way round as well: the allowed one is where the receiver is.
    const resolver = hostResolver(allowListOf(["127.0.0.1/32"]), askDns([dns.address]));
    const sender = createSender({ resolver });
    const outcomes: (string | null)[] = [];
    for (let sent = 0; sent < 20; sent += 1) {
      receiver.answer = () => ({ status: 200, headers: { connection: "close" } });
      const url = `https://hooks.example.com:${receiver.port}/`;
      outcomes.push(
        (await sender.send({ target: new URL(url), headers: {}, body: Buffer.from("{}") }, new Date(0))).error,
      );
    }
    await sender.close();
    assert.equal(trap.connections(), 0);
    assert.ok(outcomes.includes("blocked") && outcomes.every((error) => error === "blocked" || error === "tls"));
  });

  test("a webhook whose name becomes private after it was saved sends nothing", async () => {
    let address = "127.0.0.1";
    const dns = await startNameServer({ after }, () => [address]);
    const env = await webhookTest({ after }, { settings: { EMANET_WEBHOOK_DNS: dns.address } });
    const trap = await countingListener("127.0.0.3", env.receiver.port);
    const account = await env.account();
    const { id } = await account.webhook({ url: `https://hooks.example.com:${env.receiver.port}/` });
    address = "127.0.0.3";
    await account.emit(1);
    const row = await env.until(async () => (await account.deliveries(id))[0]?.last_attempt);
    assert.equal(row.error, "blocked");
    assert.deepEqual([trap.connections(), env.receiver.connections()], [0, 0]);
    address = "127.0.0.1";
    await account.call("POST", `/v1/webhooks/${id}/retry-failed`);
    await env.receiver.has(1);
    assert.equal(env.receiver.requests[0]?.headers.host, `hooks.example.com:${env.receiver.port}`);
  });
});

test("no proxy of the environment is used", async () => {
  const proxy = await countingListener("127.0.0.1");
  const env = await webhookTest({ after });
  const before = { ...process.env };
  for (const name of ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"]) process.env[name] = `http://127.0.0.1:${proxy.port}`;
  try {
    const account = await env.account();
    await account.webhook();
    await account.emit(1);
    await env.receiver.has(1);
  } finally {
    process.env = before;
  }
  assert.equal(proxy.connections(), 0);
});

test("public addresses are open", () => {
  for (const address of [
    "93.184.216.34",
    "8.8.8.8",
    "1.1.1.1",
    "2606:4700::1111",
    "2a00:1450::1",
    "172.32.0.1",
    "100.128.0.1",
  ]) {
    assert.ok(isPublicAddress(address), address);
  }
  for (const url of [
    "https://hooks.example.com/a?b=c",
    "https://8.8.8.8:8443/",
    "https://örnek.example/",
    "https://a-b.co:1024/",
  ]) {
    assert.ok(parseTarget(url, nothingAllowed), url);
  }
});

test("a named host is open to any address, a network to its addresses", async () => {
  const dns = await startNameServer({ after }, () => ["10.0.0.7"]);
  const byName = hostResolver(allowListOf(["erp.ofis.local"]), askDns([dns.address]));
  assert.deepEqual(await byName.resolve("erp.ofis.local"), ["10.0.0.7"]);
  await assert.rejects(byName.resolve("baska.ofis.local"), { reason: "blocked" });
  const byNetwork = allowListOf(["10.0.0.0/24", "fd00::/8"]);
  assert.deepEqual(
    ["10.0.0.7", "10.0.1.7", "fd00::1", "fe80::1", "::ffff:10.0.0.7"].map((address) => byNetwork.hasAddress(address)),
    [true, false, true, false, false],
  );
});

test("an address that was saved by another release is checked again before it is used", async () => {
  const env = await webhookTest({ after }, { settings: { EMANET_WEBHOOK_ALLOW: "127.0.0.9/32" } });
  const account = await env.account();
  const { id } = await account.webhook({ url: "https://hooks.example.com/" });
  await storedRows(env.service.database, "update emanet.webhooks set url = $2 where id = $1", [
    id,
    `${env.receiver.url}/`,
  ]);
  await account.emit(1);
  const row = await env.until(async () => (await account.deliveries(id))[0]?.last_attempt);
  assert.equal(row.error, "blocked");
  assert.equal(env.receiver.connections(), 0);
});
