/**
 * Restores a snapshot, or parts of it, into a folder. Directories are made on the way down, files are written frame by
 * frame in windows, links come after all files and directory times last, so that nothing is ever written through a link
 * of the snapshot's own.
 *
 * What cannot be restored is named and the rest is restored all the same: the result is never silently incomplete. A
 * damaged file is removed rather than left with wrong bytes.
 */

import {
  closeSync,
  constants,
  fchmodSync,
  ftruncateSync,
  futimesSync,
  lchownSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { asBuffer, FormatError } from "../bytes.ts";
import { decodeDirectory } from "../frames/directory.ts";
import { DamageError, FrameReader } from "../frames/frame-reader.ts";
import type { SnapshotRow } from "../index/port.ts";
import type { EntryFacts, FileEntry, Reference, SegmentReference, TreeEntry } from "../trees/entry.ts";
import { entriesOf, findEntry, segmentsOf } from "../trees/reader.ts";
import type { Vault } from "../vault.ts";
import type { FramePlan, PlannedFile, WindowPlan } from "./window.ts";
import { maxWindowBlocks, maxWindowFiles, planWindow } from "./window.ts";
import type { WritePool } from "./write-pool.ts";
import type { Finish, WriteJob } from "./write-station.ts";
import { finishFile } from "./write-station.ts";

export interface RestoreOptions {
  readonly vault: Vault;
  readonly snapshot: SnapshotRow;
  /** A folder that is missing or empty. */
  readonly target: string;
  /** Paths inside the snapshot, `/`-separated; all of it when left out. */
  readonly paths?: readonly Uint8Array[] | undefined;
  readonly pool: WritePool;
  /** Give files their owners back: needs privileges, off by default. */
  readonly owners?: boolean | undefined;
  readonly onProgress?: ((progress: { readonly files: number; readonly bytes: number }) => void) | undefined;
}

export interface RestoreFailure {
  readonly path: Uint8Array;
  readonly reason: string;
  /** Damage in the store, or a refusal of the file system restored to. */
  readonly kind: "damage" | "file";
  readonly pack: string | null;
}

export interface RestoreResult {
  readonly files: number;
  readonly bytes: number;
  readonly failures: readonly RestoreFailure[];
  /** Frames that turned out damaged: to be told to the index. */
  readonly damagedFrames: readonly number[];
}

/** Blocks are about this large; only to bound a window. */
const roughBlockBytes = 8192;

const slash = Buffer.from("/");

/** setuid and setgid. */
const runAsOwnerBits = 0o6000;

export async function restoreSnapshot(options: RestoreOptions): Promise<RestoreResult> {
  const run = new RestoreRun(options);
  return run.whole();
}

/** The directory entry at the root of a snapshot: it has the root's own facts. */
export async function rootEntry(
  reader: FrameReader,
  snapshot: Pick<SnapshotRow, "rootOrdinal" | "rootId">,
): Promise<TreeEntry & { type: "directory" }> {
  const root: Reference = { ordinal: snapshot.rootOrdinal, id: snapshot.rootId };
  for await (const entry of entriesOf(reader, root)) if (entry.type === "directory") return entry;
  throw new DamageError(null, 0, "the snapshot's root is not a directory");
}

/** Links and directories are finished last. A million of them wait, so nothing here may be a view into a node. */
interface LateWork {
  readonly path: Buffer;
  readonly facts: Pick<EntryFacts, "mode" | "uid" | "gid" | "mtimeSeconds" | "mtimeNanos">;
  readonly target: Uint8Array | null;
}

type FileFailure = Omit<RestoreFailure, "path">;

/** What became of the files of a window, by their places in it. */
interface WrittenWindow {
  readonly failed: Map<number, FileFailure>;
  /** How many frames each file is written from. */
  readonly single: ReadonlyMap<number, number>;
  readonly holes: ReadonlySet<number>;
  readonly damaged: Set<number>;
}

class RestoreRun {
  readonly #options: RestoreOptions;
  readonly #reader: FrameReader;
  readonly #late: LateWork[] = [];
  readonly #failures: RestoreFailure[] = [];
  readonly #damaged = new Set<number>();
  #window: PlannedFile[] = [];
  #windowBlocks = 0;
  #files = 0;
  #bytes = 0;

  constructor(options: RestoreOptions) {
    this.#options = options;
    this.#reader = new FrameReader(options.vault);
  }

  async whole(): Promise<RestoreResult> {
    const { snapshot, paths } = this.#options;
    const target = Buffer.from(this.#options.target);
    prepareTarget(target);
    const root = await rootEntry(this.#reader, snapshot);
    if (paths === undefined) await this.#directory(root, target);
    else for (const path of paths) await this.#picked(root, path, target);
    await this.#flush();
    for (const late of this.#late.reverse()) this.#settle(late);
    return { files: this.#files, bytes: this.#bytes, failures: this.#failures, damagedFrames: [...this.#damaged] };
  }

  async #picked(root: TreeEntry & { type: "directory" }, path: Uint8Array, target: Buffer): Promise<void> {
    const names = splitPath(path);
    let at: TreeEntry = root;
    let place = target;
    for (const [depth, name] of names.entries()) {
      const found: TreeEntry | null = at.type === "directory" ? await findEntry(this.#reader, at.root, name) : null;
      if (found === null) return this.#fail(path, "file", "not in the snapshot", null);
      at = found;
      place = Buffer.concat([place, slash, name]);
      if (!isPlainName(name)) return this.#fail(path, "damage", "an entry with an impossible name", null);
      if (at.type === "directory" && depth < names.length - 1 && !this.#made(place)) return;
    }
    await this.#entry(at, place);
  }

  async #directory(entry: TreeEntry & { type: "directory" }, path: Buffer): Promise<void> {
    if (!this.#made(path)) return;
    this.#late.push({ path, facts: factsOf(entry), target: null });
    try {
      for await (const child of entriesOf(this.#reader, entry.root)) {
        if (!isPlainName(child.name)) this.#fail(path, "damage", "an entry with an impossible name", null);
        else await this.#entry(child, Buffer.concat([path, slash, child.name]));
      }
    } catch (error) {
      this.#damage(path, error);
    }
  }

  /** Makes a directory; one that the file system refuses is named, and the rest goes on. */
  #made(path: Buffer): boolean {
    try {
      mkdirSync(path, { recursive: true, mode: 0o700 });
      return true;
    } catch (error) {
      this.#fail(path, "file", messageOf(error), null);
      return false;
    }
  }

  async #entry(entry: TreeEntry, path: Buffer): Promise<void> {
    if (entry.type === "directory") return this.#directory(entry, path);
    if (entry.type === "link") {
      this.#late.push({ path, facts: factsOf(entry), target: Buffer.from(entry.target) });
      return;
    }
    const segments: SegmentReference[] = [];
    try {
      for await (const segment of segmentsOf(this.#reader, entry.content)) segments.push(segment);
    } catch (error) {
      return this.#damage(path, error);
    }
    this.#window.push({ path, entry, segments });
    this.#windowBlocks += Math.ceil(entry.size / roughBlockBytes);
    if (this.#window.length >= maxWindowFiles || this.#windowBlocks >= maxWindowBlocks) await this.#flush();
  }

  async #flush(): Promise<void> {
    const files = this.#window;
    this.#window = [];
    this.#windowBlocks = 0;
    if (files.length === 0) return;
    const first = await this.#write(files);
    // Relaying may have laid segments down anew and collection taken the old frames since this window was planned. So
    // what looks damaged is planned once more; only what fails again is.
    const doubtful = files.filter((_, i) => first.failed.get(i)?.kind === "damage");
    const second = doubtful.length === 0 ? null : await this.#write(doubtful);
    const places = new Map(doubtful.map((file, place) => [file, place]));
    for (const [i, file] of files.entries()) {
      const at = places.get(file) ?? i;
      const { failed, single, holes } = places.has(file) && second !== null ? second : first;
      this.#finish(file, single.get(at) ?? 0, holes.has(at), failed.get(at) ?? null);
    }
    for (const frame of second?.damaged ?? []) this.#damaged.add(frame);
    this.#options.onProgress?.({ files: this.#files, bytes: this.#bytes });
  }

  /** Plans files and writes their frames. */
  async #write(files: readonly PlannedFile[]): Promise<WrittenWindow> {
    const plan = await planWindow(this.#options.vault.index, this.#options.vault.keys.blockIdKey, files);
    const failed = new Map<number, FileFailure>();
    for (const [file, reason] of plan.failed) failed.set(file, { reason, kind: "damage", pack: null });
    const written = { failed, single: framesPerFile(plan), holes: plan.holes, damaged: new Set<number>() };
    const active = new Set<Promise<void>>();
    for (const frame of plan.frames) {
      while (active.size >= this.#options.pool.width) await Promise.race(active);
      const work = this.#frame(frame, files, written).finally(() => active.delete(work));
      active.add(work);
    }
    await Promise.all(active);
    return written;
  }

  async #frame(
    plan: FramePlan,
    files: readonly PlannedFile[],
    { failed, single, damaged }: WrittenWindow,
  ): Promise<void> {
    const pieces = plan.pieces.filter(({ file }) => !failed.has(file));
    if (pieces.length === 0) return;
    const blame = (kind: "damage" | "file", reason: string, pack: string | null) => {
      for (const { file } of pieces) if (!failed.has(file)) failed.set(file, { reason, kind, pack });
      if (kind === "damage") damaged.add(plan.row.frame);
    };
    try {
      const { row, bytes } = await this.#reader.sealed(plan.row.frame);
      const { key, binding } = await this.#reader.keyFor(row, bytes);
      const { ids } = decodeDirectory(row.directory);
      const own = new Map<number, { path: Uint8Array; finish: Finish | null }>();
      for (const { file } of pieces) {
        const planned = files[file];
        if (planned === undefined) continue;
        own.set(file, { path: planned.path, finish: single.get(file) === 1 ? this.#finishOf(planned.entry) : null });
      }
      const job: Omit<WriteJob, "job"> = {
        sealed: bytes,
        key,
        binding,
        blockIdKey: this.#options.vault.keys.blockIdKey,
        ids,
        pieces,
        files: own,
      };
      const { failure } = await this.#options.pool.run(job);
      if (failure !== null) blame(failure.kind, failure.message, failure.kind === "damage" ? row.pack : null);
    } catch (error) {
      if (!(error instanceof DamageError)) throw error;
      blame("damage", error.message, error.pack);
    }
  }

  #finish(file: PlannedFile, frames: number, hole: boolean, failure: FileFailure | null): void {
    const { entry } = file;
    const path = asBuffer(file.path);
    if (failure !== null) {
      rmSync(path, { force: true });
      this.#fail(path, failure.kind, failure.reason, failure.pack);
      return;
    }
    try {
      // A file of one frame without a hole at its end was finished by its worker.
      if (frames !== 1 || hole) finishLarge(path, entry.size, this.#finishOf(entry));
      if (this.#options.owners === true) giveOwner(path, entry);
      this.#files++;
      this.#bytes += entry.size;
    } catch (error) {
      this.#fail(path, "file", messageOf(error), null);
    }
  }

  /** What makes a program run as its owner goes only together with the owner: else a user's file runs as root. */
  #modeOf({ mode }: Pick<EntryFacts, "mode">): number {
    return this.#options.owners === true ? mode : mode & ~runAsOwnerBits;
  }

  #finishOf(entry: FileEntry): Finish {
    return { mode: this.#modeOf(entry), mtime: timeOf(entry) };
  }

  #settle({ path, facts, target }: LateWork): void {
    const mtime = timeOf(facts);
    try {
      if (target !== null) {
        symlinkSync(asBuffer(target), path);
        lutimesSync(path, mtime, mtime);
      }
      if (this.#options.owners === true) lchownSync(path, facts.uid, facts.gid);
      if (target !== null) return;
      const fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
      try {
        fchmodSync(fd, this.#modeOf(facts));
        futimesSync(fd, mtime, mtime);
      } finally {
        closeSync(fd);
      }
    } catch (error) {
      this.#fail(path, "file", messageOf(error), null);
    }
  }

  #damage(path: Uint8Array, error: unknown): void {
    // A node is what its id says by the time it is read: one that breaks the format was written so.
    if (error instanceof FormatError) {
      this.#fail(path, "damage", error.message, null);
      return;
    }
    if (!(error instanceof DamageError)) throw error;
    if (error.frame !== 0) this.#damaged.add(error.frame);
    this.#fail(path, "damage", error.message, error.pack);
  }

  #fail(path: Uint8Array, kind: "damage" | "file", reason: string, pack: string | null): void {
    this.#failures.push({ path: Buffer.from(path), kind, reason, pack });
  }
}

function prepareTarget(target: Buffer): void {
  const stat = lstatSync(target, { throwIfNoEntry: false });
  if (stat === undefined) {
    mkdirSync(target, { recursive: true, mode: 0o700 });
    return;
  }
  if (!stat.isDirectory() || readdirSync(target).length > 0)
    throw new Error("the target must be a missing or an empty folder");
}

/** How many frames each file is written from. */
function framesPerFile(plan: WindowPlan): Map<number, number> {
  const counts = new Map<number, number>();
  for (const { pieces } of plan.frames) {
    for (const file of new Set(pieces.map((piece) => piece.file))) counts.set(file, (counts.get(file) ?? 0) + 1);
  }
  return counts;
}

function finishLarge(path: Buffer, size: number, finish: Finish): void {
  const fd = openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
  try {
    ftruncateSync(fd, size);
    finishFile(fd, finish);
  } finally {
    closeSync(fd);
  }
}

/** Owner first, mode again after it: a change of owner takes the bits away that let a program run as its owner. */
function giveOwner(path: Buffer, { uid, gid, mode }: FileEntry): void {
  lchownSync(path, uid, gid);
  if ((mode & runAsOwnerBits) === 0) return;
  const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    fchmodSync(fd, mode);
  } finally {
    closeSync(fd);
  }
}

function factsOf({ mode, uid, gid, mtimeSeconds, mtimeNanos }: EntryFacts): LateWork["facts"] {
  return { mode, uid, gid, mtimeSeconds, mtimeNanos };
}

/** Node takes times as seconds in a double: exact to a quarter of a microsecond in this century. */
function timeOf(facts: Pick<EntryFacts, "mtimeSeconds" | "mtimeNanos">): number {
  return facts.mtimeSeconds + facts.mtimeNanos / 1e9;
}

function isPlainName(name: Uint8Array): boolean {
  const text = asBuffer(name);
  return (
    text.length > 0 &&
    !text.includes(0x2f) &&
    !text.includes(0) &&
    !text.equals(Buffer.from(".")) &&
    !text.equals(Buffer.from(".."))
  );
}

function splitPath(path: Uint8Array): Buffer[] {
  const parts: Buffer[] = [];
  let start = 0;
  const bytes = asBuffer(path);
  for (let i = 0; i <= bytes.length; i++) {
    if (i < bytes.length && bytes[i] !== 0x2f) continue;
    if (i > start) parts.push(bytes.subarray(start, i));
    start = i + 1;
  }
  return parts;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
