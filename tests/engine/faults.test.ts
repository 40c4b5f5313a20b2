import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import { type Fault, FaultyStore, faultAt, StoreCrash } from "@emanet/storage/testing";
import { MemoryIndex } from "../../packages/engine/src/index/memory.ts";
import type { VaultIndex } from "../../packages/engine/src/index/port.ts";
import type { Lab } from "../../packages/engine/src/testing/lab.ts";
import {
  describeTree,
  labContext,
  labOf,
  masterKey,
  openLab,
  scratch,
  seededBytes,
  settleTimes,
  vaultId,
} from "../../packages/engine/src/testing/lab.ts";
import { collect } from "../../packages/engine/src/upkeep/collect.ts";
import { rebuild } from "../../packages/engine/src/upkeep/rebuild.ts";
import { relay } from "../../packages/engine/src/upkeep/relay.ts";
import { deleteSnapshot, setRetention } from "../../packages/engine/src/upkeep/snapshots.ts";
import { openVault } from "../../packages/engine/src/vault.ts";

/** Two nights' worth of a small source, and the steps of a second night that are put under faults. */
interface Scene {
  readonly folder: string;
  readonly from: string;
  readonly inner: MemoryStore;
  readonly index: VaultIndex;
  readonly lab: Lab;
  /** Trees that snapshots must restore to, by snapshot id. */
  readonly expected: Map<string, readonly string[]>;
  readonly nightTwo: readonly string[];
}

async function prepare(folder: string, name: string): Promise<Scene> {
  const from = path.join(folder, `${name}-from`);
  const inner = new MemoryStore();
  const index = new MemoryIndex(labContext(3));
  const lab = await openLab(inner, { index, seed: 3 });
  const bytes = seededBytes(11);
  mkdirSync(from);
  for (let i = 0; i < 6; i++) writeFileSync(path.join(from, `f${i}`), bytes(3000 + i));
  const expected = new Map<string, readonly string[]>();
  for (const night of [0, 1]) {
    writeFileSync(path.join(from, "nightly"), bytes(50_000 + night));
    settleTimes(from);
    const { snapshot } = await lab.backup(from);
    expected.set(snapshot.id, describeTree(from));
    lab.ctx.advance(1000);
  }
  writeFileSync(path.join(from, "nightly"), bytes(60_000));
  rmSync(path.join(from, "f1"));
  settleTimes(from);
  return { folder, from, inner, index, lab, expected, nightTwo: describeTree(from) };
}

/** The lab of a process that talks to the store through `store`. */
async function processOver(scene: Scene, store: FaultyStore | MemoryStore): Promise<Lab> {
  const vault = { ...scene.lab.vault, store };
  return labOf(scene.lab.ctx, vault, scene.lab.writer);
}

const settings = { packBytes: 20_000, unitBytes: 40_000 };

/** What a night does, in steps that can be repeated. */
function steps(scene: Scene, lab: Lab): (() => Promise<unknown>)[] {
  const [first, second] = [...scene.expected.keys()];
  return [
    () => lab.backup(scene.from, { settings }),
    () => setRetention(lab.vault, second ?? "", { expiresAt: null, lockedUntil: null, hold: true }),
    async () => {
      const there = (await scene.index.snapshots()).some(({ id }) => id === first);
      if (there) await deleteSnapshot(lab.vault, first ?? "");
    },
    () => collect(lab.vault),
    () => relay(lab.vault),
  ];
}

/** Every snapshot in the index restores to a tree that is known. */
async function assertSound(scene: Scene, lab: Lab, label: string): Promise<void> {
  const rows = await lab.vault.index.snapshots();
  const ids = rows.map(({ id }) => id);
  const [first, second] = [...scene.expected.keys()];
  assert.ok(ids.includes(second ?? ""), `${label}: the newest old snapshot is there`);
  for (const row of rows) {
    const to = path.join(scene.folder, "to");
    const result = await lab.restore(row, to);
    assert.deepEqual(result.failures, [], label);
    assert.deepEqual(describeTree(to), scene.expected.get(row.id) ?? scene.nightTwo, label);
    rmSync(to, { recursive: true });
  }
  assert.ok(rows.length <= 5 && (ids.includes(first ?? "") || rows.length >= 1), label);
}

/** How many store calls a night makes without faults. */
async function countCalls(folder: string): Promise<number> {
  const scene = await prepare(folder, "count");
  const store = new FaultyStore(scene.inner);
  for (const step of steps(scene, await processOver(scene, store))) await step();
  return store.calls.length;
}

describe("faults", () => {
  test("a crash before or after any store call leaves the old state or the new state, with the index kept or lost", async (t) => {
    const folder = scratch(t);
    const calls = await countCalls(folder);
    assert.ok(calls >= 12, `${calls} calls`);
    for (let call = 1; call <= calls; call++) {
      for (const when of ["before", "after"] as const) {
        const label = `crash ${when} call ${call}`;
        const scene = await prepare(folder, `${when}${call}`);
        const store = new FaultyStore(scene.inner, faultAt(call, { kind: "crash", when }));
        const lab = await processOver(scene, store);
        await assert.rejects(
          async () => {
            for (const step of steps(scene, lab)) await step();
          },
          StoreCrash,
          label,
        );
        await assertRecovers(scene, call % 2 === 0, label);
        rmSync(scene.from, { recursive: true });
      }
    }
  });

  for (const fault of [
    { kind: "fail", code: "unavailable" },
    { kind: "fail", code: "full" },
    { kind: "lose" },
  ] as const satisfies readonly Fault[]) {
    const name = fault.kind === "fail" ? fault.code : "answer lost after the work was done";
    test(`every store call failing once (${name}): the step fails or not, its repetition works, nothing is lost`, async (t) => {
      const folder = scratch(t);
      const calls = await countCalls(folder);
      for (let call = 1; call <= calls; call++) {
        const label = `${name} at call ${call}`;
        const scene = await prepare(folder, `c${call}`);
        const lab = await processOver(scene, new FaultyStore(scene.inner, faultAt(call, fault)));
        for (const step of steps(scene, lab)) await step().catch(() => step());
        await assertSound(scene, lab, label);
        rmSync(scene.from, { recursive: true });
      }
    });
  }
});

/** A new process after a crash: sound with the index as it is or rebuilt, able to back up, to collect and to restore. */
async function assertRecovers(scene: Scene, loseIndex: boolean, label: string): Promise<void> {
  const lab = await processOver(scene, scene.inner);
  if (loseIndex) {
    const index = new MemoryIndex(labContext(99));
    const vault = await openVault({ ctx: scene.lab.ctx, store: scene.inner, index }, masterKey, vaultId);
    const report = await rebuild(vault);
    assert.deepEqual(report.refused, [], label);
    assert.deepEqual(report.incomplete, [], label);
    return afterwards(scene, labOf(scene.lab.ctx, vault, scene.lab.writer), label);
  }
  return afterwards(scene, lab, label);
}

async function afterwards(scene: Scene, lab: Lab, label: string): Promise<void> {
  await assertSound(scene, lab, label);
  // The dead process's lease runs out before the next night.
  lab.ctx.advance(3 * 3_600_000);
  await lab.backup(scene.from, { settings });
  await collect(lab.vault);
  await relay(lab.vault);
  await assertSound(scene, lab, `${label}, next night`);
}
