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

import type { SnapshotRow } from "../../catalog/catalog.ts";
import { asBuffer, FormatError } from "../../format/bytes.ts";
import type { FileEntry, SegmentReference, TreeEntry } from "../../format/tree-entry.ts";
import { entriesOf, findEntry, segmentsOf } from "../../format/tree-reader.ts";
import type { RestoreWorkerPool } from "../../workers/restore-worker-pool.ts";
import { DamageError, FrameReader } from "../frame-reader.ts";
import type { ReadPort } from "../read-port.ts";
import { rootEntry } from "../root-entry.ts";
import type { DeferredEntry } from "./file-attributes.ts";
import { completeDeferredEntry, deferredEntry, restoredMode } from "./file-attributes.ts";
import type { HardLink } from "./hard-links.ts";
import { HardLinks, makeHardLink } from "./hard-links.ts";
import type { RestoreResult } from "./restore-outcome.ts";
import { errorMessage, RestoreOutcome } from "./restore-outcome.ts";
import { TargetFolder } from "./target-folder.ts";
import { WindowRestorer } from "./window-restorer.ts";

export type { RestoreFailure, RestoreResult } from "./restore-outcome.ts";

export interface RestoreOptions {
  readonly port: ReadPort;
  readonly snapshot: SnapshotRow;
  /** A missing or empty folder, or the folder of an interrupted attempt of this restore, which is then resumed. */
  readonly target: string;
  /** Paths inside the snapshot, separated by `/`; the whole snapshot when left out. */
  readonly paths?: readonly Uint8Array[] | undefined;
  readonly pool: RestoreWorkerPool;
  /** Hash every block, also those that are verified (docs/decisions/0135). */
  readonly hashAll?: boolean | undefined;
  /** Restore the owners of files. Needs privileges; off by default. */
  readonly owners?: boolean | undefined;
  readonly onProgress?: ((progress: { readonly files: number; readonly bytes: number }) => void) | undefined;
}

const slash = Buffer.from("/");

export async function restoreSnapshot(options: RestoreOptions): Promise<RestoreResult> {
  return new Restore(options).run();
}

class Restore {
  readonly #options: RestoreOptions;
  readonly #owners: boolean;
  readonly #reader: FrameReader;
  readonly #folder: TargetFolder;
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
    this.#folder = new TargetFolder(options.target, {
      vaultId: options.port.keys.vaultId,
      snapshot: options.snapshot.id,
      paths: options.paths,
      owners: this.#owners,
      hashAll,
    });
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
    const [top, ...deferred] = this.#deferred;
    for (const each of deferred.reverse()) this.#completeDeferred(each);
    // Removing the state file changes the time of the folder. So the folder gets its time after that.
    this.#folder.close();
    if (top !== undefined) this.#completeDeferred(top);
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
      if (found === null) return this.#outcome.addFailure(path, "file", "not in the snapshot", null);
      entry = found;
      place = Buffer.concat([place, slash, name]);
      if (!isFileName(name)) return this.#outcome.addFailure(path, "damage", "an entry with an impossible name", null);
      if (entry.type === "directory" && depth < names.length - 1 && !this.#makeDirectory(place)) return;
    }
    if (entry.type !== "link") this.#options.pool.startThreadsFor(entry.size);
    await this.#restoreEntry(entry, place);
  }

  async #restoreDirectory(entry: TreeEntry & { type: "directory" }, path: Buffer): Promise<void> {
    if (!this.#makeDirectory(path)) return;
    this.#deferred.push(deferredEntry(path, entry));
    try {
      for await (const child of entriesOf(this.#reader, entry.root)) {
        if (!isFileName(child.name)) this.#outcome.addFailure(path, "damage", "an entry with an impossible name", null);
        else await this.#restoreEntry(child, Buffer.concat([path, slash, child.name]));
      }
    } catch (error) {
      this.#addDamage(path, error);
    }
  }

  /** Makes a directory. False if the file system refuses it: then it is reported, and the restore goes on. */
  #makeDirectory(path: Buffer): boolean {
    try {
      this.#folder.makeDirectory(path);
      return true;
    } catch (error) {
      this.#outcome.addFailure(path, "file", errorMessage(error), null);
      return false;
    }
  }

  async #restoreEntry(entry: TreeEntry, path: Buffer): Promise<void> {
    if (entry.type === "directory") return this.#restoreDirectory(entry, path);
    if (entry.type === "link") {
      this.#deferred.push(deferredEntry(path, entry, entry.target));
      return;
    }
    if (this.#hardLinks.addIfLaterName(entry, path) || this.#skipFile(entry, path)) return;
    const segments: SegmentReference[] = [];
    try {
      for await (const segment of segmentsOf(this.#reader, entry.content)) segments.push(segment);
    } catch (error) {
      return this.#addDamage(path, error);
    }
    await this.#windows.add({ path, entry, segments });
  }

  /** True if an interrupted attempt has completed the file, or if something at its path cannot be removed. */
  #skipFile(entry: FileEntry, path: Buffer): boolean {
    try {
      if (!this.#folder.keepOrRemoveFile(path, entry, restoredMode(entry, this.#owners))) return false;
      this.#outcome.addSkipped(entry.size);
    } catch (error) {
      this.#outcome.addFailure(path, "file", errorMessage(error), null);
    }
    return true;
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
