import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import type { Catalog } from "@emanet/engine/catalog";
import { begin, frameRow, idOf, itemRow, snapshotOf, unitOf } from "@emanet/engine/testing";
import { monotonicMs } from "../kernel/clock.ts";
import { openPools, withConnection } from "../kernel/database/pool.ts";
import { silentLog, testDatabase } from "../testing/database.ts";
import { scaled } from "../testing/scale.ts";
import { makeVault, openCatalog, type TestVault, testTransactions } from "./testing/vaults.ts";

const { app, target, adminTarget } = await testDatabase({ after });
const transactions = testTransactions(app);
const newCatalog = async () => openCatalog(transactions, await makeVault(transactions));

describe("steps of several processes at the same moment", () => {
  test("an upload that is begun several times at once is begun once, and all get the same answer", async () => {
    const vault = await makeVault(transactions);
    const begun = { upload: "u", owner: "a", leaseUntil: 9, base: null, ordinals: 7 };
    const starts = await Promise.all(
      Array.from({ length: 8 }, () => openCatalog(transactions, vault).beginUpload(begun)),
    );
    for (const start of starts) assert.deepEqual(start, starts[0]);
    const { running, next } = await openCatalog(transactions, vault).sessions();
    assert.deepEqual([running, next], [[1], 2]);
  });

  test("a request for ordinals that is sent several times at once gets the same ordinals; other requests get others", async () => {
    const catalog = await newCatalog();
    await begin(catalog, "u");
    const requests = [1, 2, 1, 3, 2, 1, 3, 1];
    const firsts = await Promise.all(requests.map((request) => catalog.reserveOrdinals(10, { upload: "u", request })));
    const byRequest = new Map(requests.map((request, i) => [request, firsts[i]]));
    assert.deepEqual(
      firsts,
      requests.map((request) => byRequest.get(request)),
    );
    assert.deepEqual(
      [...byRequest.values()].toSorted((a = 0, b = 0) => a - b),
      [1, 11, 21],
    );
  });

  test("a unit that is sent several times at once is registered once", async () => {
    const catalog = await newCatalog();
    await begin(catalog, "u");
    const unit = unitOf("p", [frameRow(1, "p")], [itemRow(1, 1)]);
    await Promise.all(Array.from({ length: 6 }, () => catalog.addUnit("u", 1, unit, 1)));
    await catalog.commit("u", 1, snapshotOf("s", [1]));
  });
});

test("reads that are asked for at the same moment are one request to the database; if it fails, all of them do", async () => {
  let [reads, isLost] = [0, false];
  const read: typeof transactions.read = (...request) => {
    reads++;
    return isLost ? Promise.reject(new Error("lost")) : transactions.read(...request);
  };
  const catalog = openCatalog({ ...transactions, read }, await makeVault(transactions));
  await begin(catalog, "u");
  const each = [
    () => catalog.chainHead(),
    () => catalog.sessions(),
    () => catalog.uploadState("u"),
    () => catalog.uploadState("another"),
    () => catalog.reserveOrdinals(0),
  ];
  const apart: unknown[] = [];
  for (const ask of each) apart.push(await ask());
  reads = 0;
  assert.deepEqual(await Promise.all(each.map((ask) => ask())), apart);
  assert.equal(reads, 1);
  isLost = true;
  const failed = await Promise.allSettled(each.map((ask) => ask()));
  assert.deepEqual([...new Set(failed.map((one) => one.status))], ["rejected"]);
  isLost = false;
  assert.deepEqual(await catalog.sessions(), apart[1]);
});

test("a step that needs the vault alone and has to wait lets the steps of uploads pass", async (t) => {
  const vault = await makeVault(transactions);
  const catalog = openCatalog(transactions, vault);
  await begin(catalog, "u");
  // Of steps that wait less than others: they would fail behind one that waits as long as all.
  const { app: hurried, close } = await openPools({ target, log: silentLog, waitMs: 5_000 });
  t.after(close);
  const upload = openCatalog(testTransactions(hurried), vault);
  await withConnection(adminTarget, async (client) => {
    const text = "select pg_advisory_xact_lock_shared(7701, vault) from emanet.catalogs where vault_id = $1";
    await client.query("begin");
    await client.query(text, [vault.vaultId]);
    const condemned = catalog.condemn([], await catalog.revision());
    const waiting = "select from pg_locks where locktype = 'advisory' and classid = 7701 and not granted";
    while ((await client.query(waiting)).rowCount === 0);
    await upload.renewUpload("u", 1, 2000);
    await client.query("commit");
    assert.equal((await condemned).revisionChanged, false);
  });
});

