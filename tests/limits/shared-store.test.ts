import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { startProgram } from "../../packages/server/src/testing/child.ts";
import { inReverse } from "../../packages/server/src/testing/cleanup.ts";
import { testDatabase } from "../../packages/server/src/testing/database.ts";
import { sendHttp1 } from "../../packages/server/src/testing/https.ts";
import { openKeptAlive } from "../../packages/server/src/testing/kept-alive.ts";
import { needs } from "../../packages/server/src/testing/needs.ts";
import { readFirstRun } from "../../packages/server/src/testing/people.ts";
import { startRedis, type TestRedis } from "../../packages/server/src/testing/redis.ts";
import { temporaryFolder } from "../../packages/server/src/testing/temporary-folder.ts";

/** Services, each a process of its own, on one database and one store. */
async function startServices(redis: TestRedis, count: number, more: Record<string, string>) {
  const cleanup = inReverse({ after });
  const { target } = await testDatabase(cleanup);
  const shared = {
    EMANET_PROFILE: "sandbox",
    EMANET_LISTEN: "127.0.0.1:0",
    EMANET_PUBLIC_URL: "https://emanet.example",
    EMANET_MASTER_KEY: Buffer.alloc(32, 7).toString("base64"),
    EMANET_REDIS_URL: redis.url,
    EMANET_LIMIT_ANONYMOUS: "1000000/60",
    EMANET_LOG_LEVEL: "error",
    ...more,
  };
  const services: { url: string; ca: string; dataDir: string }[] = [];
  for (let started = 0; started < count; started++) {
    const dataDir = await temporaryFolder(cleanup);
    const settings = JSON.stringify({ ...shared, EMANET_DATA_DIR: dataDir });
    const program = startProgram(cleanup, "serve", { args: [settings, JSON.stringify(target)] });
    const url = (await program.line()).replace("ready ", "");
    services.push({ url, ca: await readFile((await readFirstRun(dataDir)).ca_file, "utf8"), dataDir });
  }
  return services;
}

async function tokenOf({ url, ca, dataDir }: { url: string; ca: string; dataDir: string }) {
  const { demo } = await readFirstRun(dataDir);
  const answer = await sendHttp1(`${url}/oauth2/token`, ca, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({
      grant_type: "client_credentials",
      client_id: demo.client_id,
      client_secret: demo.client_secret,
    }).toString(),
  });
  assert.equal(answer.status, 200, answer.body.toString());
  return `Bearer ${(JSON.parse(answer.body.toString()) as { access_token: string }).access_token}`;
}

describe("one shared store", () => {
  test("4 processes × 64 connections: exactly the limit passes, not one more and not one fewer", async (t) => {
    const command = needs(t, "redis");
    if (command === undefined) return;
    const redis = await startRedis({ after }, command);
    // A window that outlasts the test, so that what passes can be counted without asking when.
    const wide = { EMANET_LIMIT_APPLICATIONS: "300/3600", EMANET_LIMIT_PACKAGE: "500/86400" };
    const services = await startServices(redis, 4, wide);
    const authorization = await tokenOf(services[0] ?? assert.fail());
    const clients = services.map((service) => openKeptAlive({ after }, service, 64));
    const send = async (requests: Parameters<(typeof clients)[number]["all"]>[0]) =>
      (await Promise.all(clients.map((client) => client.all(requests)))).flat();
    const headers = { "content-type": "application/json" };
    const applications = Array.from({ length: 128 }, () => ({
      method: "POST",
      path: "/applications",
      headers,
      body: "{}",
    }));
    const counted = await send(applications);
    assert.deepEqual(
      [counted.filter((one) => one === 422).length, counted.filter((one) => one === 429).length],
      [300, 212],
    );
    const reads = Array.from({ length: 192 }, () => ({ path: "/v1/account", headers: { authorization } }));
    const read = await send(reads);
    assert.deepEqual([read.filter((one) => one === 200).length, read.filter((one) => one === 429).length], [500, 268]);
  });

  test("killed under load: no 500, sign-in answers 503 with Retry-After, the rest goes on; back without a restart", async (t) => {
    const command = needs(t, "redis");
    if (command === undefined) return;
    const redis = await startRedis({ after }, command);
    const limits = {
      EMANET_LIMIT_LOGIN: "1000000/60",
      EMANET_LIMIT_LOGIN_IP: "1000000/60",
      EMANET_LIMIT_PACKAGE: "1000000/60",
    };
    const [service = assert.fail()] = await startServices(redis, 1, limits);
    const authorization = await tokenOf(service);
    const client = openKeptAlive({ after }, service, 16);
    const json = { "content-type": "application/json" };
    const body = JSON.stringify({
      email: "nobody@test.example",
      password: "wrong password",
      totp_code: "000000",
      client: "api",
    });
    const login = () => sendHttp1(`${service.url}/v1/auth/login`, service.ca, { method: "POST", headers: json, body });
    assert.equal((await login()).status, 401);
    const reads = Array.from({ length: 600 }, () => ({ path: "/v1/account", headers: { authorization } }));
    const load = client.all(reads);
    await redis.kill();
    const statuses = new Set(await load);
    assert.deepEqual([...statuses], [200]);
    const refused = await login();
    assert.equal(refused.status, 503);
    assert.match(refused.headers["retry-after"] ?? "", /^\d+$/);
    assert.match(refused.headers["x-ratelimit-limit"] ?? "", /^\d+$/);
    assert.deepEqual([...new Set(await client.all(reads.slice(0, 50)))], [200]);
    await redis.start();
    let status = 503;
    for (let waited = 0; status === 503 && waited < 30_000; waited += 100) {
      await delay(100);
      status = (await login()).status;
    }
    assert.equal(status, 401);
  });
});
