/** The client of the conformance suite of the upload port: small backups through wrapped targets, and clients that lie. */

import assert from "node:assert/strict";
import { createCipheriv } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { BackupOptions, BackupResult } from "../backup/backup.ts";
import type { ClientUnit, SegmentQuery, UploadTarget } from "../backup/upload-target.ts";
import type { SnapshotRow, UploadScope } from "../catalog/catalog.ts";
import { Bitmap } from "../format/bitmap.ts";
import { ByteWriter, sameBytes, varintLength } from "../format/bytes.ts";
import { decodeRecipe } from "../format/recipe.ts";
import type { Signer } from "../format/signing.ts";
import { signatureLength } from "../format/signing.ts";
import { prune } from "../upkeep/prune.ts";
import { verifySnapshots } from "../upkeep/verify.ts";
import { allFrameRows, listSnapshots } from "./catalog-content.ts";
import type { AroundCall } from "./target-doubles.ts";
import { inTurn, intercept } from "./target-doubles.ts";
import type { TestEnvironment } from "./test-environment.ts";
import { describeTree, inlineRestorePool, scratch, settleTimes } from "./test-environment.ts";

/** Names an upload and its client. */
export interface TargetOptions {
  readonly upload: string;
  readonly owner: string;
  readonly scope?: UploadScope | undefined;
}

export interface TargetUnderTest {
  readonly env: TestEnvironment;
  /** A new target object each time, like one of several processes. */
  target(options: TargetOptions): UploadTarget;
  /** What a backup of this client needs beside the target: its key, its source, the id of its snapshot. */
  backup?(options: TargetOptions): Promise<Partial<BackupOptions>>;
}

export type TestScope = { after(fn: () => void): void };

/** Small packs and units, so that a small tree takes several of each. */
export const settings = { packBytes: 150_000, unitBytes: 300_000 };

export interface Done {
  readonly under: TargetUnderTest;
  readonly folder: string;
  readonly options: TargetOptions;
  readonly result: BackupResult;
}

export interface BackUpOptions {
  readonly owner?: string;
  readonly scope?: UploadScope;
  /** Of the files' content. */
  readonly seed?: number;
  readonly base?: string;
  /** A snapshot whose content the new one claims to reach. */
  readonly reach?: SnapshotRow;
}

/** Backs up a small tree through what `wrap` makes of two targets for the same upload. */
export async function backUp(
  t: TestScope,
  under: TargetUnderTest,
  wrap: (targets: readonly UploadTarget[]) => UploadTarget,
  upload = "u",
  more: BackUpOptions = {},
): Promise<Done> {
  const { env } = under;
  const folder = path.join(scratch(t), "from");
  writeTree(folder, more.seed ?? 1);
  const options = { upload, owner: more.owner ?? "a", scope: more.scope };
  const wrapped = wrap([under.target(options), under.target(options)]);
  const { base, reach } = more;
  const target =
    base === undefined ? wrapped : { ...intercept(() => wrapped, passOn), begin: () => wrapped.begin(base) };
  const own = await under.backup?.(options);
  const reached = reach === undefined ? target : claimReach(own?.signer ?? env.writer, target, reach);
  const result = await env.backup(folder, { target: reached, settings, owner: options.owner, ...own });
  return { under, folder, options, result };
}

export const passOn: AroundCall = (_name, call) => call();

/** Signs a manifest that reaches everything of another snapshot. A client has the keys to do so. */
export function claimReach(writer: Signer, target: UploadTarget, { reach }: SnapshotRow): UploadTarget {
  return {
    ...intercept(() => target, passOn),
    complete: async ({ manifest, row }) => {
      const all = Bitmap.decode(row.reach);
      all.or(Bitmap.decode(reach));
      return target.complete({ row, manifest: withReach(writer, manifest, row, all.encode()) });
    },
  };
}

export function withReach(writer: Signer, manifest: Uint8Array, row: SnapshotRow, reach: Uint8Array): Uint8Array {
  const at = Buffer.from(manifest).indexOf(row.reach);
  const before = manifest.subarray(0, at - varintLength(row.reach.length));
  const after = manifest.subarray(at + row.reach.length, manifest.length - signatureLength);
  const body = new ByteWriter(manifest.length + reach.length).raw(before).bytes(reach).raw(after);
  return body.raw(writer.sign("manifest", body.view())).take();
}

/** Files of every kind of job: bundles, a large file, and the same content twice. */
export function writeTree(folder: string, seed: number): void {
  const cipher = createCipheriv("aes-128-ctr", Buffer.alloc(16, seed), Buffer.alloc(16));
  const large = cipher.update(Buffer.alloc(500_000));
  for (const name of ["a", "b"]) {
    mkdirSync(path.join(folder, name), { recursive: true });
    for (let i = 0; i < 8; i++) writeFileSync(path.join(folder, name, `f${i}`), cipher.update(Buffer.alloc(3000 + i)));
  }
  writeFileSync(path.join(folder, "large"), large);
  writeFileSync(path.join(folder, "large again"), large);
  settleTimes(folder);
}

