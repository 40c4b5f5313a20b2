/**
 * Restores a snapshot, or paths of it, into a folder.
 *
 * 1. `target-folder.ts` makes the folder, or resumes an interrupted attempt of the same restore in it.
 * 2. From the snapshot's root id, `root-entry.ts` finds the root directory. This file walks the tree from there: directories
 *    are made on the way down; links, and the times of directories, are deferred to the end.
 * 3. Each file gets the list of its segments and goes into a window (`window-restorer.ts`).
 * 4. A full window is planned: `../window.ts` finds the frames and slots of every block and checks them against the file's
 *    hash.
 * 5. `frame-fetcher.ts` reads the frames in the order of packs and offsets, several in one request, and gives them to the
 *    worker pool.
 * 6. A worker opens the frames, hashes the blocks that are not verified, compares them with their ids and writes them
 *    to the files (`workers/restore-worker.ts`). The worker that writes the last block of a file also sets its mode and
 *    time.
 * 7. Other names of a file with hard links are linked to its first name (`hard-links.ts`).
 * 8. At the end symbolic links are made and directories get their modes and times (`file-attributes.ts`), deepest
 *    first. Links come last so that nothing is written through a link of the snapshot.
 *
 * A file that cannot be restored is removed and reported with the reason; all others are restored. A store that cannot be
 * reached ends the restore with an error. The same call then resumes it.
 */

import { readdirSync } from "node:fs";
import type { SnapshotRow } from "../../catalog/catalog.ts";
import { asBuffer, FormatError } from "../../format/bytes.ts";
import type { FileEntry, SegmentReference, TreeEntry } from "../../format/tree-entry.ts";
import { entriesOf, findEntry, segmentsOf } from "../../format/tree-reader.ts";
import type { RestoreWorkerPool } from "../../workers/restore-worker-pool.ts";
import { DamageError, FrameReader } from "../frame-reader.ts";
import type { ReadPort } from "../read-port.ts";
import { rootEntry } from "../root-entry.ts";
import type { OverwriteMode } from "./existing-folder.ts";
import { draftPrefix, ExistingFolder } from "./existing-folder.ts";
import type { DeferredEntry } from "./file-attributes.ts";
import { completeDeferredEntry, deferredEntry, restoredMode } from "./file-attributes.ts";
import type { HardLink } from "./hard-links.ts";
import { HardLinks, makeHardLink } from "./hard-links.ts";
import type { FileStep, RestoreFolder } from "./restore-folder.ts";
import type { RestoreResult } from "./restore-outcome.ts";
import { errorMessage, RestoreOutcome } from "./restore-outcome.ts";
import { TargetFolder } from "./target-folder.ts";
import { WindowRestorer } from "./window-restorer.ts";

export type { RestoreFailure, RestoreResult } from "./restore-outcome.ts";

export interface RestoreOptions {
  readonly port: ReadPort;
  readonly snapshot: Pick<SnapshotRow, "id" | "size" | "rootOrdinal" | "rootId">;
  /** A missing or empty folder, or the folder of an interrupted attempt of this restore, which is then resumed. */
  readonly target: string;
  /** Paths inside the snapshot, separated by `/`; the whole snapshot when left out. */
  readonly paths?: readonly Uint8Array[] | undefined;
  readonly pool: RestoreWorkerPool;
  /** Hash every block, also those that are verified (docs/decisions/0135). */
  readonly hashAll?: boolean | undefined;
  /** Restore the owners of files. Needs privileges; off by default. */
  readonly owners?: boolean | undefined;
  /** The target folder itself keeps its mode and time: it may be a private one. */
  readonly leavesTarget?: boolean | undefined;
  /** For a folder that has files already: which of them are replaced. Otherwise the folder must be new (`target`). */
  readonly overwrite?: OverwriteMode | undefined;
  /**
   * Delete what is in restored directories and not in the snapshot, also a directory at the path of a file or link, and
   * what is no directory at the path of one. Only with `overwrite`.
   */
  readonly deletesOthers?: boolean | undefined;
  /** Change nothing; `onEntry` tells what would be done. Only with `overwrite`. */
  readonly isTrial?: boolean | undefined;
  /** Whether an entry is restored. What is left out is not deleted either. Nothing below a directory that is left out is asked for. */
  readonly keeps?: ((path: string, isDirectory: boolean) => boolean) | undefined;
  /** Told for every file and link, and for every entry that is deleted. */
  readonly onEntry?: ((path: Uint8Array, action: RestoreAction, entry: TreeEntry | null) => void) | undefined;
  readonly onProgress?: ((progress: { readonly files: number; readonly bytes: number }) => void) | undefined;
  /** Ends the restore with its reason. The same call resumes it. */
  readonly signal?: AbortSignal | undefined;
}

