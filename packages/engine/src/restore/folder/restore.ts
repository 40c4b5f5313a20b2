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
  futimesSync,
  lchownSync,
  lutimesSync,
  openSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import type { FrameVersion, SnapshotRow } from "../../catalog/catalog.ts";
import { asBuffer, FormatError } from "../../format/bytes.ts";
import type { EntryFacts, FileEntry, Reference, SegmentReference, TreeEntry } from "../../format/tree-entry.ts";
import { entriesOf, findEntry, segmentsOf } from "../../format/tree-reader.ts";
import type { Vault } from "../../vault.ts";
import type { Finish } from "../../workers/restore-job.ts";
import { forNode, timeOf } from "../../workers/restore-job.ts";
import { finishFile } from "../../workers/restore-worker.ts";
import type { RestoreWorkerPool } from "../../workers/restore-worker-pool.ts";
import { DamageError, FrameReader } from "../frame-reader.ts";
import type { PlannedFile, WindowPlan } from "../window.ts";
import { firstWindowBlocks, maxWindowBlocks, maxWindowFiles, planWindow } from "../window.ts";
import type { FileFailure, WrittenWindow } from "./frame-fetcher.ts";
import { FrameFetcher } from "./frame-fetcher.ts";
import { TargetFolder } from "./target-folder.ts";

export interface RestoreOptions {
  readonly vault: Vault;
  readonly snapshot: SnapshotRow;
  /** A folder that is missing or empty, or one that this very restore was stopped in: then it goes on. */
  readonly target: string;
  /** Paths inside the snapshot, `/`-separated; all of it when left out. */
  readonly paths?: readonly Uint8Array[] | undefined;
  readonly pool: RestoreWorkerPool;
  /** Hash every block, also where its sealer's word is enough (docs/decisions/0119). */
  readonly proveAll?: boolean | undefined;
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
  /** Files that are in place now, and their bytes. */
  readonly files: number;
  readonly bytes: number;
  /** Of these, files that an earlier, interrupted run of this restore had completed. */
  readonly skippedFiles: number;
  readonly skippedBytes: number;
  readonly failures: readonly RestoreFailure[];
  /** Frames that turned out damaged: to be told to the catalog. */
  readonly damagedFrames: readonly FrameVersion[];
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
  throw new DamageError(0, "the snapshot's root is not a directory");
}

/** Links and directories are finished last. A million of them wait, so nothing here may be a view into a node. */
interface LateWork {
  readonly path: Buffer;
  readonly facts: Pick<EntryFacts, "mode" | "uid" | "gid" | "mtimeSeconds" | "mtimeNanos">;
  readonly target: Uint8Array | null;
}

class RestoreRun {
  readonly #options: RestoreOptions;
  readonly #reader: FrameReader;
  readonly #feed: FrameFetcher;
  readonly #folder: TargetFolder;
  readonly #late: LateWork[] = [];
  readonly #failures: RestoreFailure[] = [];
  readonly #damaged = new Map<number, FrameVersion>();
  /** Frames that were read although the catalog has them as damaged. */
  readonly #marked = new Map<number, FrameVersion>();
  #window: PlannedFile[] = [];
  #windowBlocks = 0;
  #mostBlocks = firstWindowBlocks;
  /** The window whose frames are being given to workers while the next one is planned, and all before it. */
  #started: ReturnType<FrameFetcher["start"]> | null = null;
  #writing: Promise<void> = Promise.resolve();
  #files = 0;
  #bytes = 0;
  #skippedFiles = 0;
  #skippedBytes = 0;

