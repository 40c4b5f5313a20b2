/**
 * Packs go missing and come back between and during all operations of a vault, in random orders. Frames are marked, healed,
 * moved, pruned and rebuilt meanwhile. When all packs are back, every snapshot restores completely.
 */

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import type { GetOptions } from "@emanet/engine/object-store";
import { MemoryStore } from "@emanet/storage";
import type { SnapshotRow } from "../../packages/engine/src/catalog/catalog.ts";
import { IncompleteCatalogError } from "../../packages/engine/src/catalog/claim-session.ts";
import { FormatError } from "../../packages/engine/src/format/bytes.ts";
import { DamageError } from "../../packages/engine/src/restore/frame-reader.ts";
import { recheckDamagedFrames } from "../../packages/engine/src/restore/local-read-port.ts";
import { listSnapshots } from "../../packages/engine/src/testing/catalog-content.ts";
import { SeededRandom } from "../../packages/engine/src/testing/random-tree.ts";
import { scaled } from "../../packages/engine/src/testing/scale.ts";
import type { TestEnvironment } from "../../packages/engine/src/testing/test-environment.ts";
import {
  describeTree,
  inlineRestorePool,
  openTestEnvironment,
  settleTimes,
} from "../../packages/engine/src/testing/test-environment.ts";
import { heal } from "../../packages/engine/src/upkeep/heal.ts";
import { prune } from "../../packages/engine/src/upkeep/prune.ts";
import { rebuild } from "../../packages/engine/src/upkeep/rebuild.ts";
import { repack } from "../../packages/engine/src/upkeep/repack.ts";
import { scrub } from "../../packages/engine/src/upkeep/scrub.ts";
import { deleteSnapshot } from "../../packages/engine/src/upkeep/snapshot-changes.ts";
import { verifySnapshots } from "../../packages/engine/src/upkeep/verify.ts";
import { identityOf } from "../../packages/engine/src/vault.ts";

const seeds = scaled(12, 1000);
const stepsPerSeed = 30;
const settings = { packBytes: 30_000, unitBytes: 60_000 };

/** Runs `before` before each read. */
class InterruptedStore extends MemoryStore {
  before: () => void = () => {};

  override async get(name: string, options?: GetOptions): Promise<Uint8Array> {
    this.before();
    return super.get(name, options);
  }
}

/** One sequence of random operations on a vault. */
class RandomOperations {
  readonly #random: SeededRandom;
  readonly #store = new InterruptedStore();
  readonly #missing = new Map<string, Uint8Array>();
  readonly #folder = mkdtempSync(path.join(tmpdir(), "emanet-vanishing-"));
  readonly #from = path.join(this.#folder, "from");
  readonly #lines = new Map<string, string[]>();
  readonly log: string[] = [];
  #restores = 0;

  constructor(seed: number) {
    this.#random = new SeededRandom(seed);
  }