/** What is in the catalog and the store, without what is drawn at random. */
export async function stored({ under: { env } }: Done): Promise<Record<string, number>> {
  const { catalog, store, names } = env.vault;
  let packs = 0;
  for await (const _entry of store.list(names.packs)) packs++;
  const counts = { packs, rows: (await Array.fromAsync(catalog.allPacks())).length, segments: 0, nodes: 0 };
  for await (const { kind } of catalog.allItems()) counts[kind === "node" ? "nodes" : "segments"]++;
  const { next, running, open } = await catalog.sessions();
  const snapshots = (await listSnapshots(catalog)).length;
  return { ...counts, next, running: running.length, open: open.length, snapshots, chain: await chainRecords(env) };
}

/** The same is stored in two vaults. With other keys files are cut at other places, so segments and packs differ. */
export async function assertSameStored(a: Done, b: Done): Promise<void> {
  const [one, other] = [await stored(a), await stored(b)];
  const keysOf = ({ under }: Done) => under.env.vault.keys.blockIdKey;
  const cut = sameBytes(keysOf(a), keysOf(b)) ? {} : { segments: 0, packs: 0, rows: 0 };
  assert.deepEqual({ ...one, ...cut }, { ...other, ...cut });
  for (const { packs, rows } of [one, other]) assert.equal(packs, rows);
}

export async function chainRecords({ vault }: TestEnvironment): Promise<number> {
  let records = 0;
  for await (const _entry of vault.store.list(vault.names.chain)) records++;
  return records;
}

/** Frames of data in the catalog. */
export async function framesOf({ vault }: TestEnvironment): Promise<number[]> {
  const frames: number[] = [];
  for await (const { frame, kind } of allFrameRows(vault.catalog)) if (kind === "data") frames.push(frame);
  return frames;
}

export async function assertRestores(t: TestScope, { under: { env }, folder, result }: Done): Promise<void> {
  const to = path.join(scratch(t), "to");
  assert.deepEqual((await env.restore(result.snapshot, to)).failures, []);
  assert.deepEqual(describeTree(to), describeTree(folder));
}

/** All snapshots can be read, and prune deletes nothing that they need. */
export async function assertSound({ vault }: TestEnvironment): Promise<void> {
  await prune(vault);
  const snapshots = await listSnapshots(vault.catalog);
  const report = await verifySnapshots({ pool: inlineRestorePool, vault, snapshots, readData: true });
  assert.deepEqual(report.findings, []);
}

export function keepPacks(target: UploadTarget, packs: Map<string, Buffer>): UploadTarget {
  return {
    ...intercept(() => target, passOn),
    putPack: async (name, body) => {
      const all: Buffer[] = [];
      for await (const piece of body) all.push(Buffer.from(piece));
      packs.set(name, Buffer.concat(all));
      await target.putPack(name, pieces(Buffer.concat(all)));
    },
  };
}

export function keepQuestions(target: UploadTarget, queries: SegmentQuery[], nodes: Uint8Array[]): UploadTarget {
  return {
    ...intercept(() => target, passOn),
    offer: (asked) => {
      queries.push(...asked.map((query) => ({ ...query, continues: false, precedingHooks: [] })));
      return target.offer(asked);
    },
    offerNodes: (ids) => {
      nodes.push(...ids);
      return target.offerNodes(ids);
    },
  };
}

export function changeUnits(targets: readonly UploadTarget[], change: (unit: ClientUnit) => ClientUnit): UploadTarget {
  const next = inTurn(targets);
  return { ...intercept(next, passOn), register: (unit) => next().register(change(unit)) };
}

export const keepUnits = (units: ClientUnit[]) => (unit: ClientUnit) => {
  units.push(unit);
  return unit;
};

export async function* pieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 50_000) yield bytes.subarray(at, at + 50_000);
}

export type ClientItem = ClientUnit["items"][number];

export const shifted = (by: number) => (item: ClientItem) => ({ ...item, ordinal: item.ordinal + by });
export const withRecord = (recordFrame: number) => (item: ClientItem) => ({ ...item, recordFrame });
export const withRecipe = (recipe: Uint8Array) => (item: ClientItem) =>
  decodeRecipe(item.recipe).length > 0 ? { ...item, recipe } : item;

/** The calls that need a running upload. */
export function laterCalls(target: UploadTarget): (() => Promise<unknown>)[] {
  const query = {
    id: Buffer.alloc(32),
    blockIds: Buffer.alloc(16),
    hooks: [],
    oldSegments: [],
    continues: false,
    precedingHooks: [],
  };
  const unit = { number: 1, packs: ["00".repeat(16)], blockLists: [], items: [], hooks: [], follows: [] };
  return [
    () => target.reserveOrdinals(1, 1),
    () => target.offer([query]),
    () => target.offerNodes([Buffer.alloc(32)]),
    () => target.putPack("00".repeat(16), pieces(Buffer.alloc(10))),
    () => target.register(unit),
    () => target.renew(),
  ];
}
