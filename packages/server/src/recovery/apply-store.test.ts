import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { type TestDatabase, testDatabase } from "../testing/database.ts";
import { storedRows } from "../testing/rows.ts";
import type { RecordedRow } from "./account-record.ts";
import { applyRecord, freeRecord } from "./apply-store.ts";

const database: TestDatabase = await testDatabase({ after });
const at = "2026-11-16T10:00:00Z";

const accountOf = (id: string): RecordedRow => ({
  ...{ id, kind: "company", name: "Örnek", tax_id: "1234567890", package: "corporate", state: "active" },
  ...{ language: "tr", state_changed_at: at, created_at: at, updated_at: at },
});

const personOf = (accountId: string, id: string, role: string): RecordedRow => ({
  ...{ id, account_id: accountId, role, state: "active", email: `${id}@test.example`, email_key: `${id}@test.example` },
  ...{ full_name: "Test Person", language: "tr", created_at: at, updated_at: at },
});

function recordOf(accountId: string, people: readonly RecordedRow[], vaultId: string) {
  const vault = { id: vaultId, account_id: accountId, name: "Kasa", name_order: "KASA", kind: "default" };
  const vaults = [{ ...vault, created_at: at, updated_at: at }];
  return { accountId, generation: 1, tables: { accounts: [accountOf(accountId)], people, vaults } };
}

const peopleOf = async (accountId: string) =>
  Object.fromEntries(
    (
      await storedRows<{ id: string; role: string; state: string }>(
        database,
        "select id, role, state from emanet.people where account_id = $1",
        [accountId],
      )
    ).map(({ id, role, state }) => [id, `${role} ${state}`]),
  );

test("an account of a record has its own default vault, and no second one", async () => {
  const [account, vault] = [randomUUID(), randomUUID()];
  await applyRecord(database.owner, recordOf(account, [], vault), "missing");
  const query = "select id, name from emanet.vaults where account_id = $1";
  assert.deepEqual(await storedRows(database, query, [account]), [{ id: vault, name: "Kasa" }]);
});

test("a newer record changes rows and ends those that it does not have; a rebuild leaves what is there", async () => {
  const [account, vault, one, other, third] = Array.from({ length: 5 }, () => randomUUID()) as [
    string,
    string,
    string,
    string,
    string,
  ];
  const before = recordOf(account, [personOf(account, one, "owner"), personOf(account, other, "manager")], vault);
  await applyRecord(database.owner, before, "missing");
  const later = recordOf(account, [personOf(account, one, "viewer"), personOf(account, third, "owner")], vault);
  await applyRecord(database.owner, later, "missing");
  assert.deepEqual(await peopleOf(account), {
    [one]: "owner active",
    [other]: "manager active",
    [third]: "owner active",
  });
  await applyRecord(database.owner, later, "newest");
  assert.deepEqual(await peopleOf(account), {
    [one]: "viewer active",
    [other]: "manager removed",
    [third]: "owner active",
  });
});

const sourceOf = (accountId: string, vaultId: string, id: string, name: string): RecordedRow => ({
  ...{ id, account_id: accountId, vault_id: vaultId, name, name_order: name, kind: "files" },
  ...{ created_at: at, updated_at: at, version: 1, expected_every_s: null, deleted_at: null },
});

test("names and addresses that have changed hands since the older rows are those of the newer record", async () => {
  const [account, vault, one, other] = Array.from({ length: 4 }, () => randomUUID()) as [
    string,
    string,
    string,
    string,
  ];
  const [removed, invited] = [randomUUID(), randomUUID()];
  const email = { email: `${one}@test.example`, email_key: `${one}@test.example` };
  const recordWith = (people: readonly RecordedRow[], sources: readonly RecordedRow[]) => {
    const record = recordOf(account, people, vault);
    return { ...record, tables: { ...record.tables, sources } };
  };
  const names = (a: string, b: string) => [sourceOf(account, vault, one, a), sourceOf(account, vault, other, b)];
  const person = { ...personOf(account, removed, "viewer"), ...email };
  await applyRecord(database.owner, recordWith([person], names("muhasebe", "arşiv")), "missing");
  const next = { ...personOf(account, invited, "viewer"), ...email };
  const later = recordWith([next, { ...person, state: "removed" }], names("arşiv", "muhasebe"));
  await applyRecord(database.owner, later, "newest");
  assert.deepEqual(await peopleOf(account), { [removed]: "viewer removed", [invited]: "viewer active" });
  const found = await storedRows<{ id: string; name: string }>(
    database,
    "select id, name from emanet.sources where vault_id = $1",
    [vault],
  );
  assert.deepEqual(Object.fromEntries(found.map(({ id, name }) => [id, name])), {
    [one]: "arşiv",
    [other]: "muhasebe",
  });
});

test("who has left one account for another is in the new one alone, whichever record comes first", async () => {
  const [left, joined] = [randomUUID(), randomUUID()];
  const [before, now] = [randomUUID(), randomUUID()];
  const email = { email: `${now}@test.example`, email_key: `${now}@test.example` };
  const person = { ...personOf(left, before, "viewer"), ...email };
  const [vaultOfLeft, vaultOfJoined] = [randomUUID(), randomUUID()];
  await applyRecord(database.owner, recordOf(left, [person], vaultOfLeft), "missing");
  await applyRecord(database.owner, recordOf(joined, [], vaultOfJoined), "missing");
  const records = [
    recordOf(joined, [{ ...personOf(joined, now, "viewer"), ...email }], vaultOfJoined),
    recordOf(left, [{ ...person, state: "removed" }], vaultOfLeft),
  ];
  for (const record of records) await freeRecord(database.owner, record);
  for (const record of records) await applyRecord(database.owner, record, "newest");
  assert.deepEqual(await peopleOf(left), { [before]: "viewer removed" });
  assert.deepEqual(await peopleOf(joined), { [now]: "viewer active" });
});
