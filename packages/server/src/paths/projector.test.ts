import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { after, test } from "node:test";
import { type KyselyPlugin, sql } from "kysely";
import type { ReadTx, Tx } from "../kernel/tx.ts";
import { pathsOf, search } from "../search/testing.ts";
import { runTask, type SnapshotJson, snapshotTest } from "../snapshots/testing.ts";
import { scaled } from "../testing/scale.ts";
import { seededRandom } from "../testing/seeded-random.ts";
import { jobsDone } from "../testing/sent-messages.ts";
import { defaultVaultId, makeVault } from "../vaults/testing.ts";
import { findVaultsToProject, rebuildProjection } from "./jobs.ts";
import { historyOf, searchNames } from "./search.ts";
import { beginClearing, unwantSnapshot, wantSnapshot } from "./store.ts";
import { accountRows, allVersions, inAccount, projectorOf } from "./testing.ts";
import { pathNumbers, planByKeys } from "./version-store.ts";

const env = await snapshotTest({ after });
const vaultId = await defaultVaultId(env.service, env.auth);
const sizes = { changes: 7, rows: 5 };

const nights: SnapshotJson[] = [];
for (let night = 0; night < 4; night++) {
  const files = Array.from({ length: 16 }, (_, i) => [
    `d${i % 3}/dosya-${i + night * 2}.txt`,
    `${i % 4 === night % 4}`,
  ]);
  nights.push(await env.completed("gece", Object.fromEntries(files)));
}
await search(env, "dosya-");
const whole = await allVersions(env, vaultId);
const names = (await search(env, "dosya-", "&limit=100")).data.length;

/** Begins to make a projection again. No job of the service does it: the last one has ended. */
async function clear(id = vaultId): Promise<void> {
  await jobsDone(env.service, "paths.project_vault");
  await inAccount(env, (tx) => beginClearing(tx, id));
}

test("a projection that is made again has the same versions", async () => {
  await clear();
  assert.deepEqual((await env.get("/v1/search?query=dosya-")).json?.data, []);
  await (await projectorOf(env, vaultId, { sizes })).run();
  assert.deepEqual(await allVersions(env, vaultId), whole);
  await inAccount(env, (tx) => rebuildProjection(tx, { accountId: env.accountId, vaultId }));
  assert.equal((await search(env, "dosya-", "&limit=100")).data.length, names);
  assert.deepEqual(await allVersions(env, vaultId), whole);
});

test("a process that is killed at any step, before or after its commit, leaves what the next one needs", async () => {
  const random = seededRandom(3);
  await clear();
  let steps = 0;
  for (let kills = 0; ; kills++) {
    let left = 1 + random.integer(3);
    const isCommitted = random.integer(2) === 0;
    const killed = await projectorOf(env, vaultId, {
      sizes,
      run: async (work) => {
        steps++;
        if (left-- > 1) return inAccount(env, work);
        if (isCommitted) await inAccount(env, work);
        throw new Error("killed");
      },
    });
    const isDone = await killed.run().then(
      () => true,
      (error: Error) => {
        assert.equal(error.message, "killed");
        return false;
      },
    );
    if (isDone) break;
    assert.ok(kills < 500);
    // In between the answers have whole snapshots only.
    if (kills % 5 > 0) continue;
    const { data, projection } = (await env.get("/v1/search?query=dosya-&limit=100")).json as {
      data: { last_snapshot: { id: string } }[];
      projection: { snapshot_id: string | null; waiting: number };
    };
    const known = nights.slice(0, nights.length - projection.waiting).map(({ id }) => id);
    assert.equal(projection.snapshot_id, known.at(-1) ?? null);
    assert.ok(data.every(({ last_snapshot: { id } }) => known.includes(id)));
  }
  assert.ok(steps > 25, `${steps}`);
  assert.deepEqual(await allVersions(env, vaultId), whole);
});

