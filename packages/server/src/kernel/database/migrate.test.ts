import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, test } from "node:test";
import type pg from "pg";
import { startProgram } from "../../testing/child.ts";
import { silentLog, testDatabase } from "../../testing/database.ts";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { type Migration, migrate, pendingMigrations, readMigrations } from "./migrate.ts";
import { openPools } from "./pool.ts";

function migration(number: number, word: string, sql: string): Migration {
  const checksum = createHash("sha256").update(sql).digest("hex");
  return { number, name: `${String(number).padStart(4, "0")}_${word}`, sql, checksum };
}

const first = migration(1, "first", "create table public.first (n integer); insert into public.first values (1)");
const second = migration(2, "second", "create table public.second (n integer)");

async function tables(owner: pg.Pool): Promise<readonly string[]> {
  const { rows } = await owner.query<{ name: string }>(
    "select tablename as name from pg_tables where schemaname = 'public' order by 1",
  );
  return rows.map((row) => row.name);
}

describe("migrate", () => {
  test("applies what is missing, in order, once", async (t) => {
    const { owner } = await testDatabase(t, { empty: true });
    assert.deepEqual(await pendingMigrations({ owner, migrations: [first, second] }), ["0001_first", "0002_second"]);
    assert.deepEqual(await migrate({ owner, log: silentLog, migrations: [first] }), ["0001_first"]);
    assert.deepEqual(await pendingMigrations({ owner, migrations: [first, second] }), ["0002_second"]);
    assert.deepEqual(await migrate({ owner, log: silentLog, migrations: [first, second] }), ["0002_second"]);
    assert.deepEqual(await migrate({ owner, log: silentLog, migrations: [first, second] }), []);
    assert.deepEqual(await tables(owner), ["first", "second"]);
  });

  test("asking what is pending changes nothing", async (t) => {
    const { owner } = await testDatabase(t, { empty: true });
    await pendingMigrations({ owner });
    const { rows } = await owner.query("select from pg_namespace where nspname like 'emanet%'");
    assert.equal(rows.length, 0);
  });

  test("the error for a user who may not create a schema names the missing grant", async (t) => {
    const { owner, target } = await testDatabase(t, { empty: true });
    const weak = `weak_${target.database}`;
    await owner.query(`create role ${weak}; grant ${weak} to current_user`);
    const connect = async () => {
      const client = await owner.connect();
      await client.query(`set role ${weak}`);
      return client;
    };
    const refused = migrate({ owner: { connect } as unknown as pg.Pool, log: silentLog, migrations: [first] });
    await assert.rejects(refused, { code: "database_rights", message: /owner of the database/ });
    await owner.query(`drop role ${weak}`);
    assert.deepEqual(await migrate({ owner, log: silentLog, migrations: [first] }), ["0001_first"]);
  });

  test("several migrators at once apply each migration once", async (t) => {
    const { target, owner } = await testDatabase(t, { empty: true });
    const slow = migration(1, "slow", `select pg_sleep(0.3); ${first.sql}`);
    const applied = await Promise.all(
      [1, 2, 3, 4].map(async () => {
        const pools = await openPools({ target, log: silentLog });
        return migrate({ owner: pools.owner, log: silentLog, migrations: [slow, second] }).finally(pools.close);
      }),
    );
    assert.deepEqual(applied.flat(), ["0001_slow", "0002_second"]);
    assert.deepEqual((await owner.query("select n from public.first")).rows, [{ n: 1 }]);
  });

  test("two services that start at once on an empty database both come up, with the real migrations", async (t) => {
    const { target, owner } = await testDatabase(t, { empty: true });
    const programs = [1, 2].map(() => startProgram(t, "migrate-once", { args: [JSON.stringify(target)] }));
    const applied = (await Promise.all(programs.map((program) => program.line()))).map((line) => JSON.parse(line));
    const files = await readMigrations();
    assert.deepEqual(
      applied.flat(),
      files.map((file) => file.name),
    );
    assert.deepEqual(await pendingMigrations({ owner }), []);
  });

  test("a migration that fails leaves nothing behind, is named, and can be repaired and tried again", async (t) => {
    const { owner } = await testDatabase(t, { empty: true });
    const broken = migration(2, "second", "create table public.second (n integer); select no_such_function()");
    await assert.rejects(migrate({ owner, log: silentLog, migrations: [first, broken] }), {
      code: "migration_failed",
      message: /0002_second failed and was rolled back: .*no_such_function/,
    });
    assert.deepEqual(await tables(owner), ["first"]);
    assert.deepEqual(await migrate({ owner, log: silentLog, migrations: [first, second] }), ["0002_second"]);
  });

  test("a migration that ends its own transaction is refused", async (t) => {
    const { owner } = await testDatabase(t, { empty: true });
    const sneaky = migration(1, "sneaky", "commit; begin; create table public.sneaky ()");
    await assert.rejects(migrate({ owner, log: silentLog, migrations: [sneaky] }), {
      message: /it ends its own transaction/,
    });
    assert.deepEqual(await tables(owner), []);
  });

  test("what a migration sets for its session does not reach the next one or the pool", async (t) => {
    const { owner } = await testDatabase(t, { empty: true });
    // Far above what a statement takes: the first migration's own bookkeeping still runs with it.
    const setting = migration(1, "setting", "set search_path = pg_temp; set statement_timeout = '1h'");
    const isUnset = "do $$ begin assert current_setting('statement_timeout') = '0'; end $$";
    const next = migration(2, "next", `create schema emanet; create table unqualified (); ${isUnset}`);
    await migrate({ owner, log: silentLog, migrations: [setting, next] });
    assert.deepEqual((await owner.query("show statement_timeout")).rows, [{ statement_timeout: "0" }]);
    assert.equal(
      (await owner.query("select to_regclass('emanet.unqualified') as found")).rows[0]?.found,
      "unqualified",
    );
  });
});

