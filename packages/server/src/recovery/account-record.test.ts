import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import { systemRandom } from "../kernel/clock.ts";
import { createSecrets } from "../kernel/secrets.ts";
import { listRecords, readRecord, recordName, writeRecord } from "./account-record.ts";
import { newestRecord } from "./rebuild-index.ts";

const secrets = createSecrets(Buffer.alloc(32, 3), systemRandom);
const [one, other] = ["019a0000-0000-7000-8000-000000000001", "019a0000-0000-7000-8000-000000000002"] as const;
const tables = { accounts: [{ id: one, name: "Örnek Muhasebe" }], people: [] };

describe("a record", () => {
  test("is read as it was written, and shows nothing without its key", async () => {
    const store = new MemoryStore();
    await writeRecord(store, secrets, { accountId: one, generation: 7, tables });
    await writeRecord(store, secrets, { accountId: null, generation: 2, tables: {} });
    const found = await listRecords(store);
    assert.deepEqual([...found.keys()].sort(), [one, null].sort());
    const [place] = found.get(one) ?? [];
    assert.ok(place !== undefined);
    assert.deepEqual(await readRecord(store, secrets, place), { accountId: one, generation: 7, tables });
    assert.ok(!Buffer.from(await store.get(place.name)).includes("Muhasebe"));
    const stranger = createSecrets(Buffer.alloc(32, 4), systemRandom);
    await assert.rejects(readRecord(store, stranger, place));
  });

  test("under another account's name or an older number does not open", async () => {
    const store = new MemoryStore();
    await writeRecord(store, secrets, { accountId: one, generation: 7, tables });
    const bytes = await store.get(recordName(one, 7));
    for (const [accountId, generation] of [
      [other, 7],
      [one, 8],
      [null, 7],
    ] as const) {
      const name = recordName(accountId, generation);
      await store.put(name, bytes);
      await assert.rejects(readRecord(store, secrets, { accountId, generation, name }), name);
    }
  });

  test("if the newest is damaged, the one before counts, and the damaged one is named", async () => {
    const store = new MemoryStore();
    for (const generation of [8, 9, 10, 11]) await writeRecord(store, secrets, { accountId: one, generation, tables });
    const damaged = Buffer.from(await store.get(recordName(one, 11)));
    damaged.writeUInt8(damaged.readUInt8(30) ^ 1, 30);
    await store.put(recordName(one, 11), damaged);
    const named: string[] = [];
    const places = (await listRecords(store, one)).get(one) ?? [];
    const record = await newestRecord({ store, secrets }, places, named);
    assert.deepEqual([record?.generation, named], [10, [recordName(one, 11)]]);
  });
});