/** The ordinals that the hooks of a vault lead to. */
async function ordinalsOfHooks({ vaultId }: TestVault): Promise<unknown[]> {
  return withConnection(adminTarget, async (client) => {
    const text =
      "select ordinal from emanet.catalog_hooks join emanet.catalogs using (vault) where vault_id = $1 order by 1";
    return (await client.query({ text, values: [vaultId], rowMode: "array" })).rows.flat();
  });
}

test("an item that is deleted leaves no hook; one that another item has taken over stays", async () => {
  const vault = await makeVault(transactions);
  const catalog = openCatalog(transactions, vault);
  await begin(catalog, "u");
  const units = [1, 2, 3].map((n) => unitOf(`p${n}`, [frameRow(n, `p${n}`)], [itemRow(n, n)]));
  for (const [i, unit] of units.entries()) {
    const shared = [99n, i + 1] as const;
    await catalog.addUnit("u", 1, i < 2 ? { ...unit, hooks: [...unit.hooks, shared] } : unit);
  }
  await catalog.endUpload("u");
  assert.deepEqual(await ordinalsOfHooks(vault), [1, 2, 2, 3]);
  const marking = await catalog.revision();
  await catalog.condemn(["p1", "p3"], marking);
  assert.equal(await catalog.beginDelete("p1", marking, [1]), true);
  assert.deepEqual(await ordinalsOfHooks(vault), [2, 2, 3], "deleted with its pack");
  await begin(catalog, "up");
  const moves = [{ from: { pack: "p3", generation: 0, marking }, to: frameRow(3, "p4", { generation: 1 }) }];
  assert.equal(await catalog.moveFrames("up", 1, unitOf("p4", [], []), moves, [3]), true);
  assert.deepEqual(await ordinalsOfHooks(vault), [2, 2], "deleted with the slots that it needs");
});

test("many packs are condemned in parts, and none after the revision has changed", async () => {
  const catalog = await newCatalog();
  const packs = Array.from({ length: 1_200 }, (_, i) => `p${String(i).padStart(4, "0")}`);
  const rows = packs.map((pack) => ({ pack, session: 1, size: 1, state: "live" as const }));
  await catalog.addRebuilt({ unit: { ...unitOf("p", [], []), packs: rows } });
  const marking = await catalog.revision();
  const old = await catalog.condemn(packs, marking - 1);
  assert.deepEqual(old, { condemned: [], revisionChanged: true });
  assert.deepEqual(await catalog.condemn(packs, marking), { condemned: packs, revisionChanged: false });
});

test("an upload that ends leaves nothing of itself, however it ends", async () => {
  const vault = await makeVault(transactions);
  const catalog = openCatalog(transactions, vault);
  const ends = [
    (upload: string) => catalog.endUpload(upload),
    (upload: string) => catalog.commit(upload, 1, snapshotOf(upload, [])),
    () => catalog.expireUploads(1000),
  ];
  for (const [i, end] of ends.entries()) {
    const upload = `u${i}`;
    await catalog.beginUpload({ upload, owner: "a", leaseUntil: 1000, base: null, ordinals: 3 });
    await catalog.addUnit(upload, 1, unitOf(`p${i}`, [frameRow(i + 1, `p${i}`)], [itemRow(i + 1, i + 1)]), 1);
    await end(upload);
  }
  await withConnection(adminTarget, async (client) => {
    for (const table of ["uploads", "pins", "held", "units", "reservations"]) {
      const { rows } = await client.query(
        `select * from emanet.catalog_${table} join emanet.catalogs using (vault) where vault_id = $1`,
        [vault.vaultId],
      );
      assert.deepEqual(rows, [], table);
    }
  });
});

test("a pack that an older marking has condemned belongs to the newer one that condemns it", async () => {
  const catalog = await newCatalog();
  await begin(catalog, "u");
  await catalog.addUnit("u", 1, unitOf("p", [frameRow(1, "p")], [itemRow(1, 1)]));
  await catalog.endUpload("u");
  const older = await catalog.revision();
  assert.deepEqual((await catalog.condemn(["p"], older)).condemned, ["p"]);
  await catalog.setDamaged([], true);
  const newer = await catalog.revision();
  assert.deepEqual((await catalog.condemn(["p"], newer)).condemned, ["p"]);
  assert.equal(await catalog.beginDelete("p", older, [1]), false);
  assert.equal(await catalog.beginDelete("p", newer, [1]), true);
});

test("a deletion is cancelled only while it runs", async () => {
  const catalog = await newCatalog();
  await catalog.addRebuilt({ snapshots: [snapshotOf("s", [])] });
  const hold = { expiresAt: null, lockedUntil: null, hold: true };
  assert.equal(await catalog.cancelDeleteSnapshot("s", hold, 1), false);
  await catalog.beginDeleteSnapshot("s", 1);
  assert.equal(await catalog.cancelDeleteSnapshot("s", hold, 1), true);
  await assert.rejects(catalog.deleteSnapshot("s", 1), { code: "retained" });
});

