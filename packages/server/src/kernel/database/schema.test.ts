import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { after, describe, test } from "node:test";
import { testDatabase } from "../../testing/database.ts";
import { appRole } from "./pool.ts";
import { rowTypes } from "./rows.ts";
import { readSchema, type Schema, schemaText } from "./schema.ts";

const database = await testDatabase({ after });
const schema = await readSchema(database.owner);

describe("the committed files are what the migrations make", () => {
  const files = [
    ["schema.txt", path.resolve(import.meta.dirname, "../../../schema.txt"), schemaText(schema)],
    ["rows.generated.ts", path.join(import.meta.dirname, "rows.generated.ts"), rowTypes(schema)],
  ] as const;
  for (const [name, file, made] of files) {
    test(name, async () => {
      const committed = await readFile(file, "utf8");
      const differences = { stale: linesWithout(committed, made), new: linesWithout(made, committed) };
      assert.ok(committed === made, `run \`npm run generate\`: ${JSON.stringify(differences, null, 2)}`);
    });
  }
});

describe("the second wall", () => {
  test("every table with an account_id has row-level security, enabled, forced and with a policy", () => {
    assert.deepEqual(unwalledTables(schema), []);
  });

  test("a table without any one of these is found", async (t) => {
    const { owner } = await testDatabase(t);
    await owner.query(`
      create table emanet.no_wall (account_id uuid);
      create table emanet.not_forced (account_id uuid);
      alter table emanet.not_forced enable row level security;
      create policy tenancy on emanet.not_forced using (emanet.in_scope(account_id));
      create table emanet.not_enabled (account_id uuid);
      alter table emanet.not_enabled force row level security;
      create policy tenancy on emanet.not_enabled using (emanet.in_scope(account_id));
      create table emanet.no_policy (account_id uuid);
      alter table emanet.no_policy enable row level security;
      alter table emanet.no_policy force row level security;
      create table emanet.no_account (id uuid)`);
    assert.deepEqual(unwalledTables(await readSchema(owner)), ["no_policy", "no_wall", "not_enabled", "not_forced"]);
  });

  test("a table that the app may touch has row-level security, with an account_id or without", () => {
    const open = tablesOf(schema).filter((table) => table.grants.length > 0 && !table.rowSecurity);
    assert.deepEqual(
      open.map((table) => table.name),
      [],
    );
  });

  test("the app role is neither superuser nor exempt from row-level security, nor a member of any role", async () => {
    const { rows } = await database.owner.query(
      `select rolsuper, rolbypassrls, rolcreaterole, rolcanlogin,
          array(select roleid::regrole::text from pg_auth_members where member = pg_roles.oid) as member_of
        from pg_roles where rolname = $1`,
      [appRole],
    );
    assert.deepEqual(rows, [
      { rolsuper: false, rolbypassrls: false, rolcreaterole: false, rolcanlogin: false, member_of: [] },
    ]);
  });

  test("the app role owns nothing, so no policy can be switched off by it", async () => {
    const { rows } = await database.owner.query(
      "select relname from pg_class where relowner = (select oid from pg_roles where rolname = $1)",
      [appRole],
    );
    assert.deepEqual(rows, []);
  });
});

test("the text does not depend on who asks", async () => {
  assert.equal(schemaText(await readSchema(database.app)), schemaText(schema));
});

test("every kind of change shows in the text", async (t) => {
  const { owner } = await testDatabase(t);
  await owner.query("create table emanet.probe (id integer, word text)");
  let before = schemaText(await readSchema(owner));
  const changes = [
    "alter table emanet.probe alter id set not null",
    "alter table emanet.probe alter id type bigint",
    "alter table emanet.probe alter word set default 'x'",
    "alter table emanet.probe add more text generated always as (word || '!') stored",
    "alter table emanet.probe add serial integer generated always as identity",
    "alter table emanet.probe add primary key (id)",
    "alter table emanet.probe add check (id > 0)",
    "create index on emanet.probe (word)",
    "alter table emanet.probe enable row level security",
    "alter table emanet.probe force row level security",
    "create policy p on emanet.probe for select to emanet_app using (id > 1)",
    "alter policy p on emanet.probe using (id > 2)",
    "grant select on emanet.probe to emanet_app",
    "grant update (word) on emanet.probe to emanet_app",
    "create trigger guard before update on emanet.probe for each row execute function emanet.refuse_change()",
    "alter table emanet.probe disable trigger guard",
    "create function emanet.f() returns integer language sql as 'select 1'",
    "create or replace function emanet.f() returns integer language sql security definer as 'select 1'",
    "revoke execute on function emanet.f() from public",
    "create view emanet.v as select id from emanet.probe",
    "alter view emanet.v set (security_invoker = true)",
    "create type emanet.mood as enum ('good', 'bad')",
    "create sequence emanet.s",
    "grant create on schema emanet to emanet_app",
    "drop view emanet.v",
  ];
  for (const change of changes) {
    await owner.query(change);
    const text = schemaText(await readSchema(owner));
    assert.notEqual(text, before, change);
    before = text;
  }
});

function linesWithout(text: string, other: string): readonly string[] {
  const known = new Set(other.split("\n"));
  return text.split("\n").filter((line) => !known.has(line));
}

function tablesOf({ relations }: Schema) {
  return relations.filter((relation) => relation.kind === "table");
}

function unwalledTables(of: Schema): readonly string[] {
  return tablesOf(of)
    .filter((table) => table.columns.some((column) => column.name === "account_id"))
    .filter((table) => !(table.rowSecurity && table.rowSecurityForced && table.policies.length > 0))
    .map((table) => table.name);
}
