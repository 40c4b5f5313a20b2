/**
 * A folder that holds files already, as the target of a restore. An *overwrite mode* says which of them are replaced. A file is
 * written beside the old one and takes its place when it is complete, so a crash or a full disk leaves the old file or the
 * new one. Blocks that the old file has at the same place are copied from it and not fetched (`old-blocks.ts`).
 *
 * Nothing is written through a symbolic link: a link at the path of a directory is refused, one at the path of a file is replaced.
 */

import { lstatSync, mkdirSync, readlinkSync, rmSync } from "node:fs";
import path from "node:path";
import { asBuffer, hex, sameBytes } from "../../format/bytes.ts";
import { sha256 } from "../../format/hash.ts";
import type { FileEntry } from "../../format/tree-entry.ts";
import type { FileStep, RestoreFolder } from "./restore-folder.ts";
import { differenceNs } from "./restore-folder.ts";

/**
 * `always`: every file is replaced whose bytes differ. `if-changed`: those whose size or time differ. `if-newer`: those that are older
 * than the snapshot's. `never`: none; only what is missing is restored.
 */
export const overwriteModes = ["always", "if-changed", "if-newer", "never"] as const;
export type OverwriteMode = (typeof overwriteModes)[number];

const slashByte = 0x2f;

/** In nanoseconds. Node sets times as doubles, which are exact to a quarter of a microsecond in this century. */
const timeTolerance = 1000n;

export class ExistingFolder implements RestoreFolder {
  readonly isNew = false;
  readonly #mode: OverwriteMode;
  readonly #isTrial: boolean;
  /** The entry that a trial would have removed last. What the walk comes to next can be below it. */
  #removedInTrial: Buffer | null = null;

  /** With `isTrial` nothing is changed. */
  constructor(target: string, mode: OverwriteMode, isTrial: boolean) {
    this.#mode = mode;
    this.#isTrial = isTrial;
    const stat = lstatSync(target, { throwIfNoEntry: false });
    if (stat !== undefined && !stat.isDirectory()) throw new Error("the target is not a folder");
    if (stat === undefined && !isTrial) mkdirSync(target, { recursive: true, mode: 0o700 });
  }

  prepareFile(file: Uint8Array, entry: FileEntry): FileStep {
    const at = asBuffer(file);
    const stat = this.#isGone(at) ? undefined : lstatSync(at, { bigint: true, throwIfNoEntry: false });
    if (stat === undefined) return "write";
    if (this.#mode === "never") return "keep";
    if (stat.isDirectory()) throw new Error("there is a directory at its path");
    if (!stat.isFile()) {
      if (!this.#isTrial) rmSync(at);
      return "write";
    }
    const difference = differenceNs(stat.mtimeNs, entry);
    const isSameTime = difference >= -timeTolerance && difference <= timeTolerance;
    if (this.#mode === "if-changed" && isSameTime && stat.size === BigInt(entry.size)) return "keep";
    if (this.#mode === "if-newer" && difference >= -timeTolerance) return "keep";
    return { replaces: at, draft: this.#draftOf(at) };
  }

  keepsLink(file: Buffer, target: Uint8Array): boolean {
    const stat = this.#isGone(file) ? undefined : lstatSync(file, { throwIfNoEntry: false });
    if (stat === undefined) return false;
    if (this.#mode === "never") return true;
    return stat.isSymbolicLink() && sameBytes(readlinkSync(file, "buffer"), target);
  }

  keepOrRemoveLink(file: Buffer, target: Uint8Array): boolean {
    if (this.keepsLink(file, target)) return true;
    if (lstatSync(file, { throwIfNoEntry: false })?.isDirectory() === true)
      throw new Error("there is a directory at its path");
    rmSync(file, { force: true });
    return false;
  }

  makeDirectory(folder: Buffer): boolean {
    const stat = this.#isGone(folder) ? undefined : lstatSync(folder, { throwIfNoEntry: false });
    if (stat?.isDirectory() === true) return this.#mode !== "never";
    if (stat !== undefined) throw new Error("there is something else than a directory at its path");
    if (!this.#isTrial) mkdirSync(folder, { mode: 0o700 });
    return true;
  }

  isInTheWay(entry: Buffer, wantsDirectory: boolean): boolean {
    const stat = this.#isGone(entry) ? undefined : lstatSync(entry, { throwIfNoEntry: false });
    return stat !== undefined && stat.isDirectory() !== wantsDirectory;
  }

  mayHaveOthers(directory: Buffer): boolean {
    return !this.#isGone(directory) && lstatSync(directory, { throwIfNoEntry: false })?.isDirectory() === true;
  }

  /** Removes an entry that the snapshot does not have. A link is removed, not what it points to. */
  remove(entry: Buffer): void {
    if (this.#isTrial) {
      this.#removedInTrial = entry;
      return;
    }
    const stat = lstatSync(entry, { throwIfNoEntry: false });
    if (stat === undefined) return;
    if (stat.isDirectory()) rmSync(entry, { recursive: true });
    else rmSync(entry);
  }

  close(): void {
    // Nothing marks the folder while it is written: what an interrupted restore left is what it was, or complete.
  }

  #isGone(entry: Buffer): boolean {
    const gone = this.#removedInTrial;
    if (gone === null || !entry.subarray(0, gone.length).equals(gone)) return false;
    return entry.length === gone.length || entry[gone.length] === slashByte;
  }

  /** One name per file: what an interrupted restore left is used up by the next one. */
  #draftOf(file: Buffer): Buffer {
    const name = Buffer.from(path.posix.basename(file.toString("latin1")), "latin1");
    const folder = file.subarray(0, file.length - name.length);
    const draft = Buffer.concat([folder, Buffer.from(`${draftPrefix}${hex(sha256(name)).slice(0, 16)}`)]);
    if (!this.#isTrial) rmSync(draft, { force: true });
    return draft;
  }
}

/** What the names of files begin with that are being written. */
export const draftPrefix = ".emanet-part-";