  constructor(options: RestoreOptions) {
    this.#options = options;
    this.#reader = new FrameReader(options.vault);
    this.#folder = new TargetFolder(options.target, {
      vaultId: options.vault.keys.vaultId,
      snapshot: options.snapshot.id,
      paths: options.paths,
      owners: options.owners ?? false,
      proveAll: options.proveAll ?? false,
    });
    this.#feed = new FrameFetcher({
      ...options,
      reader: this.#reader,
      proveAll: options.proveAll ?? false,
      finishOf: ({ entry }, hole) => ({ ...this.#finishOf(entry), size: hole ? entry.size : null }),
    });
  }

  async whole(): Promise<RestoreResult> {
    const { snapshot, paths, pool } = this.#options;
    const target = Buffer.from(this.#options.target);
    if (paths === undefined) pool.expect(snapshot.size);
    const root = await rootEntry(this.#reader, snapshot);
    if (paths === undefined) await this.#directory(root, target);
    else for (const path of paths) await this.#picked(root, path, target);
    await this.#flush();
    await this.#writing;
    const [top, ...late] = this.#late;
    for (const each of late.reverse()) this.#settle(each);
    // Taking the mark away changes the time of the folder, which is therefore settled after it.
    this.#folder.close();
    if (top !== undefined) this.#settle(top);
    await this.#clearMarks();
    return {
      files: this.#files,
      bytes: this.#bytes,
      skippedFiles: this.#skippedFiles,
      skippedBytes: this.#skippedBytes,
      failures: this.#failures,
      damagedFrames: [...this.#damaged.values()],
    };
  }

  /** A mark that this restore shows to be doubtful is tried, and goes where the frame is whole. */
  async #clearMarks(): Promise<void> {
    for (const frame of this.#damaged.keys()) this.#marked.delete(frame);
    if (this.#marked.size === 0) return;
    const { clearWrongMarks } = await import("../../upkeep/damage-marks.ts");
    await clearWrongMarks(this.#options.vault, [...this.#marked.values()]);
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
    if (at.type !== "link") this.#options.pool.expect(at.size);
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
      this.#folder.makeFolder(path);
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
    if (this.#isThere(entry, path)) return;
    const segments: SegmentReference[] = [];
    try {
      for await (const segment of segmentsOf(this.#reader, entry.content)) segments.push(segment);
    } catch (error) {
      return this.#damage(path, error);
    }
    this.#window.push({ path, entry, segments });
    this.#windowBlocks += Math.ceil(entry.size / roughBlockBytes);
    if (this.#window.length >= maxWindowFiles || this.#windowBlocks >= this.#mostBlocks) await this.#flush();
  }

  /** Whether an earlier run has restored the file, or nobody can: something that cannot be removed is in its place. */
  #isThere(entry: FileEntry, path: Buffer): boolean {
    try {
      if (!this.#folder.takes(path, entry, this.#modeOf(entry))) return false;
      this.#files++;
      this.#bytes += entry.size;
      this.#skippedFiles++;
      this.#skippedBytes += entry.size;
    } catch (error) {
      this.#fail(path, "file", messageOf(error), null);
    }
    return true;
  }

  /** Plans the window while the one before is being written, then hands it to the workers. */
  async #flush(): Promise<void> {
    const files = this.#window;
    this.#window = [];
    this.#windowBlocks = 0;
    this.#mostBlocks = maxWindowBlocks;
    if (files.length === 0) return;
    const plan = await this.#plan(files);
    await this.#started;
    const started = this.#feed.start(plan, files);
    this.#started = started;
    this.#writing = Promise.all([started, this.#writing]).then(([{ written }]) => this.#end(files, written));
    // Both are waited for; a failure in between is nobody's unhandled one.
    this.#writing.catch(() => undefined);
  }

  async #plan(files: readonly PlannedFile[]): Promise<WindowPlan> {
    const { vault } = this.#options;
    const plan = await planWindow(vault.catalog, vault.keys.blockIdKey, files);
    for (const { row } of plan.frames) if (row.damaged) this.#marked.set(row.frame, row);
    return plan;
  }

  async #end(files: readonly PlannedFile[], written: Promise<WrittenWindow>): Promise<void> {
    const first = await written;
    // Relaying may have laid segments down anew and collection taken the old frames since this window was planned. So
    // what looks damaged is planned once more; only what fails again is.
    const doubtful = files.filter((_, i) => first.failed.get(i)?.kind === "damage");
    const second = doubtful.length === 0 ? null : await this.#again(doubtful);
    const places = new Map(doubtful.map((file, place) => [file, place]));
    for (const [i, file] of files.entries()) {
      const at = places.get(file) ?? i;
      const { failed, frameless } = places.has(file) && second !== null ? second : first;
      this.#finish(file, frameless.has(at), failed.get(at) ?? null);
    }
    for (const [frame, mark] of second?.damaged ?? []) this.#damaged.set(frame, mark);
    this.#options.onProgress?.({ files: this.#files, bytes: this.#bytes });
  }

  async #again(files: readonly PlannedFile[]): Promise<WrittenWindow> {
    const { written } = await this.#feed.start(await this.#plan(files), files);
    return written;
  }

  /** Counts a file. Workers have finished it, unless no frame was needed for it. */
  #finish(file: PlannedFile, frameless: boolean, failure: FileFailure | null): void {
    const { entry } = file;
    const path = asBuffer(file.path);
    if (failure !== null) {
      this.#fail(path, failure.kind, `${failure.reason}${removed(path)}`, failure.pack);
      return;
    }
    try {
      if (frameless) makeHole(path, { ...this.#finishOf(entry), size: entry.size });
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

  #finishOf(entry: FileEntry): Pick<Finish, "mode" | "mtime"> {
    return { mode: this.#modeOf(entry), mtime: timeOf(entry) };
  }

  #settle({ path, facts, target }: LateWork): void {
    const mtime = forNode(timeOf(facts));
    try {
      if (target !== null) {
        if (!this.#folder.takesLink(path, target)) symlinkSync(asBuffer(target), path);
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
    if (error.mark !== null) this.#damaged.set(error.frame, error.mark);
    this.#fail(path, "damage", error.message, error.pack);
  }

  #fail(path: Uint8Array, kind: "damage" | "file", reason: string, pack: string | null): void {
    this.#failures.push({ path: Buffer.from(path), kind, reason, pack });
  }
}

/** Removes what was written of a file that failed. What refused to be written may refuse this too: said, not thrown. */
function removed(path: Buffer): string {
  try {
    rmSync(path, { force: true });
    return "";
  } catch (error) {
    return `; what is there was not removed: ${messageOf(error)}`;
  }
}

/** A file without a stored byte: empty, or zeros from end to end. */
function makeHole(path: Buffer, finish: Finish): void {
  const fd = openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
  try {
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
