// long: 20 s

import assert from "node:assert/strict";
import { once } from "node:events";
import { access, readdir, stat } from "node:fs/promises";
import { createServer } from "node:net";
import path from "node:path";
import { describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { inReverse } from "../../packages/server/src/testing/cleanup.ts";
import { type Cleanup, testDatabase } from "../../packages/server/src/testing/database.ts";
import { clientOf, databaseUrl, sandboxSettings, startMain } from "../../packages/server/src/testing/main-process.ts";
import { noProcessIn } from "../../packages/server/src/testing/processes.ts";
import { openRaw } from "../../packages/server/src/testing/raw.ts";
import { temporaryFolder } from "../../packages/server/src/testing/temporary-folder.ts";

const application = {
  kind: "company",
  full_name: "Ayşe Örnek",
  email: "ayse@ornek.example",
  phone: "05320000000",
  company_name: "Örnek A.Ş.",
  tax_id: "1234567808",
  package: "starter",
  consents: { terms: true, privacy: true },
};

async function isThere(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}

async function until(condition: () => Promise<boolean>, what: string): Promise<void> {
  for (let waited = 0; waited < 60_000; waited += 50) {
    if (await condition()) return;
    await delay(50);
  }
  assert.fail(`not in time: ${what}`);
}

async function mails(dataDir: string): Promise<string[]> {
  const files = await readdir(path.join(dataDir, "outbox")).catch(() => []);
  return files.filter((name) => name.endsWith(".json"));
}

describe("arguments and settings", () => {
  test("--help lists roles and commands and starts nothing", async (t) => {
    const folder = path.join(await temporaryFolder(t), "data");
    const main = startMain(t, { words: ["--help"], settings: { EMANET_DATA_DIR: folder } });
    assert.deepEqual(await main.ended(), { code: 0, signal: null });
    for (const word of ["all", "api", "worker", "migrate", "EMANET_"]) assert.ok(main.stdout().includes(word));
    assert.equal(await isThere(folder), false);
  });

  test("an unknown role or a second role is a usage error that lists the roles", async (t) => {
    const mains = [["serve"], ["api", "worker"]].map((words) => startMain(t, { words }));
    for (const main of mains) {
      assert.deepEqual(await main.ended(), { code: 2, signal: null });
      assert.match(main.stderr(), /all, api, worker, migrate/);
      assert.equal(main.stdout(), "");
    }
  });

  test("all wrong settings are listed at once, without a stack, and no file is made", async (t) => {
    const folder = path.join(await temporaryFolder(t), "data");
    const main = startMain(t, {
      settings: {
        EMANET_DATA_DIR: folder,
        EMANET_LISTEN: "0.0.0.0:0",
        EMANET_LOG_LEVEL: "loud",
        EMANET_MASTER_KEY: "not-so-secret-key",
      },
    });
    assert.deepEqual(await main.ended(), { code: 1, signal: null });
    for (const name of ["EMANET_LISTEN", "EMANET_LOG_LEVEL", "EMANET_MASTER_KEY"])
      assert.ok(main.stderr().includes(name));
    assert.doesNotMatch(main.stderr(), /not-so-secret|\n\s+at |\.ts:/);
    assert.equal(await isThere(folder), false);
  });

  test("production without settings lists the settings that it needs", async (t) => {
    const folder = path.join(await temporaryFolder(t), "data");
    const main = startMain(t, { settings: { EMANET_PROFILE: "production", EMANET_DATA_DIR: folder } });
    assert.equal((await main.ended()).code, 1);
    for (const name of [
      "PUBLIC_URL",
      "DATABASE_URL",
      "STORAGE",
      "MASTER_KEY",
      "SMTP_URL",
      "MAIL_FROM",
      "STAFF_EMAIL",
      "SMS_URL",
      "TLS_CERT",
    ]) {
      assert.match(main.stderr(), new RegExp(`EMANET_${name}.* must be set`), name);
    }
    assert.equal(await isThere(folder), false);
  });

  test("errors that appear later at the start have no stack either: mail, address, database, store", async (t) => {
    const cleanup = inReverse(t);
    const database = await testDatabase(cleanup);
    const busy = createServer().listen(0, "127.0.0.1");
    await once(busy, "listening");
    cleanup.after(async () => void busy.close());
    const { port } = busy.address() as { port: number };
    for (const [setting, value, expected] of [
      ["EMANET_SMTP_URL", "smtp://mail.ornek.example/path", /mail server/],
      ["EMANET_LISTEN", `127.0.0.1:${port}`, /Something already listens/],
      ["EMANET_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/nothing", /database cannot be reached/],
      ["EMANET_TLS_CERT", "/nowhere/tls.pem", /tls\.pem|certificate/i],
      ["EMANET_STORAGE", "s3://bucket?color=red", /EMANET_STORAGE cannot be used: .*parameters/],
      ["EMANET_STORAGE", `file:${import.meta.dirname}`, /EMANET_STORAGE cannot be used: /],
    ] as const) {
      const settings = {
        ...sandboxSettings(await temporaryFolder(cleanup)),
        EMANET_DATABASE_URL: databaseUrl(database),
        ...(setting === "EMANET_TLS_CERT" && { EMANET_TLS_KEY: "/nowhere/tls.key" }),
        [setting]: value,
      };
      const main = startMain(cleanup, { settings });
      assert.equal((await main.ended()).code, 1, setting);
      assert.match(main.stderr(), expected);
      assert.doesNotMatch(main.stderr(), /\n\s+at /, setting);
    }
  });
});

describe("a start on an empty folder", () => {
  test("makes its own database and certificate authority, prints its URL, serves HTTP/1.1 and HTTP/2, and leaves no process", async (t) => {
    const cleanup = inReverse(t);
    const folder = path.join(await temporaryFolder(cleanup), "new", "data");
    const settings = { EMANET_DATA_DIR: folder, EMANET_LISTEN: "127.0.0.1:0", EMANET_LISTN: "typo" };
    const main = startMain(cleanup, { settings });
    const url = await main.ready();
    assert.match(url, /^https:\/\/127\.0\.0\.1:\d+$/);
    assert.equal(main.stdout().match(/^ready/gm)?.length, 1);
    assert.match(main.stderr(), /warning: EMANET_LISTN/);
    assert.match(main.stderr(), /warning: the master key is in .*master\.key\..* no backup can ever be read/);
    assert.match(main.stderr(), /"root_key_made"/);
    for (const [file, mode] of [
      ["first-run.json", 0o600],
      ["master.key", 0o600],
      ["", 0o700],
    ] as const) {
      assert.equal((await stat(path.join(folder, file))).mode & 0o777, mode, file);
    }
    const client = await clientOf(folder);
    assert.equal(client.url, url);
    for (const http2 of [false, true]) assert.equal((await client.send("GET", "/health/ready", { http2 })).status, 200);
    const metrics = /^metrics (\S+)$/m.exec(main.stdout())?.[1] ?? "";
    assert.match(await (await fetch(metrics)).text(), /emanet_http_request_duration_seconds/);
    main.signal("SIGTERM");
    assert.deepEqual(await main.ended(), { code: 0, signal: null });
    await noProcessIn(path.join(folder, "postgres"));
    for (const line of main.stderr().trim().split("\n")) {
      if (line.startsWith("emanet: warning: ")) continue;
      assert.doesNotThrow(() => JSON.parse(line), `every line of the log is JSON: ${line}`);
    }
  });
});

/** Settings for one role on the operator's database, with its own data folder. */
async function settingsFor(cleanup: Cleanup, url: string) {
  const folder = await temporaryFolder(cleanup);
  return { folder, settings: { ...sandboxSettings(folder), EMANET_DATABASE_URL: url } };
}

describe("roles on an operator's own database", () => {
  test("migrate applies the migrations and ends; in production no other role applies them", async (t) => {
    const cleanup = inReverse(t);
    const database = await testDatabase(cleanup, { empty: true });
    const production = {
      EMANET_PROFILE: "production",
      EMANET_DATA_DIR: await temporaryFolder(cleanup),
      EMANET_LISTEN: "127.0.0.1:0",
      EMANET_PUBLIC_URL: "https://api.ornek.example",
      EMANET_BEHIND_TLS_PROXY: "1",
      EMANET_TRUSTED_PROXIES: "127.0.0.1/32",
      EMANET_DATABASE_URL: databaseUrl(database),
      EMANET_STORAGE: `file:${await temporaryFolder(cleanup)}`,
      EMANET_MASTER_KEY: Buffer.alloc(32, 1).toString("base64"),
      EMANET_SMTP_URL: "smtps://mail.ornek.example",
      EMANET_MAIL_FROM: "Emanet <noreply@ornek.example>",
      EMANET_STAFF_EMAIL: "staff@ornek.example",
      EMANET_SMS_URL: "https://sms.ornek.example/send",
    };
    const early = startMain(cleanup, { words: ["api"], settings: production });
    assert.equal((await early.ended()).code, 1);
    assert.match(early.stderr(), /lacks \d+ migration.*migrate/);
    const migrate = startMain(cleanup, { words: ["migrate"], settings: production });
    assert.deepEqual(await migrate.ended(), { code: 0, signal: null }, migrate.stderr());
    assert.equal(migrate.stdout(), "migrated\n");
    const api = startMain(cleanup, { words: ["api"], settings: production });
    const url = await api.ready();
    assert.match(url, /^http:\/\/127\.0\.0\.1:\d+$/);
    const answer = await fetch(`${url}/nowhere`);
    assert.match(((await answer.json()) as { type: string }).type, /^https:\/\/api\.ornek\.example\//);
    assert.equal(await isThere(path.join(production.EMANET_DATA_DIR, "first-run.json")), false);
    api.signal("SIGINT");
    assert.equal((await api.ended()).code, 0);
  });

  test("a worker process delivers what an api process queued, and each can be stopped alone", async (t) => {
    const cleanup = inReverse(t);
    const url = databaseUrl(await testDatabase(cleanup));
    const [front, back] = [await settingsFor(cleanup, url), await settingsFor(cleanup, url)];
    const api = startMain(cleanup, { words: ["api"], settings: front.settings });
    const worker = startMain(cleanup, { words: ["worker"], settings: back.settings });
    await api.ready();
    assert.equal(await worker.ready(), "", "a worker answers no requests");
    const client = await clientOf(front.folder);
    assert.equal((await client.send("POST", "/applications", { json: application })).status, 202);
    await until(async () => (await mails(back.folder)).length === 2, "two mails from the worker");
    assert.deepEqual(await mails(front.folder), []);
    for (const main of [api, worker]) {
      main.signal("SIGTERM");
      assert.equal((await main.ended()).code, 0);
    }
  });
});

describe("SIGTERM", () => {
  const body = JSON.stringify(application);
  const head = [
    "POST /applications HTTP/1.1",
    "Host: x",
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
  ].join("\r\n");

  test("finishes a running request, refuses new connections, then ends; a later second signal ends it at once", async (t) => {
    const cleanup = inReverse(t);
    const { folder, settings } = await settingsFor(cleanup, databaseUrl(await testDatabase(cleanup)));
    const patient = await signalled(cleanup, folder, settings);
    patient.slow.socket.write(body.slice(20));
    assert.match(await patient.slow.closed, /^HTTP\/1\.1 202 .*connection: close/is);
    assert.deepEqual(await patient.main.ended(), { code: 0, signal: null });
    const hurried = await signalled(cleanup, folder, settings);
    assert.notEqual(hurried.url, patient.url, "first-run.json has the URL of this start");
    // A signal within two seconds of the first one is the same signal, passed on by npm or a terminal.
    const ended = hurried.main.ended();
    let isOver = false;
    void ended.then(() => {
      isOver = true;
    });
    await until(async () => {
      hurried.main.signal("SIGTERM");
      return isOver;
    }, "the second signal ends it");
    assert.equal((await ended).code, 1);
    assert.equal(await hurried.slow.closed, "");
  });

  /** A service that gets SIGTERM while half of a request has arrived. */
  async function signalled(cleanup: Cleanup, folder: string, settings: Record<string, string>) {
    const main = startMain(cleanup, { settings });
    const url = await main.ready();
    const client = await clientOf(folder);
    assert.equal(client.url, url);
    const slow = await openRaw(client);
    slow.socket.write(`${head}\r\n\r\n${body.slice(0, 20)}`);
    // When a later request is answered, the half request has been read.
    assert.equal((await client.send("GET", "/health/live")).status, 200);
    main.signal("SIGTERM");
    await until(
      async () => (await client.send("GET", "/health/live").catch(() => null)) === null,
      "no new connections",
    );
    return { main, url, slow };
  }
});