/** What a restore does with an entry. */
export type RestoreAction = "restore" | "keep" | "delete";

const slash = Buffer.from("/");

export async function restoreSnapshot(options: RestoreOptions): Promise<RestoreResult> {
  const { signal } = options;
  signal?.throwIfAborted();
  const running = new Restore(options).run();
  if (signal === undefined) return running;
  // What waits for an answer of the store would see the signal only after it.
  const ended = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
  running.catch(() => {
    // After the signal nobody waits for it any more.
  });
  return Promise.race([running, ended]);
}

class Restore {
  readonly #options: RestoreOptions;
  readonly #owners: boolean;
  readonly #reader: FrameReader;
  readonly #folder: RestoreFolder;
  readonly #outcome: RestoreOutcome;
  readonly #windows: WindowRestorer;
  /** Links and directories, in the order of the walk. */
  readonly #deferred: DeferredEntry[] = [];
  readonly #hardLinks = new HardLinks();

  constructor(options: RestoreOptions) {
    const hashAll = options.hashAll ?? false;
    this.#options = options;
    this.#owners = options.owners ?? false;
    this.#reader = new FrameReader(options.port);
    this.#folder =
      options.overwrite === undefined
        ? new TargetFolder(options.target, {
            vaultId: options.port.keys.vaultId,
            snapshot: options.snapshot.id,
            paths: options.paths,
            owners: this.#owners,
            hashAll,
          })
        : new ExistingFolder(options.target, options.overwrite, options.isTrial ?? false);
    this.#outcome = new RestoreOutcome(options.onProgress);
    this.#windows = new WindowRestorer({
      ...options,
      reader: this.#reader,
      outcome: this.#outcome,
      owners: this.#owners,
      hashAll,
    });
  }

  async run(): Promise<RestoreResult> {
    const { snapshot, paths, pool, port } = this.#options;
    const target = Buffer.from(this.#options.target);
    if (paths === undefined) pool.startThreadsFor(snapshot.size);
    const root = await rootEntry(this.#reader, snapshot);
    if (paths === undefined) await this.#restoreDirectory(root, target);
    else for (const path of paths) await this.#restorePath(root, path, target);
    await this.#windows.finish();
    await this.#makeHardLinks();
    if (this.#options.isTrial === true) return this.#outcome.result();
    const [top, ...deferred] = this.#deferred;
    for (const each of deferred.reverse()) this.#completeDeferred(each);
    // Removing the state file changes the time of the folder. So the folder gets its time after that.
    this.#folder.close();
    const isTarget = paths === undefined;
    if (top !== undefined && !(isTarget && this.#options.leavesTarget === true)) this.#completeDeferred(top);
    // These frames have a damage mark and could be read.
    const wronglyMarked = this.#outcome.readableMarkedFrames();
    if (wronglyMarked.length > 0) await port.reportReadable(wronglyMarked);
    return this.#outcome.result();
  }

  /** Restores one path of the snapshot. The directories above it are made, without their modes and times. */
  async #restorePath(root: TreeEntry & { type: "directory" }, path: Uint8Array, target: Buffer): Promise<void> {
    const names = splitPath(path);
    let entry: TreeEntry = root;
    let place = target;
    for (const [depth, name] of names.entries()) {
      const found: TreeEntry | null =
        entry.type === "directory" ? await findEntry(this.#reader, entry.root, name) : null;
      if (found === null)
        return this.#outcome.addFailure(Buffer.concat([target, slash, path]), "file", "not in the snapshot", null);
      entry = found;
      place = Buffer.concat([place, slash, name]);
      if (!isFileName(name)) return this.#outcome.addFailure(place, "damage", "an entry with an impossible name", null);
      if (entry.type === "directory" && depth < names.length - 1 && this.#makeDirectory(place) === null) return;
    }
    if (entry.type !== "link") this.#options.pool.startThreadsFor(entry.size);
    await this.#restoreEntry(entry, place);
  }

  async #restoreDirectory(entry: TreeEntry & { type: "directory" }, path: Buffer): Promise<void> {
    const made = this.#makeDirectory(path);
    if (made === null) return;
    if (made) this.#deferred.push(deferredEntry(path, entry));
    const names = this.#options.deletesOthers === true ? new Set<string>() : null;
    try {
      for await (const child of entriesOf(this.#reader, entry.root)) {
        names?.add(asBuffer(child.name).toString("latin1"));
        if (!isFileName(child.name)) this.#outcome.addFailure(path, "damage", "an entry with an impossible name", null);
        else await this.#restoreEntry(child, Buffer.concat([path, slash, child.name]));
      }
      // Only where the whole directory was read: what could not be read is not deleted.
      if (names !== null) this.#deleteOthers(path, names);
    } catch (error) {
      this.#addDamage(path, error);
    }
  }

  /**
   * Makes a directory. Returns whether it gets the mode and time of the snapshot's; null if the file system refuses it: then it
   * is reported, and the restore goes on.
   */
  #makeDirectory(path: Buffer): boolean | null {
    try {
      return this.#folder.makeDirectory(path);
    } catch (error) {
      this.#outcome.addFailure(path, "file", errorMessage(error), null);
      return null;
    }
  }

  #deleteOthers(path: Buffer, names: ReadonlySet<string>): void {
    if (!this.#folder.mayHaveOthers(path)) return;
    for (const { name, isDirectory } of namesIn(path)) {
      if (names.has(name.toString("latin1"))) continue;
      const other = Buffer.concat([path, slash, name]);
      // A draft of this restore is still being written.
      if (!name.toString("latin1").startsWith(draftPrefix) && this.#isKept(other, isDirectory)) this.#delete(other);
    }
  }

  /** An entry of the snapshot takes the place of another kind of entry, with everything in it. */
  #deleteInTheWay(path: Buffer, wantsDirectory: boolean): void {
    const { deletesOthers, overwrite } = this.#options;
    if (deletesOthers !== true || overwrite === "never" || !this.#isKept(path, !wantsDirectory)) return;
    if (this.#folder.isInTheWay(path, wantsDirectory)) this.#delete(path);
  }

  #delete(path: Buffer): void {
    try {
      this.#folder.remove(path);
      this.#outcome.deleted++;
      this.#options.onEntry?.(path, "delete", null);
    } catch (error) {
      this.#outcome.addFailure(path, "file", errorMessage(error), null);
    }
  }

  /** Whether the caller wants what is at this path of the target. */
  #isKept(path: Buffer, isDirectory: boolean): boolean {
    const { keeps, target } = this.#options;
    return keeps === undefined || keeps(path.subarray(Buffer.byteLength(target) + 1).toString("utf8"), isDirectory);
  }

  async #restoreEntry(entry: TreeEntry, path: Buffer): Promise<void> {
    this.#options.signal?.throwIfAborted();
    if (!this.#isKept(path, entry.type === "directory")) return;
    this.#deleteInTheWay(path, entry.type === "directory");
    if (entry.type === "directory") return this.#restoreDirectory(entry, path);
    if (entry.type === "link") {
      this.#options.onEntry?.(path, this.#folder.keepsLink(path, entry.target) ? "keep" : "restore", entry);
      this.#deferred.push(deferredEntry(path, entry, entry.target));
      return;
    }
    // In a folder with files, a name that is there and stays is not the first name of others.
    if (this.#folder.isNew && this.#hardLinks.addIfLaterName(entry, path)) return;
    const step = this.#prepareFile(entry, path);
    if (step === null) return;
    if (this.#options.isTrial === true) return this.#outcome.addFile(entry.size);
    const draft = typeof step === "string" ? undefined : step.draft;
    if (!this.#folder.isNew && this.#hardLinks.addIfLaterName(entry, path, draft)) return;
    await this.#addToWindow(entry, path, step);
  }

  async #addToWindow(entry: FileEntry, path: Buffer, step: FileStep): Promise<void> {
    const segments: SegmentReference[] = [];
    try {
      for await (const segment of segmentsOf(this.#reader, entry.content)) segments.push(segment);
    } catch (error) {
      return this.#addDamage(path, error);
    }
    const place = typeof step === "string" ? { path } : { path: step.draft, replaces: step.replaces };
    await this.#windows.add({ ...place, entry, segments });
  }

  /** What is to be done for a file; null if it is there, or if something at its path cannot be removed. */
  #prepareFile(entry: FileEntry, path: Buffer): FileStep | null {
    try {
      const step = this.#folder.prepareFile(path, entry, restoredMode(entry, this.#owners));
      const isThere = step === "complete" || step === "keep";
      this.#options.onEntry?.(path, isThere ? "keep" : "restore", entry);
      if (!isThere) return step;
      this.#outcome.addSkipped(entry.size);
    } catch (error) {
      this.#outcome.addFailure(path, "file", errorMessage(error), null);
    }
    return null;
  }

  /** Links names of a file to its first name. If that one failed, the next name is restored and is then the first. */
  async #makeHardLinks(): Promise<void> {
    for (let links = this.#hardLinks.takeLinks(); links.length > 0; links = this.#hardLinks.takeLinks()) {
      for (const link of links) {
        if (!this.#outcome.hasFailed(link.first)) this.#makeHardLink(link);
        else {
          this.#hardLinks.removeFirst(link);
          await this.#restoreEntry(link.entry, link.path);
        }
      }
      await this.#windows.finish();
    }
  }

  #makeHardLink(link: HardLink): void {
    try {
      makeHardLink(link, this.#owners);
      this.#outcome.addFile(link.entry.size);
    } catch (error) {
      this.#outcome.addFailure(link.path, "file", errorMessage(error), null);
    }
  }

  #completeDeferred(entry: DeferredEntry): void {
    try {
      completeDeferredEntry(this.#folder, entry, this.#owners);
    } catch (error) {
      this.#outcome.addFailure(entry.path, "file", errorMessage(error), null);
    }
  }

  #addDamage(path: Uint8Array, error: unknown): void {
    // The node matches its id. So bytes that break the format were written like that.
    if (error instanceof FormatError) {
      this.#outcome.addFailure(path, "damage", error.message, null);
      return;
    }
    if (!(error instanceof DamageError)) throw error;
    if (error.version !== null) this.#outcome.addDamagedFrame(error.version);
    this.#outcome.addFailure(path, "damage", error.message, error.pack);
  }
}

/** Whether a name can name an entry of a directory: not empty, no separator, not `.` or `..`. */
function isFileName(name: Uint8Array): boolean {
  const text = asBuffer(name);
  return (
    text.length > 0 &&
    !text.includes(0x2f) &&
    !text.includes(0) &&
    !text.equals(Buffer.from(".")) &&
    !text.equals(Buffer.from(".."))
  );
}

function namesIn(path: Buffer): readonly { readonly name: Buffer; readonly isDirectory: boolean }[] {
  const entries = readdirSync(path, { encoding: "buffer", withFileTypes: true });
  return entries.map((entry) => ({ name: entry.name, isDirectory: entry.isDirectory() }));
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