test("an answer that says that nothing waits has looked at everything, also if it was projected in the middle of the answer", async () => {
  const { accountId } = env;
  const { secrets } = env.service.running;
  const sourceId = nights[0]?.source.id ?? "";
  const answers = {
    search: async (tx: ReadTx) => {
      const wanted = { query: "dosya-", vaultIds: null, after: null, limit: 100 };
      const { found, progress } = await searchNames({ tx, secrets, accountId }, wanted);
      return { isWhole: found.length === names, waiting: progress.waiting };
    },
    history: async (tx: ReadTx) => {
      const place = { sourceId, vaultId, path: Buffer.from("d0/dosya-3.txt") };
      const { versions, progress } = await historyOf({ tx, secrets, accountId }, place, { before: null, take: 9 });
      return { isWhole: versions.length > 0, waiting: progress.waiting };
    },
  };
  for (const [name, answer] of Object.entries(answers)) {
    await clear();
    const projector = await projectorOf(env, vaultId);
    let projected: Promise<unknown> | null = null;
    // After the result of the first statement, before anything is asked that depends on it.
    const plugin: KyselyPlugin = {
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        projected ??= projector.run();
        await projected;
        return result;
      },
    };
    const inBetween = await inAccount(env, (tx) => answer({ db: tx.db.withPlugin(plugin), now: tx.now }));
    assert.ok(inBetween.isWhole || inBetween.waiting > 0, name);
    assert.deepEqual(await inAccount(env, answer), { isWhole: true, waiting: 0 }, name);
  }
});

test("processes that work at one vault at the same time do not both apply a step", async () => {
  for (let round = 0; round < scaled(2, 20); round++) {
    await clear();
    const others = await Promise.all(Array.from({ length: 3 }, () => projectorOf(env, vaultId, { sizes })));
    const ends = await Promise.allSettled(others.map((one) => one.run()));
    for (const end of ends)
      if (end.status === "rejected") assert.equal((end.reason as Error).message, "projection_changed");
    await (await projectorOf(env, vaultId, { sizes })).run();
    assert.deepEqual(await allVersions(env, vaultId), whole);
  }
});

test("a process that was stopped for long does not go on beside other snapshots, though it finds the state that it left", async () => {
  const [first, second] = [nights[0]?.id ?? "", nights[1]?.id ?? ""];
  const rows = await accountRows(
    env,
    sql<Parameters<typeof wantSnapshot>[1]>`
    select snapshot_id, account_id, vault_id, source_id, created_at from projected_snapshots where vault_id = ${vaultId}`,
  );
  const want = async (id: string, isWanted: boolean) =>
    inAccount(env, async (tx) => {
      for (const row of rows.filter((one) => one.snapshot_id === id))
        await (isWanted ? wantSnapshot(tx, row) : unwantSnapshot(tx, id));
    });
  const whole = await allVersions(env, vaultId);
  const run = async () => (await projectorOf(env, vaultId, { sizes })).run();
  /** Works until it has looked what the snapshot is between, and then `meanwhile`. */
  const stopped = async (meanwhile: () => Promise<void>) => {
    let isStopped = false;
    return projectorOf(env, vaultId, {
      sizes,
      read: async (work) => {
        const found = await inAccount(env, work);
        if (!isStopped) await meanwhile();
        isStopped = true;
        return found;
      },
    });
  };
  /** Begins with the snapshot that is next, and does nothing more. */
  const begin = async () => {
    let steps = 0;
    const begun = await projectorOf(env, vaultId, {
      sizes,
      run: async (work) => (steps++ === 0 ? inAccount(env, work) : assert.fail("stopped")),
    });
    await assert.rejects(begun.run(), /stopped/);
  };
  // The second one comes, and the first goes and comes again, while the process puts the first one in.
  await clear();
  for (const { id } of nights) await want(id, id === first);
  const applying = await stopped(async () => {
    await run();
    await want(second, true);
    await run();
    await want(first, false);
    await run();
    await want(first, true);
    await begin();
  });
  await assert.rejects(applying.run(), /projection_changed/);
  for (const { id } of nights) await want(id, true);
  await run();
  assert.deepEqual(await allVersions(env, vaultId), whole);
  // The same while it takes the first one out.
  await want(second, false);
  await run();
  await want(first, false);
  const removing = await stopped(async () => {
    await run();
    for (const id of [first, second]) await want(id, true);
    await run();
    await want(first, false);
    await begin();
  });
  await assert.rejects(removing.run(), /projection_changed/);
  await want(first, true);
  await run();
  assert.deepEqual(await allVersions(env, vaultId), whole);
});

