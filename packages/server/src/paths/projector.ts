/**
 * Makes the projection of one vault, step by step. Each step is one transaction under the lock of the projection, and moves the snapshot
 * that it works on from the state that it found to the next. A process that was killed leaves whole steps; a second process at the
 * same vault finds another state than it expected, and stops.
 */

import {
  DamageError,
  diffTrees,
  FormatError,
  type FrameReader,
  frameReaderOf,
  type Reference,
  rootEntry,
  type TreeChange,
  type TreeEntry,
  type Vault,
} from "@emanet/engine";
import type { Random } from "../kernel/clock.ts";
import { TransientJobError } from "../kernel/jobs/index.ts";
import type { Secrets } from "../kernel/secrets.ts";
import type { ReadTx, Tx } from "../kernel/tx.ts";
import { gramsOf } from "./grams.ts";
import { PathKeys } from "./path-keys.ts";
import { type Facts, type Place, placeVersion, type Version } from "./rules.ts";
import { newSealedKey, openKey } from "./sealed-key.ts";
import {
  endClearing,
  forgetSnapshot,
  insertProjection,
  lockProjection,
  moveSnapshot,
  neighboursOf,
  nextSnapshot,
  type ProjectedSnapshot,
  type ProjectionRow,
  setNextPath,
} from "./store.ts";
import {
  beginEarlier,
  clearRows,
  cutVersions,
  insertPaths,
  insertVersions,
  type NewPath,
  type PathVersion,
  pathNumbers,
  planByKeys,
  removeFromVersions,
  versionsUntil,
} from "./version-store.ts";

/**
 * What one transaction does: so many differences are applied in a tenth of a second, and a snapshot is taken out of so many rows, or so
 * many rows are deleted.
 */
const defaultSizes = { changes: 2_000, rows: 5_000 };

const permissionBits = 0o7777;

export interface ProjectorSources {
  readonly accountId: string;
  readonly vaultId: string;
  readonly vault: Vault;
  readonly secrets: Secrets;
  readonly random: Random;
  readonly signal: AbortSignal;
  readonly run: <T>(work: (tx: Tx) => Promise<T>) => Promise<T>;
  readonly read: <T>(work: (tx: ReadTx) => Promise<T>) => Promise<T>;
  /** Called after each step. */
  readonly onStep: (counts: { readonly snapshots: number; readonly changes: number }) => void;
  readonly onDamage: (snapshotId: string) => void;
  readonly sizes?: { readonly changes: number; readonly rows: number };
}

export class Projector {
  readonly #sources: ProjectorSources;
  readonly #reader: FrameReader;
  readonly #sizes: { readonly changes: number; readonly rows: number };
  /** Those of the key that the projection had in the last step. */
  #keys: { readonly sealed: Buffer; readonly keys: PathKeys } | null = null;
  #snapshots = 0;
  #changes = 0;

  constructor(sources: ProjectorSources) {
    this.#sources = sources;
    this.#reader = frameReaderOf(sources.vault);
    this.#sizes = sources.sizes ?? defaultSizes;
  }

  /** Works until the projection has what it is to have. */
  async run(): Promise<void> {
    for (;;) {
      const next = await this.#step((tx, projection) => this.#begin(tx, projection));
      if (next === null) return;
      if (next === "again") continue;
      if (next.state === "applying") await this.#apply(next);
      else await this.#remove(next);
    }
  }

