// long: 15 s

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { codeAt } from "../../packages/server/src/identity/factors/totp.ts";
import { startProgram } from "../../packages/server/src/testing/child.ts";
import { inReverse } from "../../packages/server/src/testing/cleanup.ts";
import { testDatabase } from "../../packages/server/src/testing/database.ts";
import { sendHttp1 } from "../../packages/server/src/testing/https.ts";
import { type KeptAlive, openKeptAlive } from "../../packages/server/src/testing/kept-alive.ts";
import { needs } from "../../packages/server/src/testing/needs.ts";
import { readFirstRun } from "../../packages/server/src/testing/people.ts";
import { startRedis, type TestRedis } from "../../packages/server/src/testing/redis.ts";
import { scaled } from "../../packages/server/src/testing/scale.ts";
import { temporaryFolder } from "../../packages/server/src/testing/temporary-folder.ts";

/** Two already race for the counts in the store; each costs a start. */
const processes = scaled(2, 4);
/** To each process. Together more than every limit of an operation, of which the largest is 60. */
const connections = scaled(40, 64);
/** Limits that other settings do not give: below the number of connections, and above what operations with own limits spend. */
const anonymousLimit = scaled(70, 150);
const packageLimit = scaled(150, 200);

/** Starts services as separate processes on one database and one store. */
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

async function signInStaff({ url, ca, dataDir }: { url: string; ca: string; dataDir: string }) {
  const { staff } = await readFirstRun(dataDir);
  const { email, password, totp_secret: secret } = staff;
  const answer = await sendHttp1(`${url}/v1/auth/login`, ca, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ email, password, totp_code: codeAt(secret, new Date()), client: "dashboard" }),
  });
  assert.equal(answer.status, 200, answer.body.toString());
  return `Bearer ${(JSON.parse(answer.body.toString()) as { access_token: string }).access_token}`;
}

/** One request per connection. Each policy has its own client address, which a trusted proxy forwards. */
interface Burst {
  readonly path: string;
  readonly method?: string;
  readonly address?: string;
  readonly authorization?: string;
  readonly json?: (n: number) => unknown;
  readonly form?: Readonly<Record<string, string>>;
}

/** Sends on all connections at once. Returns how many requests were not refused, and their statuses. */
async function sendAll(clients: readonly KeptAlive[], burst: Burst) {
  const body = (n: number) =>
    burst.form ? new URLSearchParams(burst.form).toString() : burst.json && JSON.stringify(burst.json(n));
  const requests = Array.from({ length: processes * connections }, (_, n) => ({
    path: burst.path,
    method: burst.method ?? (burst.json || burst.form ? "POST" : "GET"),
    headers: {
      ...(burst.address && { "x-forwarded-for": burst.address }),
      ...(burst.authorization && { authorization: burst.authorization }),
      ...(burst.json && { "content-type": "application/json" }),
      ...(burst.form && { "content-type": "application/x-www-form-urlencoded" }),
    },
    ...(body(n) !== undefined && { body: body(n) ?? "" }),
  }));
  const statuses = (
    await Promise.all(clients.map((client, at) => client.all(requests.slice(at * connections, (at + 1) * connections))))
  ).flat();
  const passed = statuses.filter((status) => status !== 429);
  return { count: passed.length, statuses: [...new Set(passed)] };
}

describe("one shared store", () => {
  test(`${processes} processes × ${connections} connections: exactly as many requests pass as each limit allows`, async (t) => {
    const command = needs(t, "redis");
    if (command === undefined) return;
    const redis = await startRedis({ after }, command);
    // Buckets that refill very slowly, so that the count does not depend on time.
    const buckets = {
      EMANET_LIMIT_PACKAGE: `${packageLimit}/99999999`,
      EMANET_LIMIT_ANONYMOUS: `${anonymousLimit}/99999999`,
    };
    const services = await startServices(redis, processes, { ...buckets, EMANET_TRUSTED_PROXIES: "127.0.0.0/8" });
    const [first = assert.fail()] = services;
    const [authorization, staff] = [await tokenOf(first), await signInStaff(first)];
    const { demo } = await readFirstRun(first.dataDir);
    const clients = services.map((service) => openKeptAlive({ after }, service, connections));
    const press = (burst: Burst) => sendAll(clients, burst);
    const wrong = { password: "nobody's password", totp_code: "000000", client: "dashboard" };
    const login = { path: "/v1/auth/login", json: () => ({ email: "one@test.example", ...wrong }) };
    const logins = { path: "/v1/auth/login", json: (n: number) => ({ email: `p${n}@test.example`, ...wrong }) };
    const once: readonly [string, Burst, number, number][] = [
      ["applications", { path: "/applications", json: () => ({}), address: "198.51.100.1" }, 5, 422],
      ["login", { ...login, address: "198.51.100.2" }, 5, 401],
      ["login_ip", { ...logins, address: "198.51.100.3" }, 60, 401],
      ["admin", { path: "/v1/admin/overview", authorization: staff }, 60, 200],
      ["snapshots_list", { path: "/v1/test-snapshots", authorization }, 60, 200],
      ["restore_create", { path: "/v1/test-restores", method: "POST", authorization }, 10, 200],
      ["audit_export", { path: "/v1/test-audit-export", authorization }, 5, 200],
      ["anonymous", { path: "/health/live", address: "198.51.100.4" }, anonymousLimit, 200],
    ];
    for (const [policy, burst, limit, status] of once) {
      assert.deepEqual(await press(burst), { count: limit, statuses: [status] }, policy);
    }
    const form = { grant_type: "client_credentials", client_id: demo.client_id, client_secret: demo.client_secret };
    // The token of this test has spent one.
    const tokens = await press({ path: "/oauth2/token", form, address: "198.51.100.5" });
    assert.deepEqual(tokens, { count: 59, statuses: [200] }, "token");
    const code = {
      path: "/auth/sms-otp/request",
      json: () => ({ email: "two@test.example", password: wrong.password }),
    };
    const create = { path: "/v1/test-snapshots", method: "POST", authorization };
    const minutes: number[][] = [];
    for (let minute = 0; minute < 6; minute++) {
      const [codes, made] = [await press({ ...code, address: "198.51.100.6" }), await press(create)];
      minutes.push([codes.count, made.count]);
      const advanced = await sendHttp1(`${first.url}/v1/sandbox/clock`, first.ca, {
        method: "POST",
        headers: { authorization: staff, "content-type": "application/json" },
        body: JSON.stringify({ advance_s: 61 }),
      });
      assert.equal(advanced.status, 200, advanced.body.toString());
    }
    // A code a minute and five an hour; ten snapshots a minute and thirty an hour.
    assert.deepEqual(
      minutes.map(([codes]) => codes),
      [1, 1, 1, 1, 1, 0],
    );
    assert.deepEqual(
      minutes.map(([, made]) => made),
      [10, 10, 10, 0, 0, 0],
    );
    // Refused requests spent nothing of the package: 60 + 10 + 5 + 30 passed.
    const reads = await press({ path: "/v1/account", authorization });
    assert.deepEqual(reads, { count: packageLimit - 105, statuses: [200] }, "package");
  });

  test("killed under load: no 500; sign-in answers 503 with Retry-After, other operations work; it is used again without a restart", async (t) => {
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