test("a vault whose first snapshot waits is counted also where the whole account is searched", async () => {
  const id = await makeVault(env.service, await env.as({ role: "owner" }), "Yeni");
  await env.upload(`source=y&vault_id=${id}`);
  await jobsDone(env.service, "paths.project_vault");
  // As it is between the commit of the snapshot and the first step of its job.
  await inAccount(env, (tx) => beginClearing(tx, id));
  for (const table of ["grams", "versions", "paths"])
    await env.rows(
      `delete from emanet.projected_${table} using emanet.projections p where p.vault_id = $1 and projected_${table}.vault = p.vault`,
      [id],
    );
  await env.rows("delete from emanet.projections where vault_id = $1", [id]);
  const waiting = async (more: string) =>
    (await env.get(`/v1/search?query=dosya-${more}`)).json?.projection as { readonly waiting: number } | undefined;
  assert.deepEqual([(await waiting(""))?.waiting, (await waiting(`&vault_id=${id}`))?.waiting], [1, 1]);
  await (await projectorOf(env, id)).run();
  assert.equal((await waiting(""))?.waiting, 0);
});

test("snapshots that come and go while one is being put in, or taken out, end as they are wanted", async () => {
  const random = seededRandom(8);
  const rows = await accountRows(
    env,
    sql<Parameters<typeof wantSnapshot>[1]>`
    select snapshot_id, account_id, vault_id, source_id, created_at from projected_snapshots where vault_id = ${vaultId}`,
  );
  for (let round = 0; round < scaled(3, 60); round++) {
    let turns = 0;
    const flipping = await projectorOf(env, vaultId, {
      sizes,
      run: async (work) => {
        const row = rows[random.integer(rows.length)];
        if (row !== undefined && turns++ < 12)
          await inAccount(env, (tx) =>
            random.integer(2) === 0 ? unwantSnapshot(tx, row.snapshot_id) : wantSnapshot(tx, row).then(() => true),
          );
        return inAccount(env, work);
      },
    });
    await flipping.run();
    await inAccount(env, async (tx) => {
      for (const row of rows) await wantSnapshot(tx, row);
    });
    await (await projectorOf(env, vaultId, { sizes })).run();
    assert.deepEqual(await allVersions(env, vaultId), whole);
  }
});

test("what a job did not do is found again by the recurring task", async () => {
  await clear();
  await runTask(env, findVaultsToProject, {});
  assert.equal((await search(env, "dosya-", "&limit=100")).data.length, names);
});

test("a snapshot whose tree is damaged is left out, and the answer says that one is missing", async () => {
  const owner = await env.as({ role: "owner" });
  const id = await makeVault(env.service, owner, "Hasarlı");
  await env.upload(`source=h&vault_id=${id}`);
  assert.equal((await pathsOf(env, "a.txt", `&vault_id=${id}`)).length, 1);
  const folder = path.join(env.service.dataDir, "objects");
  const files = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((one) => one.isFile());
  const ofVault = files.filter(
    ({ parentPath }) => parentPath.includes(id.replaceAll("-", "")) && parentPath.includes("pack"),
  );
  assert.ok(ofVault.length > 0, files.map(({ parentPath, name }) => `${parentPath}/${name}`).join("\n"));
  for (const { parentPath, name } of ofVault) {
    const file = path.join(parentPath, name);
    const bytes = await readFile(file);
    await writeFile(file, bytes.fill(7, Math.floor(bytes.length / 4)));
  }
  await clear(id);
  const damaged: string[] = [];
  await (await projectorOf(env, id, { onDamage: (snapshot) => damaged.push(snapshot) })).run();
  assert.equal(damaged.length, 1);
  const page = (await env.get(`/v1/search?query=a.txt&vault_id=${id}`)).json;
  assert.deepEqual(page?.data, []);
  assert.deepEqual(page?.projection, { snapshot_id: null, created_at: null, waiting: 1 });
});