test("hooks beyond 2^63 are found", async () => {
  const catalog = await newCatalog();
  await begin(catalog, "u");
  const [low, high] = [2n ** 63n, 2n ** 64n - 1n];
  const unit = unitOf("p", [frameRow(1, "p")], [itemRow(1, 1), itemRow(2, 1)]);
  await catalog.addUnit("u", 1, {
    ...unit,
    hooks: [
      [low, 1],
      [high, 2],
      [high, 1],
      [low, 2],
    ],
  });
  assert.deepEqual(await catalog.findHooks("a", [low, high, 5n]), [2, 1, null], "of one owner the last in the unit");
});

/** A vault with more items than are searched at a time; every thousandth has bytes in frame 10. */
async function largeVault(): Promise<{
  readonly vaultId: string;
  readonly catalog: Catalog;
  readonly inFrame: number[];
}> {
  const vault = await makeVault(transactions);
  const catalog = openCatalog(transactions, vault);
  const ordinals = Array.from({ length: 12_000 }, (_, i) => i + 1);
  const inFrame = ordinals.filter((ordinal) => ordinal % 1000 === 0);
  const items = ordinals.map((ordinal) =>
    itemRow(ordinal, ordinal % 1000 === 0 ? 10 : 20, { id: idOf(ordinal % 250) }),
  );
  const frames = [frameRow(10, "p1"), frameRow(20, "p1")];
  await catalog.addRebuilt({ unit: { ...unitOf("p1", frames, items), hooks: [] } });
  return { vaultId: vault.vaultId, catalog, inFrame };
}

const mark = { frame: 10, pack: "p1", generation: 0 };

describe("the search for items of a damaged frame", () => {
  test("goes through all pages", async () => {
    const { catalog, inFrame } = await largeVault();
    await catalog.setDamaged([mark], true);
    assert.deepEqual((await begin(catalog, "u")).damaged, inFrame);
  });

  test("that was not finished is finished by the next upload that begins, in any process", async () => {
    const { vaultId, catalog, inFrame } = await largeVault();
    await catalog.setDamaged([mark], true);
    // As a process leaves it that has ended after the first page.
    await withConnection(adminTarget, async (client) => {
      const text = "update emanet.catalogs set damage_searched = 5000 where vault_id = $1 returning vault";
      const { rows } = await client.query(text, [vaultId]);
      await client.query("delete from emanet.catalog_damaged_items where vault = $1 and ordinal > 5000", [
        rows[0].vault,
      ]);
    });
    assert.deepEqual((await begin(catalog, "u")).damaged, inFrame);
  });
});

test("steps in the last of thousands of vaults take as long as in a database with one", async (t) => {
  const vaults = scaled(30, 3_000);
  const rounds = scaled(15, 40);
  const small = await testDatabase(t);
  const large = await testDatabase(t);
  const inLarge = testTransactions(large.app);
  // Ids are keyed: no two vaults have the same.
  const idsIn = (number: number) => [1, 2].map((n) => Buffer.from(`${number} ${n}`.padStart(32)));
  const filled = async (catalog: Catalog, number: number) => {
    await begin(catalog, "u");
    const items = idsIn(number).map((id, i) => itemRow(i + 1, 1, { id }));
    await catalog.addUnit("u", 1, unitOf("p", [frameRow(1, "p")], items));
    await catalog.commit("u", 1, snapshotOf("s", [1, 2]));
    return catalog;
  };
  const only = await filled(openCatalog(testTransactions(small.app), await makeVault(testTransactions(small.app))), 1);
  let last = only;
  for (let made = 0; made < vaults; made++)
    last = await filled(openCatalog(inLarge, await makeVault(inLarge)), made + 1);
  const timed = async (catalog: Catalog, number: number, upload: string) => {
    const started = monotonicMs();
    await begin(catalog, upload, { base: "s" });
    assert.equal((await catalog.acquire(upload, idsIn(number)))[1]?.ordinal, 2);
    await catalog.commit(upload, 1, snapshotOf(upload, [1, 2]));
    return monotonicMs() - started;
  };
  const times: [number[], number[]] = [[], []];
  // In turn, so that a busy machine slows both.
  for (let round = 0; round < rounds; round++) {
    times[0].push(await timed(only, 1, `r${round}`));
    times[1].push(await timed(last, vaults, `r${round}`));
  }
  const [one, many] = times.map((all) => all.toSorted((a, b) => a - b)[Math.floor(rounds / 2)] ?? 0);
  t.diagnostic(`${vaults} vaults: ${many?.toFixed(1)} ms, one vault: ${one?.toFixed(1)} ms`);
  assert.ok((many ?? 0) < 2 * (one ?? 0), `${many} ms against ${one} ms`);
});
