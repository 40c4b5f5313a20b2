/**
 * The environment of engine tests: a seeded context, a vault in memory or on disk, backups and restores in one call, and
 * comparison of trees.
 */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { lstatSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { BackupOptions, BackupResult } from "../backup/backup.ts";
import { runBackup } from "../backup/backup.ts";
import { LocalTarget } from "../backup/local-target.ts";
import type { Catalog, SnapshotRow } from "../catalog/catalog.ts";
import { openSqliteCatalog } from "../catalog/sqlite/sqlite.ts";
import type { EngineContext } from "../context.ts";
import { hex } from "../format/bytes.ts";
import { signerFromSeed } from "../format/signing.ts";
import { writerKeys } from "../format/vault-keys.ts";
import type { Writer } from "../format/writer-registration.ts";
import { writerFromSeed } from "../format/writer-registration.ts";
import type { ObjectStore } from "../object-store.ts";
import type { RestoreOptions, RestoreResult } from "../restore/folder/restore.ts";
import { restoreSnapshot } from "../restore/folder/restore.ts";
import { LocalReadPort, recheckDamagedFrames } from "../restore/local-read-port.ts";
import { folderSource } from "../source/folder-source.ts";
import type { Vault } from "../vault.ts";
import { createVault, registerWriter } from "../vault.ts";
import { CutWorkerPool } from "../workers/cut-worker-pool.ts";
import { RestoreWorkerPool } from "../workers/restore-worker-pool.ts";

/** A clock that only `advance` moves, and seeded random bytes. */
export interface TestContext extends EngineContext {
  advance(ms: number): void;
}

export const masterKey = Buffer.alloc(32, 7);
export const vaultId = Buffer.alloc(16, 3);

/** A context from a seed. Its time is later than that of any file, so the file cache takes every file. */
export function testContext(seed: number): TestContext {
  let now = 4_102_444_800_000;
  const next = seededBytes(seed);
  return { now: () => now, random: next, advance: (ms) => (now += ms) };
}

/** Seeded random bytes: SHA-256 over the seed and a counter. */
export function seededBytes(seed: number): (length: number) => Uint8Array {
  let counter = 0;
  return (length) => {
    const parts: Buffer[] = [];
    for (let have = 0; have < length; have += 32) {
      parts.push(createHash("sha256").update(`${seed} ${counter++}`).digest());
    }
    return Buffer.concat(parts).subarray(0, length);
  };
}

/** Pools without threads, shared by all tests of a file: starting threads would take longer than a test. */
export const inlinePool = new CutWorkerPool(0);
export const inlineRestorePool = new RestoreWorkerPool(0);

export interface TestEnvironment {
  readonly ctx: TestContext;
  readonly vault: Vault;
  readonly writer: Writer;
  backup(folder: string, more?: Partial<BackupOptions> & { sourceName?: string }): Promise<BackupResult>;
  restore(snapshot: SnapshotRow, target: string, more?: Partial<RestoreOptions>): Promise<RestoreResult>;
}

/** A vault over the given store and catalog. */
export async function openTestEnvironment(
  store: ObjectStore,
  options: { seed?: number; catalog?: Catalog } = {},
): Promise<TestEnvironment> {
  const ctx = testContext(options.seed ?? 1);
  const catalog = options.catalog ?? openSqliteCatalog(":memory:", ctx);
  const vault = await createVault({ ctx, store, catalog }, masterKey, vaultId);
  return testEnvironmentOf(ctx, vault, registeredWriter(vault, 9));
}

/** A writer with a seed of this byte, registered with the vault. */
export function registeredWriter(vault: Vault, seed: number): Writer {
  const { publicKey } = signerFromSeed(Buffer.alloc(32, seed));
  return writerFromSeed(Buffer.alloc(32, seed), registerWriter(vault, publicKey));
}

/** The environment of a vault that is open already. */
export function testEnvironmentOf(ctx: TestContext, vault: Vault, writer: Writer): TestEnvironment {
  return {
    ctx,
    vault,
    writer,
    backup: (folder, more = {}) => {
      const upload = Buffer.from(ctx.random(16)).toString("hex");
      const owner = more.owner ?? hex(writer.id);
      const recheck = () => recheckDamagedFrames(vault);
      const target = new LocalTarget({ access: vault, upload, owner, authority: vault.authority, recheck });
      return runBackup({
        ctx,
        keys: writerKeys(vault.keys),
        signer: writer,
        target,
        pool: inlinePool,
        source: folderSource(folder),
        sourceName: "env",
        owner,
        ...more,
      });
    },
    restore: (snapshot, target, more = {}) =>
      restoreSnapshot({ port: new LocalReadPort(vault), snapshot, target, pool: inlineRestorePool, ...more }),
  };
}

/** A folder that is removed when the test ends. */
export function scratch(t: { after(fn: () => void): void }): string {
  const folder = mkdtempSync(path.join(tmpdir(), "emanet-engine-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Asserts that two folders hold the same names, types, bytes, modes and times (to the microsecond). */
export function assertSameTree(expected: string, actual: string): void {
  assert.deepEqual(describeTree(actual), describeTree(expected));
}

/** Gives every directory below (and itself) a whole second as its time, so that trees compare exactly. */
export function settleTimes(folder: string): void {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true, encoding: "utf8" })) {
    if (entry.isDirectory()) utimesSync(path.join(entry.parentPath, entry.name), 1_600_000_000, 1_600_000_000);
    else if (entry.isFile() && !entry.name.includes("\ufffd"))
      utimesSync(path.join(entry.parentPath, entry.name), 1_500_000_000, 1_500_000_000);
  }
  utimesSync(folder, 1_600_000_000, 1_600_000_000);
}

/** A folder as lines: what is in it, exactly. */
export function describeTree(root: string): string[] {
  const folder = Buffer.from(root);
  const lines: string[] = [];
  const visit = (at: Buffer, inside: string) => {
    const stat = lstatSync(at, { bigint: true });
    const time = stat.mtimeNs / 1000n;
    const head = `${inside} ${(Number(stat.mode) & 0o7777).toString(8)}`;
    if (stat.isSymbolicLink()) lines.push(`${inside} -> ${readlinkSync(at, "buffer").toString("latin1")}`);
    else if (stat.isFile())
      lines.push(`${head} ${time} ${stat.size} ${createHash("sha256").update(readFileSync(at)).digest("hex")}`);
    else {
      lines.push(`${head} ${time} directory`);
      const names = readdirSync(at, { encoding: "buffer" }).sort(Buffer.compare);
      for (const name of names)
        visit(Buffer.concat([at, Buffer.from("/"), name]), `${inside}/${name.toString("latin1")}`);
    }
  };
  visit(folder, "");
  return lines;
}
