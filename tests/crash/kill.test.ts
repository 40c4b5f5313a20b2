/**
 * Kills the real service with its embedded database while clients write. Everything that it acknowledged must be complete
 * afterwards: the application, its audit record, its two mails, the answer to its Idempotency-Key.
 */

// long: 20 s

import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { after, describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { openPools } from "../../packages/server/src/kernel/database/pool.ts";
import { startEmbeddedPostgres } from "../../packages/server/src/kernel/postgres/embedded.ts";
import { firstBadRecord, inSystemScope, readChain } from "../../packages/server/src/testing/audit-chain.ts";
import { inReverse } from "../../packages/server/src/testing/cleanup.ts";
import { type Cleanup, silentLog } from "../../packages/server/src/testing/database.ts";
import {
  type Client,
  clientOf,
  type MainProcess,
  sandboxSettings,
  startMain,
} from "../../packages/server/src/testing/main-process.ts";
import { noProcessIn } from "../../packages/server/src/testing/processes.ts";
import { scaled } from "../../packages/server/src/testing/scale.ts";
import { temporaryFolder } from "../../packages/server/src/testing/temporary-folder.ts";

const kills = scaled(2, 25);
const clients = 4;

interface Acknowledged {
  readonly key: string;
  readonly id: string;
}

function application(key: string) {
  return {
    kind: "company",
    full_name: "Ayşe Örnek",
    email: `${key}@ornek.example`,
    phone: "05320000000",
    company_name: "Örnek A.Ş.",
    tax_id: "1234567808",
    package: "starter",
    consents: { terms: true, privacy: true },
  };
}

async function submit(client: Client, key: string, http2: boolean): Promise<{ id: string; replayed: boolean }> {
  const headers = { "idempotency-key": key };
  const {
    status,
    body,
    headers: answered,
  } = await client.send("POST", "/applications", { json: application(key), headers, http2 });
  assert.equal(status, 202, body.toString());
  const { id } = JSON.parse(body.toString()) as { id: string };
  return { id, replayed: answered["idempotency-replayed"] === "true" };
}

/** Clients submit applications until the service is gone. Records every answer. */
async function submitUntilGone(client: Client, round: number, acknowledged: Acknowledged[]): Promise<void> {
  const work = Array.from({ length: clients }, async (_, number) => {
    for (let count = 0; ; count++) {
      const key = `round-${round}-${number}-${count}`;
      // A broken connection means that the service was killed. An answer other than 202 fails the test.
      const answer = await submit(client, key, number % 2 === 0).catch((error: NodeJS.ErrnoException) => {
        if (error instanceof assert.AssertionError) throw error;
        return null;
      });
      if (answer === null) return;
      acknowledged.push({ key, id: answer.id });
    }
  });
  await Promise.all(work);
}

async function until(condition: () => Promise<boolean> | boolean, what: string): Promise<void> {
  for (let waited = 0; waited < 120_000; waited += 20) {
    if (await condition()) return;
    await delay(20);
  }
  assert.fail(`not in time: ${what}`);
}

async function start(cleanup: Cleanup, folder: string): Promise<{ main: MainProcess; client: Client }> {
  const main = startMain(cleanup, {
    settings: { ...sandboxSettings(folder), EMANET_LOG_LEVEL: "warn", EMANET_DRAIN_SECONDS: "5" },
  });
  await main.ready();
  return { main, client: await clientOf(folder) };
}

/** How many mails in the message folder name each id. */
async function mailed(folder: string): Promise<Map<string, number>> {
  const messages = path.join(folder, "outbox");
  const files = (await readdir(messages)).filter((name) => name.endsWith(".json"));
  const counts = new Map<string, number>();
  for (const name of files) {
    const { text } = JSON.parse(await readFile(path.join(messages, name), "utf8")) as { text: string };
    const id = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(text)?.[0] ?? "";
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return counts;
}

/** Reads the database of the stopped service: which acknowledged applications are missing, and whether the audit chain is valid. */
async function inspect(folder: string, acknowledged: readonly Acknowledged[]) {
  const postgres = await startEmbeddedPostgres({ folder, log: silentLog });
  const pools = await openPools({ target: postgres.connection, log: silentLog });
  try {
    const stored = await inSystemScope(pools.app, async (client) => {
      const { rows } = await client.query<{ id: string; email_key: string }>("select id, email_key from applications");
      return rows;
    });
    const chain = await readChain(pools.app, "platform");
    const ids = new Set(stored.map((row) => row.id));
    return {
      missing: acknowledged.filter(({ id }) => !ids.has(id)),
      repeated: stored.length - new Set(stored.map((row) => row.email_key)).size,
      firstBad: firstBadRecord(chain),
      unaudited: stored.length - chain.filter(({ action }) => action === "application.submitted").length,
    };
  } finally {
    await pools.close();
    await postgres.stop();
  }
}

const cleanup = inReverse({ after });
/** Both tests have the same: a start costs more than all the rest. */
const folder = await temporaryFolder(cleanup);
const acknowledged: Acknowledged[] = [];
/** What the first test leaves running for the second one. */
let running: Awaited<ReturnType<typeof start>> | null = null;

describe("a data folder", () => {
  test("has one service: a second one is refused with a reason and changes nothing; the first ends when its database dies", async () => {
    const first = await start(cleanup, folder);
    const second = startMain(cleanup, { settings: sandboxSettings(folder) });
    assert.equal((await second.ended()).code, 1);
    assert.match(second.stderr(), new RegExp(`in use.*${first.main.pid}|${first.main.pid}.*in use`, "is"));
    assert.doesNotMatch(second.stderr(), /\n\s+at /);
    assert.equal((await first.client.send("GET", "/health/ready")).status, 200);
    const { id } = await submit(first.client, "kept", false);
    const [pid] = (await readFile(path.join(folder, "postgres", "postmaster.pid"), "utf8")).split("\n");
    process.kill(Number(pid), "SIGKILL");
    assert.equal((await first.main.ended()).code, 1, "it ends without its database");
    assert.match(first.main.stderr(), /emanet: .*PostgreSQL/i);
    await noProcessIn(path.join(folder, "postgres"));
    running = await start(cleanup, folder);
    assert.deepEqual(await submit(running.client, "kept", false), { id, replayed: true });
    acknowledged.push({ key: "kept", id });
  });
});

describe("a service that is killed", () => {
  test(`${kills} times while clients write starts again each time, and has everything that it acknowledged`, async () => {
    for (let round = 0; round < kills; round++) {
      const { main, client } = running ?? (await start(cleanup, folder));
      running = null;
      const known = acknowledged.length;
      const writing = submitUntilGone(client, round, acknowledged);
      // The number differs each time, so that the kill comes at different points of the work.
      await until(() => acknowledged.length >= known + 10 + ((round * 7) % 23), "some applications are acknowledged");
      main.signal("SIGKILL");
      assert.equal((await main.ended()).signal, "SIGKILL");
      await writing;
    }
    const { main, client } = await start(cleanup, folder);
    for (const { key, id } of acknowledged.slice(-20)) {
      assert.deepEqual(await submit(client, key, true), { id, replayed: true }, "a repeated key gets the first answer");
    }
    await until(async () => {
      const counts = await mailed(folder);
      return acknowledged.every(({ id }) => (counts.get(id) ?? 0) >= 2);
    }, "both mails of every application are in the message folder");
    main.signal("SIGTERM");
    assert.deepEqual(await main.ended(), { code: 0, signal: null }, main.stderr());
    await noProcessIn(path.join(folder, "postgres"));
    const found = await inspect(folder, acknowledged);
    assert.deepEqual(found, { missing: [], repeated: 0, firstBad: null, unaudited: 0 });
  });
});
