/**
 * The folder that a restore writes to, and how an interrupted restore goes on (docs/decisions/0120).
 *
 * While a restore runs, a *mark* lies in the folder: a file named after the snapshot, which says what is being restored. It
 * goes when the restore ends. A folder with other content is refused, unless its mark says that it is this very restore,
 * stopped on its way: same vault, snapshot, paths and options.
 *
 * Then a file is taken for complete, and not written again, when its size, mode and time are what they should be. A file gets
 * mode and time after its last byte, so one that was on its way has neither. Whatever else is found in a file's place is
 * removed first. All this holds as long as the machine has not been restarted: after a power cut a file may have its time and
 * not its bytes. The mark carries the kernel's boot id; with another one, or where there is none, every file is written again.
 */

import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { asBuffer, hex, sameBytes } from "../../format/bytes.ts";
import { sha256 } from "../../format/hash.ts";
import type { FileEntry } from "../../format/tree-entry.ts";

/** What a restore is: a folder is only gone on with by the same one. */
export interface RestoreScope {
  readonly vaultId: Uint8Array;
  readonly snapshot: string;
  readonly paths: readonly Uint8Array[] | undefined;
  readonly owners: boolean;
  readonly proveAll: boolean;
}

/** A double holds times of this century to a quarter of a microsecond. */
const timeTolerance = 1000n;

const nanosPerSecond = 1_000_000_000n;

const bootIdFile = "/proc/sys/kernel/random/boot_id";

export class TargetFolder {
  readonly #mark: string;
  /** Something of this restore may be there already. */
  readonly resumed: boolean;
  /** What looks complete is. */
  readonly #trusted: boolean;
  readonly #owners: boolean;

  /** Makes the folder, or takes an empty one or one that this restore was stopped in. */
  constructor(target: string, scope: RestoreScope) {
    const name = `.emanet-restore-${scope.snapshot}`;
    this.#mark = `${target}/${name}`;
    this.#owners = scope.owners;
    const stat = lstatSync(target, { throwIfNoEntry: false });
    if (stat === undefined) mkdirSync(target, { recursive: true, mode: 0o700 });
    const names = stat?.isDirectory() === false ? null : readdirSync(target);
    this.resumed = names?.includes(name) === true;
    if (names === null || (names.length > 0 && !this.resumed))
      throw new Error("the target must be a missing or an empty folder");
    const [what, boot] = [digestOf(scope), bootId()];
    const before = this.resumed ? readMark(this.#mark) : null;
    if (before !== null && before.what !== what && names.length > 1)
      throw new Error("the target holds an interrupted restore of other paths or options: repeat that one or empty it");
    this.#trusted = before?.what === what && boot !== "" && before.boot === boot;
    // What was written before a restart of the machine stays doubtful, so the mark keeps the first boot id.
    if (before?.what !== what) writeFileSync(this.#mark, `emanet restore 1\n${what}\n${boot}\n`, { mode: 0o600 });
  }

  /** True when the file is there as it should be; whatever else is in its place is removed. */
  takes(path: Uint8Array, entry: FileEntry, mode: number): boolean {
    if (!this.resumed) return false;
    const stat = lstatSync(asBuffer(path), { bigint: true, throwIfNoEntry: false });
    if (stat === undefined) return false;
    const time = BigInt(entry.mtimeSeconds) * nanosPerSecond + BigInt(entry.mtimeNanos);
    const apart = stat.mtimeNs > time ? stat.mtimeNs - time : time - stat.mtimeNs;
    const isComplete =
      stat.isFile() &&
      stat.size === BigInt(entry.size) &&
      apart <= timeTolerance &&
      (Number(stat.mode) & 0o7777) === mode &&
      (!this.#owners || (stat.uid === BigInt(entry.uid) && stat.gid === BigInt(entry.gid)));
    if (this.#trusted && isComplete) return true;
    rmSync(asBuffer(path));
    return false;
  }

  /** True when the link is there already; whatever else is in its place is removed. */
  takesLink(path: Buffer, target: Uint8Array): boolean {
    const stat = this.resumed ? lstatSync(path, { throwIfNoEntry: false }) : undefined;
    if (stat === undefined) return false;
    if (stat.isSymbolicLink() && sameBytes(readlinkSync(path, "buffer"), target)) return true;
    rmSync(path);
    return false;
  }

  /** Makes a folder inside. One that is there must be a folder itself: nothing is written through a link. */
  makeFolder(path: Buffer): void {
    const stat = this.resumed ? lstatSync(path, { throwIfNoEntry: false }) : undefined;
    if (stat !== undefined && !stat.isDirectory()) throw new Error("something else than a folder is in its place");
    mkdirSync(path, { recursive: true, mode: 0o700 });
  }

  /** The restore has ended: whoever comes next finds a folder like any other. */
  close(): void {
    rmSync(this.#mark, { force: true });
  }
}

/** A mark that was cut short names nothing. */
function readMark(file: string): { readonly what: string; readonly boot: string } {
  const [, what = "", boot = ""] = readFileSync(file, "utf8").split("\n");
  return { what, boot };
}

function digestOf({ vaultId, snapshot, paths, owners, proveAll }: RestoreScope): string {
  const wanted = paths?.map((path) => hex(path)) ?? null;
  return hex(sha256(Buffer.from(JSON.stringify([hex(vaultId), snapshot, wanted, owners, proveAll]))));
}

/** Empty where the system has none. */
function bootId(): string {
  try {
    return readFileSync(bootIdFile, "utf8").trim();
  } catch {
    return "";
  }
}
