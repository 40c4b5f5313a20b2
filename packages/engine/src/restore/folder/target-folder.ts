/**
 * The folder that a restore writes to, and how an interrupted restore is resumed (docs/decisions/0120).
 *
 * While a restore runs, the folder holds a *state file*. Its name has the snapshot's id. Its content names the vault, the
 * paths and the options as a digest, and the boot id of the kernel. It is removed when the restore ends. A folder with other
 * content is refused. A folder with the state file of the same restore is resumed.
 *
 * In a resumed folder, a file with the right size, mode and time is complete and is not written again. A worker sets mode
 * and time after the last byte, so a partial file has neither. Anything else at the path of a file is removed. This holds
 * only within one boot of the machine: after a power failure a file may have its time but not its bytes. With another boot
 * id, or on a system without one, every file is written again.
 */

import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { asBuffer, hex, sameBytes } from "../../format/bytes.ts";
import { sha256 } from "../../format/hash.ts";
import type { FileEntry } from "../../format/tree-entry.ts";
import type { FileStep, RestoreFolder } from "./restore-folder.ts";
import { differenceNs } from "./restore-folder.ts";

/** What identifies a restore. A folder is resumed only by a restore of which all of this is the same. */
export interface RestoreIdentity {
  readonly vaultId: Uint8Array;
  readonly snapshot: string;
  readonly paths: readonly Uint8Array[] | undefined;
  readonly owners: boolean;
  readonly hashAll: boolean;
}

/** In nanoseconds. Node sets times as doubles, which are exact to a quarter of a microsecond in this century. */
const timeTolerance = 1000n;

const bootIdFile = "/proc/sys/kernel/random/boot_id";

export class TargetFolder implements RestoreFolder {
  readonly isNew = true;
  readonly #stateFile: string;
  /** An interrupted attempt of this restore may have left files. */
  readonly resumed: boolean;
  /** Files that look complete are complete: the machine has not been restarted. */
  readonly #sameBoot: boolean;
  readonly #owners: boolean;

  /** Makes the folder, or uses an empty one, or resumes an interrupted attempt of this restore. */
  constructor(target: string, restore: RestoreIdentity) {
    const name = `.emanet-restore-${restore.snapshot}`;
    this.#stateFile = `${target}/${name}`;
    this.#owners = restore.owners;
    const stat = lstatSync(target, { throwIfNoEntry: false });
    if (stat === undefined) mkdirSync(target, { recursive: true, mode: 0o700 });
    const names = stat?.isDirectory() === false ? null : readdirSync(target);
    this.resumed = names?.includes(name) === true;
    if (names === null || (names.length > 0 && !this.resumed))
      throw new Error("the target must be a missing or an empty folder");
    const [digest, boot] = [identityDigest(restore), bootId()];
    const before = this.resumed ? readStateFile(this.#stateFile) : null;
    if (before !== null && before.digest !== digest && names.length > 1)
      throw new Error("the target holds an interrupted restore of other paths or options: repeat that one or empty it");
    this.#sameBoot = before?.digest === digest && boot !== "" && before.boot === boot;
    // The state file keeps the first boot id: files from before a restart of the machine are never taken as complete.
    if (before?.digest !== digest)
      writeFileSync(this.#stateFile, `emanet restore 1\n${digest}\n${boot}\n`, { mode: 0o600 });
  }

  /** A file that looks complete is complete. Anything else at its path is removed. */
  prepareFile(path: Uint8Array, entry: FileEntry, mode: number): FileStep {
    if (!this.resumed) return "write";
    const stat = lstatSync(asBuffer(path), { bigint: true, throwIfNoEntry: false });
    if (stat === undefined) return "write";
    const difference = differenceNs(stat.mtimeNs, entry);
    const isComplete =
      stat.isFile() &&
      stat.size === BigInt(entry.size) &&
      difference <= timeTolerance &&
      difference >= -timeTolerance &&
      (Number(stat.mode) & 0o7777) === mode &&
      (!this.#owners || (stat.uid === BigInt(entry.uid) && stat.gid === BigInt(entry.gid)));
    if (this.#sameBoot && isComplete) return "complete";
    rmSync(asBuffer(path));
    return "write";
  }

  keepsLink(path: Buffer, target: Uint8Array): boolean {
    const stat = this.resumed ? lstatSync(path, { throwIfNoEntry: false }) : undefined;
    return stat?.isSymbolicLink() === true && sameBytes(readlinkSync(path, "buffer"), target);
  }

  keepOrRemoveLink(path: Buffer, target: Uint8Array): boolean {
    if (this.keepsLink(path, target)) return true;
    if (this.resumed) rmSync(path, { force: true });
    return false;
  }

  /** Makes a directory. An existing one must be a directory and not a link: nothing is written through a link. */
  makeDirectory(path: Buffer): boolean {
    const stat = this.resumed ? lstatSync(path, { throwIfNoEntry: false }) : undefined;
    if (stat !== undefined && !stat.isDirectory())
      throw new Error("there is something else than a directory at its path");
    mkdirSync(path, { recursive: true, mode: 0o700 });
    return true;
  }

  // Everything in it is of this restore.
  isInTheWay(): boolean {
    return false;
  }

  mayHaveOthers(): boolean {
    return false;
  }

  remove(): void {}

  /** Ends the restore: removes the state file. */
  close(): void {
    rmSync(this.#stateFile, { force: true });
  }
}

/** A truncated state file has empty fields, which match no restore. */
function readStateFile(file: string): { readonly digest: string; readonly boot: string } {
  const [, digest = "", boot = ""] = readFileSync(file, "utf8").split("\n");
  return { digest, boot };
}

function identityDigest({ vaultId, snapshot, paths, owners, hashAll }: RestoreIdentity): string {
  const wanted = paths?.map((path) => hex(path)) ?? null;
  return hex(sha256(Buffer.from(JSON.stringify([hex(vaultId), snapshot, wanted, owners, hashAll]))));
}

/** The boot id of the kernel; empty if the system has none. */
function bootId(): string {
  try {
    return readFileSync(bootIdFile, "utf8").trim();
  } catch {
    return "";
  }
}