test("nothing is left of a path that no snapshot has", async () => {
  const ids = nights.map(({ id }) => id);
  await inAccount(env, async (tx) => {
    for (const id of ids) await unwantSnapshot(tx, id);
  });
  await (await projectorOf(env, vaultId, { sizes })).run();
  const [counts] = await accountRows(
    env,
    sql<{ versions: number; paths: number; grams: number; snapshots: number }>`
    select (select count(*) from projected_versions v where v.vault = p.vault) as versions,
      (select count(*) from projected_paths v where v.vault = p.vault) as paths,
      (select count(*) from projected_grams v where v.vault = p.vault) as grams,
      (select count(*) from projected_snapshots s where s.vault_id = p.vault_id) as snapshots
    from projections p where p.vault_id = ${vaultId}`,
  );
  assert.deepEqual(counts, { versions: 0, paths: 0, grams: 0, snapshots: 0 });
});

const statistics = {
  "the table as it is": "",
  "an empty table": "delete from emanet.projected_paths",
  "another vault's few paths": `delete from emanet.projected_paths;
    insert into emanet.projected_paths (source_id, vault, path, key, sealed)
    select gen_random_uuid(), 1000000, n, decode(md5('o' || n), 'hex'), '' from generate_series(1, 10) n`,
};

for (const [state, change] of Object.entries(statistics))
  test(`a path is looked up by its key when statistics are of ${state}`, async () => {
    const [place] = await accountRows(
      env,
      sql<{ vault: number; source: string }>`select p.vault, s.id as source from projections p
        join sources s on s.vault_id = p.vault_id where p.vault_id = ${vaultId} limit 1`,
    );
    assert.ok(place !== undefined);
    const { owner } = env.service.database;
    // As the server does by itself, at any time. The owner's own rows are hidden from it too.
    await owner.query("alter table emanet.projected_paths no force row level security");
    await owner.query(change);
    await owner.query("alter table emanet.projected_paths force row level security");
    await owner.query("vacuum analyze emanet.projected_paths");
    for (const mode of ["auto", "force_generic_plan"]) {
      const read: number = await inAccount(env, (tx): Promise<number> => rowsReadFor(tx, place, mode));
      assert.ok(read < 1_000, `${read} rows were read for 100 keys with ${mode}`);
    }
  });

/** Of 100 keys, half of which exist, in a vault of 20 000 paths. */
async function rowsReadFor(tx: Tx, place: { vault: number; source: string }, mode: string): Promise<number> {
  const run = (text: string) => sql<Record<string, string>>`${sql.raw(text)}`.execute(tx.db);
  const keyOf = (n: number) => hash("md5", String(n), "buffer");
  const existing = Array.from({ length: 50 }, (_, n) => n + 1);
  const wanted = [...existing, ...existing.map((n) => 1_000_000 + n)].map(keyOf);
  await planByKeys(tx);
  await run(`set local plan_cache_mode = ${mode}`);
  await run(`insert into projected_paths (source_id, vault, path, key, sealed)
    select '${place.source}', ${place.vault}, 1000000 + n, decode(md5(n::text), 'hex'), '' from generate_series(1, 20000) n`);
  const scanned =
    "select pg_stat_get_xact_tuples_returned('projected_paths_key'::regclass) + pg_stat_get_xact_tuples_returned('projected_paths_pkey'::regclass) + pg_stat_get_xact_tuples_returned('projected_paths'::regclass) as count";
  const before = Number((await run(scanned)).rows[0]?.count);
  const found = await pathNumbers(tx, Number(place.vault), wanted);
  assert.deepEqual([...found].sort(), existing.map((n) => [keyOf(n).toString("hex"), 1_000_000 + n] as const).sort());
  const after = Number((await run(scanned)).rows[0]?.count);
  await run("delete from projected_paths where path > 1000000");
  return after - before;
}
