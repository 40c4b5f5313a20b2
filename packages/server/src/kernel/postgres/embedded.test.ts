import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { appendFile, mkdir, readdir, readFile, readlink, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { after, describe, type TestContext, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import pg from "pg";
import { silentLog } from "../../testing/database.ts";
import { noProcessIn, processesIn } from "../../testing/processes.ts";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { connectionConfig, withConnection } from "../database/pool.ts";
import type { SocketTarget } from "../database/target.ts";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "./embedded.ts";

describe("start and stop", () => {
  test("a start makes a durable UTF-8 cluster with checksums that listens on a private socket only", async (t) => {
    const folder = await temporaryFolder(t);
    const postgres = await start(t, folder);
    assert.equal((await stat(postgres.connection.host)).mode & 0o777, 0o700);
    assert.deepEqual(await settings(postgres.connection), {
      data_checksums: "on",
      fsync: "on",
      full_page_writes: "on",
      listen_addresses: "",
      server_encoding: "UTF8",
      synchronous_commit: "on",
      TimeZone: "UTC",
    });
    const [role] = await query<{ rolsuper: boolean }>(
      postgres.connection,
      "select rolsuper from pg_roles where rolname = current_user",
    );
    assert.equal(role?.rolsuper, false, "the service's own role must not be a superuser");
    await postgres.stop();
  });

  test("a stop leaves no process and no socket folder, and what was written is there at the next start", async (t) => {
    const folder = await temporaryFolder(t);
    const first = await start(t, folder);
    await query(first.connection, "create table public.kept as select 42 as answer");
    assert.ok((await processesIn(path.join(folder, "postgres"))).includes(first.pid));
    await Promise.all([first.stop(), first.stop()]);
    assert.deepEqual(await processesIn(path.join(folder, "postgres")), []);
    await assert.rejects(stat(first.connection.host), { code: "ENOENT" });
    assert.deepEqual(await readdir(folder), ["postgres", "postgres.log"]);
    const second = await start(t, folder);
    assert.deepEqual(await query(second.connection, "select answer from public.kept"), [{ answer: 42 }]);
    await second.stop();
  });

  test("a stop with sessions in open transactions ends them", async (t) => {
    const folder = await usedFolder(t);
    const postgres = await start(t, folder);
    const client = new pg.Client(connectionConfig(postgres.connection));
    const lost = new Promise((resolve) => client.on("error", resolve));
    await client.connect();
    await client.query("begin; create table public.unfinished ()");
    await postgres.stop();
    await lost;
    assert.deepEqual(await processesIn(path.join(folder, "postgres")), []);
  });

  test("a data folder too deep for a socket path works", async (t) => {
    const folder = path.join(await temporaryFolder(t), "a-rather-long-name-".repeat(6), "ğüşıöç and a space");
    await mkdir(folder, { recursive: true });
    const postgres = await start(t, folder);
    assert.deepEqual(await query(postgres.connection, "select 1 as one"), [{ one: 1 }]);
    await postgres.stop();
  });

  test("what is left of an initialisation that was cut off is thrown away", async (t) => {
    const folder = await temporaryFolder(t);
    await mkdir(path.join(folder, "postgres.new", "base"), { recursive: true });
    await writeFile(path.join(folder, "postgres.new", "PG_VERSION"), "18");
    const postgres = await start(t, folder);
    await postgres.stop();
    assert.deepEqual(await readdir(folder), ["postgres", "postgres.log"]);
  });

  test("the service notices a server that ends unexpectedly", async (t) => {
    const folder = await usedFolder(t);
    const postgres = await start(t, folder);
    process.kill(postgres.pid, "SIGQUIT");
    assert.match((await postgres.lost).message, /ended unexpectedly. Its output:\n.*immediate shutdown/s);
    await postgres.stop();
  });
});

describe("refusals", () => {
  for (const [words, version] of [
    ["a newer", "99"],
    ["an older", "14"],
  ] as const) {
    test(`a cluster of ${words} PostgreSQL is refused and not touched`, async (t) => {
      const folder = await usedFolder(t);
      await writeFile(path.join(folder, "postgres", "PG_VERSION"), `${version}\n`);
      const before = await fingerprint(folder);
      await assert.rejects(startEmbeddedPostgres({ folder, log: silentLog }), {
        code: "postgres_version",
        message: new RegExp(`made by PostgreSQL ${version}; this release brings PostgreSQL \\d+. It was not touched.`),
      });
      assert.deepEqual(await fingerprint(folder), before);
    });
  }

  test("a folder named postgres that is no cluster is refused and not touched", async (t) => {
    const folder = await temporaryFolder(t);
    await mkdir(path.join(folder, "postgres"));
    await writeFile(path.join(folder, "postgres", "notes.txt"), "mine");
    await assert.rejects(startEmbeddedPostgres({ folder, log: silentLog }), { code: "postgres_version" });
    assert.deepEqual(await readdir(path.join(folder, "postgres")), ["notes.txt"]);
  });

  test("a start that fails shows the end of the server's log and leaves nothing running", async (t) => {
    const folder = await usedFolder(t);
    await appendFile(path.join(folder, "postgres", "postgresql.conf"), "\nno_such_setting = 1\n");
    await assert.rejects(startEmbeddedPostgres({ folder, log: silentLog }), {
      code: "postgres_failed",
      message:
        /did not start: it ended with status 1. It said:\n.*unrecognized configuration parameter "no_such_setting"/s,
    });
    assert.deepEqual(await processesIn(path.join(folder, "postgres")), []);
    await assert.rejects(readlink(path.join(folder, "postgres.socket")), { code: "ENOENT" });
  });

  test("programs that are not there are refused with a way out", async (t) => {
    const folder = await temporaryFolder(t);
    await assert.rejects(startEmbeddedPostgres({ folder, log: silentLog, binaries: "/nonexistent/bin" }), {
      code: "postgres_missing",
      message: /Set EMANET_DATABASE_URL/,
    });
  });
});

describe("what a killed service leaves behind", () => {
  test("a pid file whose number another process has by now does not prevent the start, and that process is not signalled", async (t) => {
    const folder = await usedFolder(t);
    const cluster = path.join(folder, "postgres");
    const other = spawn("sleep", ["600"], { stdio: "ignore" });
    t.after(() => other.kill());
    const lines = [other.pid, cluster, 1_700_000_000, 5432, "/tmp/emanet-pg-aaaaaa", "", "  1234567     1", "ready"];
    await writeFile(path.join(cluster, "postmaster.pid"), `${lines.join("\n")}\n`);
    await (await start(t, folder)).stop();
    assert.equal(other.exitCode ?? other.signalCode, null, "the process was signalled");
  });

  test("a server whose parent process was killed is started again when the last of its children has ended", async (t) => {
    const folder = await usedFolder(t);
    const first = await start(t, folder);
    await query(first.connection, "create table public.kept as select 42 as answer");
    const client = new pg.Client(connectionConfig(first.connection));
    client.on("error", () => undefined);
    await client.connect();
    const [backend] = (await client.query<{ pid: number }>("select pg_backend_pid() as pid")).rows;
    process.kill(backend?.pid ?? 0, "SIGSTOP");
    t.after(() => processSignal(backend?.pid, "SIGCONT"));
    process.kill(first.pid, "SIGKILL");
    await first.lost;
    const starting = start(t, folder);
    await logSays(folder, /pre-existing shared memory block .* is still in use/);
    process.kill(backend?.pid ?? 0, "SIGCONT");
    const second = await starting;
    assert.deepEqual(await query(second.connection, "select answer from public.kept"), [{ answer: 42 }]);
    await assert.rejects(stat(first.connection.host), { code: "ENOENT" });
    await second.stop();
    await noProcessIn(path.join(folder, "postgres"));
  });

  test("a copy of a running data folder is refused, and the original goes on", async (t) => {
    const folder = await usedFolder(t);
    const twin = await temporaryFolder(t);
    const original = await start(t, folder);
    await copy(folder, twin);
    await assert.rejects(startEmbeddedPostgres({ folder: twin, log: silentLog }), {
      code: "postgres_busy",
      message: new RegExp(`process ${original.pid} is running`),
    });
    assert.deepEqual(await query(original.connection, "select 1 as one"), [{ one: 1 }]);
    await original.stop();
  });
});

test("values of failing, slow or crashing statements do not reach the server's log", async (t) => {
  const folder = await usedFolder(t);
  const postgres = await start(t, folder);
  const { connection, admin } = postgres;
  const canary = "canary-4242424242";
  await query(
    connection,
    `create table public.people (email text primary key); insert into public.people values ('${canary}')`,
  );
  const statements = [
    `insert into public.people values ('${canary}')`,
    `select '${canary}'::uuid`,
    `do $$ begin raise exception '${canary}'; end $$`,
    `do $$ begin raise warning '${canary}'; end $$; set statement_timeout = 20; select pg_sleep(5), '${canary}'`,
    `select pg_terminate_backend(pg_backend_pid()), '${canary}'`,
  ];
  for (const statement of statements) await assert.rejects(query(connection, statement));
  await assert.rejects(query(connection, "select $1::uuid", [canary]));
  await killBackendRunning(connection, admin, canary);
  await postgres.stop();
  const log = await readFile(path.join(folder, "postgres.log"), "utf8");
  assert.match(log, /terminated by signal 9/, "the log must have told of the crash");
  assert.ok(!log.includes("4242424242"), log);
});

/** Waits until the server's log says it; the test's own time limit ends the wait. */
async function logSays(folder: string, pattern: RegExp): Promise<void> {
  while (!pattern.test(await readFile(path.join(folder, "postgres.log"), "utf8"))) await delay(20);
}

function processSignal(pid: number | undefined, signal: NodeJS.Signals): void {
  try {
    process.kill(pid ?? 0, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Makes PostgreSQL report a crashed backend, whose statement it would quote. */
async function killBackendRunning(connection: SocketTarget, admin: SocketTarget, canary: string): Promise<void> {
  const client = new pg.Client(connectionConfig(connection));
  client.on("error", () => undefined);
  await client.connect();
  const [backend] = (await client.query<{ pid: number }>("select pg_backend_pid() as pid")).rows;
  const running = client.query(`select pg_sleep(60), '${canary}'`);
  const active = "select from pg_stat_activity where pid = $1 and state = 'active'";
  while ((await query(admin, active, [backend?.pid])).length === 0);
  process.kill(backend?.pid ?? 0, "SIGKILL");
  await assert.rejects(running);
}

const made = temporaryFolder({ after }).then(async (folder) => {
  await (await startEmbeddedPostgres({ folder, log: silentLog })).stop();
  return folder;
});

/** A data folder that a service made and left in good order; a copy, because making one takes a second. */
async function usedFolder(t: TestContext): Promise<string> {
  const folder = await temporaryFolder(t);
  await copy(await made, folder);
  return folder;
}

async function copy(from: string, to: string): Promise<void> {
  await promisify(execFile)("cp", ["-a", `${from}/.`, to]);
}

/** Starts a server that is stopped at the end of the test, should the test not come to it. */
async function start(t: TestContext, folder: string): Promise<EmbeddedPostgres> {
  const postgres = await startEmbeddedPostgres({ folder, log: silentLog });
  t.after(() => postgres.stop());
  return postgres;
}

async function query<Row extends pg.QueryResultRow>(
  target: SocketTarget,
  text: string,
  values?: readonly unknown[],
): Promise<Row[]> {
  return withConnection(target, async (client) => (await client.query<Row>(text, values && [...values])).rows);
}

async function settings(target: SocketTarget): Promise<Record<string, string>> {
  const names = ["data_checksums", "fsync", "full_page_writes", "listen_addresses", "server_encoding"];
  names.push("synchronous_commit", "TimeZone");
  const rows = await query<{ name: string; setting: string }>(
    target,
    "select name, setting from pg_settings where name = any($1)",
    [names],
  );
  return Object.fromEntries(rows.map((row) => [row.name, row.setting]));
}

/** Every file below a folder, with its size and the time of its last change. */
async function fingerprint(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true });
  return Promise.all(
    entries.sort().map(async (entry) => {
      const { size, mtimeMs, mode } = await stat(path.join(folder, entry));
      return `${entry} ${size} ${mtimeMs} ${mode}`;
    }),
  );
}
