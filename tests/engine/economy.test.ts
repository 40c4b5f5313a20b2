import assert from "node:assert/strict";
import { createCipheriv } from "node:crypto";
import { appendFileSync, mkdirSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import { FileCache } from "../../packages/engine/src/cache/file-cache.ts";
import type { SnapshotRow } from "../../packages/engine/src/catalog/catalog.ts";
import { openSqliteCatalog } from "../../packages/engine/src/catalog/sqlite/sqlite.ts";
import { Bitmap } from "../../packages/engine/src/format/bitmap.ts";
import { decodeBlockList } from "../../packages/engine/src/format/block-list.ts";
import { sessionOfFrame } from "../../packages/engine/src/format/frame.ts";
import { folderSource } from "../../packages/engine/src/source/folder-source.ts";
import type { SourceEvent } from "../../packages/engine/src/source/source.ts";
import { allFrameRows } from "../../packages/engine/src/testing/catalog-content.ts";
import { SeededRandom } from "../../packages/engine/src/testing/random-tree.ts";
import type { TestEnvironment } from "../../packages/engine/src/testing/test-environment.ts";
import {
  describeTree,
  openTestEnvironment,
  scratch,
  settleTimes,
  testContext,
} from "../../packages/engine/src/testing/test-environment.ts";
import { unionOfBitmaps } from "../../packages/engine/src/upkeep/live-set.ts";
import { rebuild } from "../../packages/engine/src/upkeep/rebuild.ts";
import { rewritePacks } from "../../packages/engine/src/upkeep/rewrite-packs.ts";
import { deleteSnapshot } from "../../packages/engine/src/upkeep/snapshot-changes.ts";
import { CutWorkerPool } from "../../packages/engine/src/workers/cut-worker-pool.ts";
import { recognisePages } from "../../packages/engine/src/workers/cutter/page-files.ts";
import { dump, pageBytes } from "./testing/dump.ts";

/** Block bytes that a snapshot's session stored. */
async function newBytes(env: TestEnvironment, snapshot: SnapshotRow): Promise<number> {
  let bytes = 0;
  for await (const row of allFrameRows(env.vault.catalog)) {
    if (row.kind !== "data" || sessionOfFrame(row.frame) !== snapshot.session) continue;
    bytes += decodeBlockList(row.blockList).lengths.reduce((sum, length) => sum + length, 0);
  }
  return bytes;
}

test("a renamed dump with 1.7 % of its pages changed uploads at most 2.5 % of it", async (t) => {
  const from = path.join(scratch(t), "from");
  mkdirSync(from);
  const random = new SeededRandom(1);
  const bytes = dump(random, 4000);
  writeFileSync(path.join(from, "LOGODB_20261114_0200.bak"), bytes);
  const env = await openTestEnvironment(new MemoryStore());
  await env.backup(from);
  for (let night = 1; night <= 3; night++) {
    for (let i = 0; i < 68; i++) random.bytes(300).copy(bytes, random.below(4000) * pageBytes + 200);
    renameSync(
      path.join(from, `LOGODB_2026111${3 + night}_0200.bak`),
      path.join(from, `LOGODB_2026111${4 + night}_0200.bak`),
    );
    writeFileSync(path.join(from, `LOGODB_2026111${4 + night}_0200.bak`), bytes);
    env.ctx.advance(1000);
    const { snapshot } = await env.backup(from);
    const share = (await newBytes(env, snapshot)) / bytes.length;
    assert.ok(share <= 0.025, `night ${night}: ${(share * 100).toFixed(2)} %`);
    assert.ok(snapshot.storedBytes < bytes.length * 0.01, `night ${night}: ${snapshot.storedBytes} stored`);
  }
});

test("after another client backed up the same dump, the next night of both is as small as before", async (t) => {
  const from = path.join(scratch(t), "from");
  mkdirSync(from);
  const random = new SeededRandom(11);
  const bytes = dump(random, 2000);
  writeFileSync(path.join(from, "monday.bak"), bytes);
  const env = await openTestEnvironment(new MemoryStore());
  await env.backup(from, { owner: "one" });
  env.ctx.advance(1000);
  const other = await env.backup(from, { owner: "two" });
  assert.ok(
    (await newBytes(env, other.snapshot)) > bytes.length * 0.9,
    "a client does not see what another one stored",
  );
  for (let i = 0; i < 34; i++) random.bytes(300).copy(bytes, random.below(2000) * pageBytes + 200);
  rmSync(path.join(from, "monday.bak"));
  writeFileSync(path.join(from, "tuesday.bak"), bytes);
  for (const owner of ["one", "two"]) {
    env.ctx.advance(1000);
    const { snapshot } = await env.backup(from, { owner });
    const share = (await newBytes(env, snapshot)) / bytes.length;
    assert.ok(share <= 0.025, `${owner}: ${(share * 100).toFixed(2)} %`);
  }
});

test("an incompressible file is stored in long blocks, and the blocks after an insertion are found again", async (t) => {
  const from = path.join(scratch(t), "from");
  mkdirSync(from);
  const scan = new SeededRandom(12).bytes(12_000_000);
  writeFileSync(path.join(from, "tarama.pdf"), scan);
  const env = await openTestEnvironment(new MemoryStore());
  await env.backup(from);
  let blocks = 0;
  for await (const { kind, blockList } of allFrameRows(env.vault.catalog))
    if (kind === "data") blocks += decodeBlockList(blockList).lengths.length;
  assert.ok(blocks < scan.length / 30_000, `${blocks} blocks`);
  const middle = scan.length >> 1;
  const signed = Buffer.concat([scan.subarray(0, middle), Buffer.from("imza"), scan.subarray(middle)]);
  writeFileSync(path.join(from, "tarama.pdf"), signed);
  env.ctx.advance(1000);
  const { snapshot } = await env.backup(from);
  const stored = await newBytes(env, snapshot);
  assert.ok(stored > 0 && stored < 300_000, `${stored} new bytes`);
});

test("a file that grows is cut like before, whatever its new middle contains", async (t) => {
  const from = path.join(scratch(t), "from");
  mkdirSync(from);
  const random = new SeededRandom(13);
  const page = Buffer.alloc(35_000, "fatura satırı ");
  const signed = Buffer.concat([random.bytes(165_000), page, random.bytes(120_000)]);
  writeFileSync(path.join(from, "imzalı.pdf"), signed);
  const env = await openTestEnvironment(new MemoryStore());
  await env.backup(from);
  writeFileSync(path.join(from, "imzalı.pdf"), Buffer.concat([signed, random.bytes(40_000)]));
  env.ctx.advance(1000);
  const { snapshot } = await env.backup(from);
  const stored = await newBytes(env, snapshot);
  assert.ok(stored >= 40_000 && stored < 110_000, `${stored} new bytes`);
});

test("the style sheet in the invoices of an issuer is stored once per issuer", async (t) => {
  const from = path.join(scratch(t), "from");
  mkdirSync(from);
  const issuers = 20;
  const sheets = Array.from({ length: issuers }, (_, i) => new SeededRandom(100 + i).bytes(88_000).toString("base64"));
  for (let i = 0; i < 200; i++) {
    const text = `<Invoice><ID>${i}</ID><Amount>${i * 37}</Amount><Sheet>${sheets[(i * 7) % issuers]}</Sheet></Invoice>`;
    writeFileSync(path.join(from, `fatura-${i}.xml`), text);
  }
  const env = await openTestEnvironment(new MemoryStore());
  const { snapshot } = await env.backup(from);
  const target = path.join(scratch(t), "to");
  await env.restore(snapshot, target);
  assert.deepEqual(describeTree(target), describeTree(from));
  const unique = issuers * 117_336;
  assert.ok((await newBytes(env, snapshot)) < unique * 1.8, `${await newBytes(env, snapshot)} of ${snapshot.size}`);
});

test("a backup after a folder was renamed stores no data, and one of an unchanged source stores nothing", async (t) => {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  mkdirSync(path.join(from, "eski"), { recursive: true });
  for (let i = 0; i < 60; i++) writeFileSync(path.join(from, "eski", `f${i}`), new SeededRandom(i + 1).bytes(20_000));
  settleTimes(from);
  const env = await openTestEnvironment(new MemoryStore());
  const cache = new FileCache(path.join(folder, "cache"));
  t.after(() => cache.close());
  await env.backup(from, { cache });
  env.ctx.advance(1000);
  const same = await env.backup(from, { cache });
  assert.deepEqual([same.unchanged, same.snapshot.storedBytes], [60, 0]);
  renameSync(path.join(from, "eski"), path.join(from, "yeni"));
  settleTimes(from);
  env.ctx.advance(1000);
  const moved = await env.backup(from, { cache });
  assert.equal(await newBytes(env, moved.snapshot), 0);
});

test("rewriting frames changes no recipe and no restored byte", async (t) => {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  mkdirSync(from);
  const env = await openTestEnvironment(new MemoryStore());
  const file = (i: number) => path.join(from, `f${i}`);
  for (let i = 0; i < 40; i++) writeFileSync(file(i), new SeededRandom(i + 1).bytes(30_000));
  settleTimes(from);
  const first = await env.backup(from);
  for (let i = 0; i < 40; i += 2) writeFileSync(file(i), new SeededRandom(i + 100).bytes(20_000));
  settleTimes(from);
  env.ctx.advance(1000);
  const second = await env.backup(from);
  await deleteSnapshot(env.vault, first.snapshot.id);
  const live = [...Bitmap.decode(second.snapshot.reach)];
  const recipes = async () =>
    (await env.vault.catalog.itemsByOrdinal(live)).map(
      (item) => `${item?.ordinal} ${Buffer.from(item?.recipe ?? []).toString("hex")}`,
    );
  const places = async () =>
    (await Array.fromAsync(allFrameRows(env.vault.catalog))).map(({ frame, generation }) => ({ frame, generation }));
  const before = await recipes();
  const { rewritten, refused } = await rewritePacks(env.vault, 0.1);
  assert.ok(rewritten.length > 0 && refused.length === 0, `${rewritten.length} rewritten, ${refused.length} refused`);
  assert.ok(
    (await places()).some(({ generation }) => generation > 0),
    "frames were rewritten and kept their numbers",
  );
  assert.deepEqual(await recipes(), before);
  const to = path.join(folder, "to");
  assert.deepEqual((await env.restore(second.snapshot, to)).failures, []);
  assert.deepEqual(describeTree(to), describeTree(from));
  // A catalog rebuilt from the store has the same recipes.
  assert.deepEqual((await rebuild(env.vault)).refused, []);
  assert.deepEqual(await recipes(), before);
});

test("many packs are rewritten with one marking, and a backup that commits meanwhile loses nothing", async (t) => {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  mkdirSync(from);
  const env = await openTestEnvironment(new MemoryStore());
  const settings = { packBytes: 100_000, unitBytes: 200_000 };
  for (let i = 0; i < 120; i++) writeFileSync(path.join(from, `f${i}`), new SeededRandom(i + 1).bytes(30_000));
  settleTimes(from);
  const first = await env.backup(from, { settings });
  for (let i = 0; i < 120; i += 2) rmSync(path.join(from, `f${i}`));
  settleTimes(from);
  env.ctx.advance(1000);
  const second = await env.backup(from, { settings });
  await deleteSnapshot(env.vault, first.snapshot.id);
  const other = path.join(folder, "other");
  mkdirSync(other);
  writeFileSync(path.join(other, "again"), new SeededRandom(111).bytes(30_000));
  settleTimes(other);
  const { catalog } = env.vault;
  let markings = 0;
  const concurrent: Awaited<ReturnType<typeof env.backup>>[] = [];
  const watched = new Proxy(catalog, {
    get(target, name: keyof typeof catalog) {
      if (name === "allReach") markings++;
      if (name !== "forgetPack") return typeof target[name] === "function" ? target[name].bind(target) : target[name];
      return async (pack: string) => {
        await target.forgetPack(pack);
        // This backup needs a block that the marking found dead: its pack is not rewritten, all others are.
        if (concurrent.length === 0) concurrent.push(await env.backup(other, { settings, sourceName: "other" }));
      };
    },
  });
  const { rewritten, refused } = await rewritePacks({ ...env.vault, catalog: watched }, 0.1);
  assert.ok(rewritten.length > 1, `${rewritten.length} packs were rewritten`);
  assert.equal(markings, 1);
  assert.ok(refused.length > 0, "the pack that the backup needs was not rewritten");
  for (const [i, { snapshot }] of [second, ...concurrent].entries()) {
    const to = path.join(folder, snapshot.id);
    assert.deepEqual((await env.restore(snapshot, to)).failures, []);
    assert.deepEqual(describeTree(to), describeTree([from, other][i] ?? ""));
  }
});

test("the catalog is at most 0.4 % of the raw bytes and 600 bytes per file", async (t) => {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  mkdirSync(from);
  // Random bytes: every block is new, so the catalog has all of them.
  const noise = createCipheriv("aes-128-ctr", Buffer.alloc(16, 41), Buffer.alloc(16)).update(Buffer.alloc(64_000_000));
  writeFileSync(path.join(from, "LOGODB.bak"), noise);
  for (let i = 0; i < 100; i++) writeFileSync(path.join(from, `f${i}`), noise.subarray(i * 1000, i * 1000 + 900));
  settleTimes(from);
  const file = path.join(folder, "catalog.sqlite");
  const catalog = openSqliteCatalog(file, testContext(1));
  const env = await openTestEnvironment(new MemoryStore(), { catalog });
  const { snapshot } = await env.backup(from);
  await catalog.close();
  const allowed = snapshot.size * 0.004 + snapshot.files * 600;
  assert.ok(statSync(file).size <= allowed, `${statSync(file).size} bytes, ${allowed} allowed`);
});

test("the bitmaps of 1000 snapshots of a million ordinals are combined by OR", async () => {
  const reach = Array.from({ length: 1000 }, (_, i) => {
    const bitmap = new Bitmap();
    for (let ordinal = i; ordinal < 2000 + i; ordinal++) bitmap.add(ordinal * 480);
    return bitmap.encode();
  });
  assert.equal((await unionOfBitmaps(reach)).size, 2999);
});

/** A source that calls `change` for each file after its stat and before it is read. */
const changingSource = (from: string, change: (file: string) => void) => ({
  async *walk(): AsyncGenerator<SourceEvent> {
    for await (const event of folderSource(from).walk()) {
      if (event.type === "file") change(Buffer.from(event.content.path).toString());
      yield event;
    }
  },
});

test("a large file that grows or shrinks while it is read is read again; one that vanishes causes a warning", async (t) => {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  mkdirSync(from);
  for (const name of ["grows", "shrinks", "vanishes", "stays"])
    writeFileSync(path.join(from, name), new SeededRandom(3).bytes(700_000));
  const env = await openTestEnvironment(new MemoryStore());
  const source = changingSource(from, (file) => {
    if (file.endsWith("grows")) appendFileSync(file, "more");
    if (file.endsWith("shrinks")) truncateSync(file, 300_000);
    if (file.endsWith("vanishes")) renameSync(file, path.join(folder, "gone"));
  });
  const { snapshot, warnings } = await env.backup(from, { source });
  assert.deepEqual(warnings.map(({ path: file, code }) => `${Buffer.from(file).toString()} ${code}`).sort(), [
    "vanishes ENOENT",
  ]);
  const to = path.join(folder, "to");
  assert.deepEqual((await env.restore(snapshot, to)).failures, []);
  const sizes = describeTree(to)
    .slice(1)
    .map((line) => line.split(" ")[3]);
  assert.deepEqual(sizes, ["700004", "300000", "700000"]);
});

test("a backup waits before it stores and says when it has ended, also if it fails; one that stores nothing does neither", async (t) => {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  mkdirSync(from);
  writeFileSync(path.join(from, "a"), "a");
  const env = await openTestEnvironment(new MemoryStore());
  const cache = new FileCache(path.join(folder, "cache"));
  t.after(() => cache.close());
  const told: string[] = [];
  const waitToStore = async () => {
    told.push("stores");
    return () => void told.push("has ended");
  };
  env.ctx.advance(60_000);
  await env.backup(from, { cache, waitToStore });
  assert.deepEqual(told.splice(0), ["stores", "has ended"]);
  env.ctx.advance(60_000);
  await env.backup(from, { cache, waitToStore });
  assert.deepEqual(told.splice(0), []);
  // A large file is stored while the walk goes on.
  writeFileSync(path.join(from, "large"), new SeededRandom(5).bytes(700_000));
  const walk = async function* () {
    for await (const event of folderSource(from).walk()) {
      if (event.type === "leave") throw new Error("the disk is gone");
      yield event;
    }
  };
  await assert.rejects(env.backup(from, { source: { walk }, waitToStore }), /the disk is gone/);
  assert.deepEqual(told, ["stores", "has ended"]);
});

const size = 1 << 20;
test("SQLite, Firebird, SQL Server pages after a preamble, and disk images are recognised as page files; text is not", () => {
  const sqlite = Buffer.alloc(65_536);
  sqlite.write("SQLite format 3\0", "latin1");
  sqlite.writeUInt16BE(4096, 16);
  assert.deepEqual(recognisePages(sqlite, size), { pageBytes: 4096, phase: 0 });
  const firebird = Buffer.alloc(65_536);
  firebird[0] = 1;
  firebird.writeUInt16LE(16384, 16);
  firebird.writeUInt16LE(0x800d, 18);
  assert.deepEqual(recognisePages(firebird, size), { pageBytes: 16384, phase: 0 });
  const server = Buffer.concat([Buffer.from("TAPE"), Buffer.alloc(1532), dump(new SeededRandom(2), 20)]);
  assert.deepEqual(recognisePages(server, size), { pageBytes: 8192, phase: 1536 });
  const image = Buffer.alloc(65_536);
  image.write("EFI PART", 512, "latin1");
  image[510] = 0x55;
  image[511] = 0xaa;
  assert.deepEqual(recognisePages(image, size), { pageBytes: 8192, phase: 0 });
  assert.equal(recognisePages(Buffer.alloc(65_536, "plain text "), size), null);
  assert.equal(recognisePages(sqlite, 1000), null);
});

test("a backup with two cutting threads makes the same tree as one without threads", async (t) => {
  const from = path.join(scratch(t), "from");
  mkdirSync(from);
  for (let i = 0; i < 40; i++) writeFileSync(path.join(from, `f${i}`), new SeededRandom(i + 1).bytes(i * 9000));
  settleTimes(from);
  const pool = new CutWorkerPool(2);
  t.after(() => pool.close());
  const hashes: string[] = [];
  for (const options of [{}, { pool }]) {
    const env = await openTestEnvironment(new MemoryStore(), { seed: 6 });
    const { snapshot, warnings } = await env.backup(from, options);
    assert.deepEqual(warnings, []);
    const to = path.join(path.dirname(from), `to${hashes.length}`);
    assert.deepEqual((await env.restore(snapshot, to)).failures, []);
    assert.deepEqual(describeTree(to), describeTree(from));
    hashes.push(String(snapshot.size));
  }
  assert.equal(hashes[0], hashes[1]);
});