  /** One transaction under the lock of the projection. */
  async #step<T>(work: (tx: Tx, projection: ProjectionRow) => Promise<T>): Promise<T> {
    const { signal, run, vaultId, accountId, secrets, random, onStep } = this.#sources;
    signal.throwIfAborted();
    const result = await run(async (tx) => {
      const [, known] = await Promise.all([planByKeys(tx), lockProjection(tx, vaultId)]);
      if (known !== undefined) return work(tx, known);
      const sealed = newSealedKey(secrets, random, vaultId);
      await insertProjection(tx, { account_id: accountId, vault_id: vaultId, sealed_key: sealed });
      const made = await lockProjection(tx, vaultId);
      if (made === undefined) throw new Error("a projection that was just made is gone");
      return work(tx, made);
    });
    onStep({ snapshots: this.#snapshots, changes: this.#changes });
    return result;
  }

  /** Chooses the next snapshot and begins with it. `again`: there may be more to do; null: nothing is left. */
  async #begin(tx: Tx, projection: ProjectionRow): Promise<ProjectedSnapshot | "again" | null> {
    const { vaultId, secrets, random } = this.#sources;
    if (projection.is_clearing) {
      if (await clearRows(tx, projection.vault, this.#sizes.rows))
        await endClearing(tx, vaultId, newSealedKey(secrets, random, vaultId));
      return "again";
    }
    const next = await nextSnapshot(tx, vaultId);
    if (next === undefined) return null;
    const isBegun = next.state === "removing" || (next.state === "applying" && next.wanted);
    if (isBegun) return next;
    if (next.wanted) return moved(tx, next, { state: "applying", done: 0 });
    if (next.state === "contained" || next.state === "applying") return moved(tx, next, { state: "removing" });
    await forgetSnapshot(tx, next.snapshot_id);
    return "again";
  }

  /** Puts a snapshot in: the differences to the one before it. */
  async #apply(snapshot: ProjectedSnapshot): Promise<void> {
    const { read, onDamage } = this.#sources;
    const neighbours = await read((tx) => neighboursOf(tx, snapshot));
    const { previous, next } = neighbours;
    const place: Place = { snapshot: snapshot.snapshot_id, next };
    let at = snapshot;
    try {
      const before = previous === null ? null : await this.#rootOf(previous);
      const after = await this.#rootOf(place.snapshot);
      const changed = diffTrees(this.#reader, before, after);
      for await (const changes of batched(changed, { after: snapshot.done, size: this.#sizes.changes }))
        at = await this.#step(async (tx, projection) => {
          await requireNeighbours(tx, at, neighbours);
          return this.#applyChanges(tx, projection, { at, previous, place, changes });
        });
    } catch (error) {
      if (!(error instanceof DamageError) && !(error instanceof FormatError)) throw error;
      onDamage(place.snapshot);
      // What was applied of it is taken out again.
      await this.#step((tx) => moved(tx, at, { state: "removing", failed_at: tx.now }));
      return;
    }
    await this.#step(async (tx) => {
      await requireNeighbours(tx, at, neighbours);
      return moved(tx, at, { state: "contained", failed_at: null });
    });
    this.#snapshots++;
  }

  async #rootOf(snapshotId: string): Promise<Reference> {
    // The engine's ids have no dashes.
    const row = await this.#sources.vault.catalog.snapshot(snapshotId.replaceAll("-", ""));
    if (row === null) throw new DamageError(0, "the catalog does not have the snapshot");
    return (await rootEntry(this.#reader, row)).root;
  }

  async #applyChanges(
    tx: Tx,
    projection: ProjectionRow,
    step: {
      readonly at: ProjectedSnapshot;
      readonly previous: string | null;
      readonly place: Place;
      readonly changes: readonly TreeChange[];
    },
  ): Promise<ProjectedSnapshot> {
    const { at, previous, place, changes } = step;
    const now = await moved(tx, at, { done: at.done + changes.length });
    const { vault } = projection;
    const keys = this.#keysOf(projection);
    const entries = lastOfEachPath(keys, at.source_id, changes);
    const known = await pathNumbers(
      tx,
      vault,
      entries.map(({ key }) => key),
    );
    const news = newPaths(keys, projection.next_path, entries, known);
    await insertPaths(tx, vault, at.source_id, news);
    if (news.length > 0) await setNextPath(tx, vault, projection.next_path + news.length);
    const versions = await versionsUntil(tx, vault, [...known.values()], place.next ?? place.snapshot);
    await writeVersions(tx, vault, place, [
      ...news.map(({ path, facts }) => ({ path, facts, before: null, after: null })),
      ...entries.flatMap(({ key, facts }) => {
        const path = known.get(key.toString("hex"));
        return path === undefined
          ? []
          : [{ path, facts, ...neighbourVersions(versions.get(path) ?? [], previous, place) }];
      }),
    ]);
    this.#changes += changes.length;
    return now;
  }

  /** Takes a snapshot out of all versions. */
  async #remove(snapshot: ProjectedSnapshot): Promise<void> {
    const neighbours = await this.#sources.read((tx) => neighboursOf(tx, snapshot));
    const place: Place = { snapshot: snapshot.snapshot_id, next: neighbours.next };
    for (let isDone = false; !isDone; )
      isDone = await this.#step(async (tx, { vault }) => {
        await requireNeighbours(tx, snapshot, neighbours);
        await moved(tx, snapshot, { state: "removing" });
        if (!(await removeFromVersions(tx, vault, place, this.#sizes.rows))) return false;
        await moved(tx, snapshot, { state: snapshot.failed_at === null ? "waiting" : "skipped", done: 0 });
        await forgetSnapshot(tx, snapshot.snapshot_id);
        return true;
      });
  }

  #keysOf({ sealed_key: sealed, vault_id: vaultId }: ProjectionRow): PathKeys {
    if (this.#keys?.sealed.equals(sealed) !== true)
      this.#keys = {
        sealed,
        keys: new PathKeys(openKey(this.#sources.secrets, { sealed_key: sealed, vault_id: vaultId })),
      };
    return this.#keys.keys;
  }
}

/**
 * Stops if the snapshot is between others than the caller found. A process that was stopped for long can find the state that it left:
 * another has taken the snapshot out and begun to put it in again, beside snapshots that have come or gone meanwhile.
 */
async function requireNeighbours(
  tx: Tx,
  snapshot: ProjectedSnapshot,
  known: { readonly previous: string | null; readonly next: string | null },
): Promise<void> {
  const { previous, next } = await neighboursOf(tx, snapshot);
  if (previous !== known.previous || next !== known.next) throw new TransientJobError("projection_changed");
}

/** Moves a snapshot on, or stops: another process works at the same projection. */
async function moved(
  tx: Tx,
  at: ProjectedSnapshot,
  to: Parameters<typeof moveSnapshot>[2],
): Promise<ProjectedSnapshot> {
  if (!(await moveSnapshot(tx, at, to))) throw new TransientJobError("projection_changed");
  return { ...at, ...to };
}

/** The differences in lists, without the first ones, which an earlier run has applied. */
async function* batched(
  changes: AsyncIterable<TreeChange>,
  { after, size }: { readonly after: number; readonly size: number },
): AsyncGenerator<readonly TreeChange[]> {
  let batch: TreeChange[] = [];
  let count = 0;
  for await (const change of changes) {
    if (count++ < after) continue;
    batch.push(change);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

interface ChangedEntry {
  readonly key: Buffer;
  readonly path: Uint8Array;
  /** Null: nothing is there any more. */
  readonly facts: Facts | null;
}

/** Where a file took the place of a folder, its path comes twice, and the second counts. */
function lastOfEachPath(keys: PathKeys, sourceId: string, changes: readonly TreeChange[]): ChangedEntry[] {
  const entries = new Map<string, ChangedEntry>();
  for (const change of changes) {
    const key = keys.pathKey(sourceId, change.path);
    const facts = change.kind === "removed" ? null : factsOf(keys, change.after);
    entries.set(key.toString("hex"), { key, path: change.path, facts });
  }
  return [...entries.values()];
}

function factsOf(keys: PathKeys, entry: TreeEntry): Facts {
  const stat = {
    ...{ mtimeSeconds: entry.mtimeSeconds, mtimeNanos: entry.mtimeNanos, mode: entry.mode & permissionBits },
  };
  if (entry.type === "file") return { type: "f", size: entry.size, hash: Buffer.from(entry.hash), ...stat };
  if (entry.type === "link") return { type: "l", size: null, hash: keys.targetHash(entry.target), ...stat };
  // What is below a folder has versions of its own.
  return { type: "d", size: null, hash: null, ...stat };
}

const slash = 0x2f;

function newPaths(
  keys: PathKeys,
  first: number,
  entries: readonly ChangedEntry[],
  known: ReadonlyMap<string, number>,
): (NewPath & { readonly facts: Facts | null })[] {
  const isNew = ({ key, facts }: ChangedEntry) => facts !== null && !known.has(key.toString("hex"));
  return entries.filter(isNew).map(({ key, path, facts }, at) => {
    const name = Buffer.from(path).subarray(path.lastIndexOf(slash) + 1);
    const grams = new Set([...gramsOf(name.toString())].map((gram) => keys.gram(gram)));
    return { path: first + at, key, sealed: keys.seal(key, path), grams, facts };
  });
}

/** Of the newest versions of a path: that of the snapshot before the new one, and that which begins with the one after it. */
function neighbourVersions(versions: readonly Version[], previous: string | null, { next }: Place) {
  const after = versions.find(({ since }) => since === next) ?? null;
  const before = versions.find(
    ({ since, until }) => previous !== null && since <= previous && (until === null || until > previous),
  );
  return { before: before ?? null, after };
}

async function writeVersions(
  tx: Tx,
  vault: number,
  place: Place,
  paths: readonly {
    readonly path: number;
    readonly facts: Facts | null;
    readonly before: Version | null;
    readonly after: Version | null;
  }[],
): Promise<void> {
  const cuts: { path: number; since: string }[] = [];
  const added: PathVersion[] = [];
  const earlier: number[] = [];
  for (const { path, ...at } of paths) {
    const changes = placeVersion(place, at);
    if (changes.cut !== null) cuts.push({ path, since: changes.cut });
    if (changes.beginsEarlier) earlier.push(path);
    added.push(...changes.added.map((version) => ({ ...version, path })));
  }
  await cutVersions(tx, vault, cuts, place.snapshot);
  await beginEarlier(tx, vault, earlier, place);
  await insertVersions(tx, vault, added);
}
