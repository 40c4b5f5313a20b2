import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { after, type TestContext, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import { silentLog, testDatabase } from "../../testing/database.ts";
import { systemClock } from "../clock.ts";
import { createLog } from "../log.ts";
import { appRole, openPools } from "./pool.ts";
import type { DatabaseTarget } from "./target.ts";

const database = await testDatabase({ after });

/** The same database as an operator would name it. */
const url = `postgres:///${database.target.database}?user=${database.target.user}&host=${database.target.host}`;

const targets: readonly (readonly [string, DatabaseTarget])[] = [
  ["the embedded socket", database.target],
  ["EMANET_DATABASE_URL", { kind: "url", url }],
  ["EMANET_DATABASE_URL with options in it", { kind: "url", url: `${url}&options=-c%20role%3Dnone%20-c%20jit%3Doff` }],
];

for (const [name, target] of targets) {
  test(`${name}: connections of the app pool start as ${appRole} in schema emanet, with every timeout set`, async (t) => {
    const pools = await opened(t, target);
    const { rows } = await pools.app.query(`select current_user, current_schema, ${shown}`);
    assert.deepEqual(rows[0], {
      current_user: appRole,
      current_schema: "emanet",
      statement: "30s",
      lock: "10s",
      idle: "1min",
    });
  });

  test(`${name}: connections of the owner pool are the owner's and may take their time`, async (t) => {
    const pools = await opened(t, target);
    const { rows } = await pools.owner.query(`select current_user, current_schema, ${shown}`);
    assert.deepEqual(rows[0], {
      current_user: database.target.user,
      current_schema: "emanet",
      statement: "0",
      lock: "0",
      idle: "1min",
    });
  });
}

const shown = `current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock,
  current_setting('idle_in_transaction_session_timeout') as idle`;

test("`reset role` and `discard all` do not lead out of the app role", async (t) => {
  const { app } = await opened(t, database.target);
  const client = await app.connect();
  for (const statement of ["reset role", "reset all", "discard all"]) {
    await client.query(statement);
    const { rows } = await client.query<{ role: string }>("select current_user as role");
    assert.equal(rows[0]?.role, appRole, statement);
  }
  client.release();
});

test("an operator's own options are kept", async (t) => {
  const { app } = await opened(t, targets[2]?.[1] ?? database.target);
  assert.deepEqual((await app.query("show jit")).rows, [{ jit: "off" }]);
});

test("a pool has no more connections than it may; the rest wait", async (t) => {
  const pools = await openPools({ target: database.target, log: silentLog, appConnections: 3 });
  t.after(pools.close);
  const pids = await Promise.all(
    Array.from({ length: 30 }, () =>
      pools.app.query<{ pid: number }>("select pg_backend_pid() as pid, pg_sleep(0.01)"),
    ),
  );
  assert.ok(new Set(pids.map(({ rows }) => rows[0]?.pid)).size <= 3);
});

test("connections lost while idle or inside a transaction cost their query and not the process", async (t) => {
  const lines: string[] = [];
  const log = createLog({ level: "info", clock: systemClock, write: (line) => lines.push(line) });
  const pools = await openPools({ target: database.target, log });
  t.after(pools.close);
  const busy = await pools.app.connect();
  const idle = await pools.app.connect();
  const pids = await Promise.all([busy, idle].map(backendOf));
  idle.release();
  await busy.query("begin");
  const ended = [busy, idle].map((client) => new Promise((resolve) => client.once("end", resolve)));
  await database.owner.query("select pg_terminate_backend(pid) from unnest($1::int[]) as pid", [pids]);
  await Promise.all(ended);
  await assert.rejects(busy.query("select 1"));
  busy.release();
  assert.deepEqual((await pools.app.query("select 1 as one")).rows, [{ one: 1 }]);
  const events = lines.map((line) => (JSON.parse(line) as { event: string }).event);
  assert.ok(events.length >= 2 && events.every((event) => event === "database_connection_lost"), lines.join(""));
});

test("after closing the server knows of no connection: it may be stopped without cutting one off", async () => {
  const pools = await openPools({ target: database.target, log: silentLog });
  const clients = await Promise.all(Array.from({ length: 10 }, () => pools.app.connect()));
  const pids = await Promise.all(clients.map(backendOf));
  for (const client of clients) client.release();
  await pools.close();
  const left = await database.owner.query("select from pg_stat_activity where pid = any($1::int[])", [pids]);
  assert.equal(left.rowCount, 0);
});

test("a query on a connection that is cut off fails, and the next one gets a new connection", async (t) => {
  const { app } = await opened(t, database.target);
  // Waited for from the start: it may fail before the server has said that it cut the connection.
  const cutOff = assert.rejects(app.query("select pg_sleep(60)"), { code: "57P01" });
  const find = "select pid from pg_stat_activity where query = 'select pg_sleep(60)' and state = 'active'";
  let found: pg.QueryResult<{ pid: number }> = await database.owner.query(find);
  while (found.rows.length === 0) {
    await delay(5);
    found = await database.owner.query(find);
  }
  await database.owner.query("select pg_terminate_backend($1)", [found.rows[0]?.pid]);
  await cutOff;
  assert.deepEqual((await app.query("select 1 as one")).rows, [{ one: 1 }]);
});

test("a server that cannot be reached is a start error that names the setting, not its value", async () => {
  const target = { kind: "url", url: "postgres://someone:hunter2@127.0.0.1:1/emanet" } as const;
  await assert.rejects(openPools({ target, log: silentLog }), (error: Error & { code: string }) => {
    assert.equal(error.code, "database_unreachable");
    assert.match(error.message, /ECONNREFUSED.*EMANET_DATABASE_URL/);
    assert.ok(!error.message.includes("hunter2"));
    return true;
  });
});

test("a PostgreSQL older than 15 is refused with its version", async (t) => {
  const port = await serverOfVersion(t, "140011");
  const target = { kind: "url", url: `postgres://someone@127.0.0.1:${port}/emanet` } as const;
  await assert.rejects(openPools({ target, log: silentLog }), {
    code: "database_version",
    message: /is a PostgreSQL 14; 15 or newer is needed/,
  });
});

async function opened(t: TestContext, target: DatabaseTarget) {
  const pools = await openPools({ target, log: silentLog });
  t.after(pools.close);
  return pools;
}

async function backendOf(client: pg.PoolClient): Promise<number | undefined> {
  return (await client.query<{ pid: number }>("select pg_backend_pid() as pid")).rows[0]?.pid;
}

/** As much of PostgreSQL's protocol as tells a version: no server that old is at hand. */
async function serverOfVersion(t: TestContext, version: string): Promise<number> {
  const message = (type: string, body: Buffer) => {
    const length = Buffer.alloc(4);
    length.writeInt32BE(body.length + 4);
    return Buffer.concat([Buffer.from(type), length, body]);
  };
  const ready = message("Z", Buffer.from("I"));
  const column = Buffer.concat([Buffer.from("server_version_num\0"), Buffer.alloc(6), Buffer.from([0, 0, 0, 25])]);
  const description = Buffer.concat([Buffer.from([0, 1]), column, Buffer.from([255, 255, 255, 255, 255, 255, 0, 0])]);
  const row = Buffer.concat([Buffer.from([0, 1, 0, 0, 0, version.length]), Buffer.from(version)]);
  const answer = [message("T", description), message("D", row), message("C", Buffer.from("SHOW\0")), ready];
  const server = createServer((socket) => {
    socket.once("data", () => {
      socket.write(Buffer.concat([message("R", Buffer.alloc(4)), ready]));
      socket.on("data", (data) => (data[0] === 0x51 ? socket.write(Buffer.concat(answer)) : socket.end()));
    });
    socket.on("error", () => undefined);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const address = server.address();
  return typeof address === "object" ? (address?.port ?? 0) : 0;
}
