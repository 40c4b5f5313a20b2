import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { type TestDatabase, testDatabase } from "../testing/database.ts";
import { storedRows } from "../testing/rows.ts";
import type { RecordedRow } from "./account-record.ts";
import { applyRecord } from "./apply-store.ts";

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