describe("a database that does not fit the files is refused, by migrate and by the question what is pending", () => {
  const cases: readonly (readonly [string, readonly Migration[], { code: string; message: RegExp }])[] = [
    [
      "an applied migration whose text was changed",
      [migration(1, "first", `${first.sql};`), second],
      { code: "migration_changed", message: /0001_first was applied to this database with another text/ },
    ],
    [
      "an applied migration that was renamed",
      [{ ...first, name: "0001_renamed" }, second],
      { code: "migration_changed", message: /0001_first was applied .* 0001_renamed\.sql/ },
    ],
    ["a database that a newer release migrated", [first], { code: "database_newer", message: /it has 0002_second/ }],
  ];
  for (const [name, migrations, refusal] of cases) {
    test(name, async (t) => {
      const { owner } = await testDatabase(t, { empty: true });
      await migrate({ owner, log: silentLog, migrations: [first, second] });
      await assert.rejects(migrate({ owner, log: silentLog, migrations }), refusal);
      await assert.rejects(pendingMigrations({ owner, migrations }), refusal);
    });
  }

  test("a journal with a hole", async (t) => {
    const { owner } = await testDatabase(t, { empty: true });
    await migrate({ owner, log: silentLog, migrations: [first, second] });
    await owner.query("delete from emanet_meta.migrations where number = 1");
    await assert.rejects(migrate({ owner, log: silentLog, migrations: [first, second] }), {
      code: "migration_changed",
    });
  });
});

describe("the files", () => {
  test("are checksummed whatever their line ends", async (t) => {
    const [unix, windows] = [await temporaryFolder(t), await temporaryFolder(t)];
    await writeFile(path.join(unix, "0001_a.sql"), "select 1;\nselect 2;\n");
    await writeFile(path.join(windows, "0001_a.sql"), "select 1;\r\nselect 2;\r\n");
    assert.deepEqual(await readMigrations(unix), await readMigrations(windows));
  });

  const wrong: readonly (readonly [string, readonly string[], string])[] = [
    ["a gap", ["0001_a.sql", "0003_c.sql"], "0003_c.sql"],
    ["two of one number", ["0001_a.sql", "0001_b.sql"], "0001_b.sql"],
    ["another file", ["0001_a.sql", "notes.md"], "notes.md"],
    ["a first one that is not 0001", ["0000_a.sql"], "0000_a.sql"],
  ];
  for (const [name, files, culprit] of wrong) {
    test(`${name} is refused by name`, async (t) => {
      const folder = await temporaryFolder(t);
      await Promise.all(files.map((file) => writeFile(path.join(folder, file), "select 1")));
      await assert.rejects(readMigrations(folder), (error: Error & { code: string }) => {
        return error.code === "migration_files" && error.message.includes(culprit);
      });
    });
  }
});