  async run(): Promise<void> {
    try {
      const env = await openTestEnvironment(this.#store);
      mkdirSync(this.#from);
      for (let i = 0; i < 40; i++) this.#write();
      await this.#backup(env);
      this.#store.before = () => {
        if (this.#random.chance(2)) this.#remove(env, 10);
        if (this.#random.chance(4)) this.#putBack(30);
      };
      for (let i = 0; i < stepsPerSeed; i++) await this.#step(env);
      this.#store.before = () => {};
      this.#putBack(100);
      this.log.push("the end");
      // A catalog that was rebuilt while packs were missing does not have their content.
      if (!this.log.includes("rebuild"))
        for (const row of await listSnapshots(env.vault.catalog)) await this.#assertWhole(env, row);
      await rebuild(env.vault);
      for (const row of await listSnapshots(env.vault.catalog)) await this.#assertWhole(env, row);
    } finally {
      rmSync(this.#folder, { recursive: true, force: true });
    }
  }

  async #step(env: TestEnvironment): Promise<void> {
    const actions: Record<string, () => Promise<unknown>> = {
      remove: async () => this.#remove(env, 30),
      putBack: async () => this.#putBack(50),
      change: async () => this.#change(),
      backup: () => this.#backup(env),
      scrub: () => this.#scrub(env),
      verify: () => this.#verify(env),
      heal: () => heal(env.vault),
      repack: () => repack(env.vault),
      prune: () => prune(env.vault),
      delete: () => this.#delete(env),
      restore: () => this.#restore(env),
      rebuild: () => rebuild(env.vault),
    };
    const name = this.#random.pick(Object.keys(actions));
    this.log.push(name);
    env.ctx.advance(1000);
    try {
      await actions[name]?.();
    } catch (error) {
      // A missing pack may cause an error. The next operation must try again.
      const isExpected = error instanceof DamageError || error instanceof IncompleteCatalogError;
      // A pack of the backup itself can go missing before it is registered. The backup fails then.
      const isUnfinished = error instanceof FormatError && /^pack \w+ is not stored$/.test(error.message);
      if (!isExpected && !isUnfinished) throw error;
      this.log.push(`(${error.message})`);
    }
  }

  #write(): void {
    const name = `f${this.#random.below(60)}`;
    writeFileSync(path.join(this.#from, name), this.#random.bytes(500 + this.#random.below(6000)));
  }

  #change(): void {
    for (const name of readdirSync(this.#from)) if (this.#random.chance(30)) rmSync(path.join(this.#from, name));
    for (let i = this.#random.below(12); i > 0; i--) this.#write();
  }

  async #backup(env: TestEnvironment): Promise<void> {
    settleTimes(this.#from);
    const { snapshot } = await env.backup(this.#from, { settings });
    this.#lines.set(snapshot.id, describeTree(this.#from));
    if (this.#random.chance(60)) await heal(env.vault);
  }

  /** Removes some packs from the store. */
  #remove(env: TestEnvironment, percent: number): void {
    for (const [name, bytes] of this.#store.objects) {
      if (!name.startsWith(env.vault.names.packs) || !this.#random.chance(percent)) continue;
      this.#missing.set(name, bytes);
      this.#store.objects.delete(name);
    }
  }

  /** Puts some packs back, also packs that upkeep has deleted meanwhile. */
  #putBack(percent: number): void {
    for (const [name, bytes] of this.#missing) {
      if (!this.#random.chance(percent)) continue;
      this.#store.objects.set(name, bytes);
      this.#missing.delete(name);
    }
  }

  async #scrub(env: TestEnvironment): Promise<void> {
    const { findings, intactFrames } = await scrub({ ...env.vault, identity: identityOf(env.vault) });
    await env.vault.catalog.setDamaged(
      findings.flatMap(({ frames }) => frames),
      true,
    );
    await recheckDamagedFrames(env.vault, intactFrames);
  }

  async #verify(env: TestEnvironment): Promise<void> {
    const snapshots = await listSnapshots(env.vault.catalog);
    const report = await verifySnapshots({ pool: inlineRestorePool, vault: env.vault, snapshots, readData: true });
    await env.vault.catalog.setDamaged(report.damagedFrames, true);
  }

  async #delete(env: TestEnvironment): Promise<void> {
    const rows = await listSnapshots(env.vault.catalog);
    if (rows.length > 1) await deleteSnapshot(env.vault, this.#random.pick(rows).id);
  }

  async #restore(env: TestEnvironment): Promise<void> {
    const row = this.#random.pick(await listSnapshots(env.vault.catalog));
    const { damagedFrames } = await env.restore(row, path.join(this.#folder, `to ${this.#restores++}`));
    await env.vault.catalog.setDamaged(damagedFrames, true);
  }

  async #assertWhole(env: TestEnvironment, row: SnapshotRow): Promise<void> {
    const to = path.join(this.#folder, `to ${this.#restores++}`);
    const { failures } = await env.restore(row, to);
    assert.deepEqual(
      failures.map((failure) => `${Buffer.from(failure.path).toString()}: ${failure.reason}`),
      [],
    );
    assert.deepEqual(describeTree(to), this.#lines.get(row.id));
  }
}

test(`${seeds} random sequences in which packs go missing and come back: nothing in a pack that came back is lost`, async () => {
  for (let seed = 1; seed <= seeds; seed++) {
    const sequence = new RandomOperations(seed);
    await sequence.run().catch((cause: unknown) => {
      throw new Error(`seed ${seed}: ${sequence.log.join(", ")}`, { cause });
    });
  }
});
