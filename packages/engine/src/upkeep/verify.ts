/**
 * Verify: walks snapshots from their roots and compares everything with its id. It needs the keys of the vault.
 *
 * In: snapshots. Out: findings (snapshot, path, reason), and the frames that are damaged. Damage is a finding and not an
 * exception. Steps for each snapshot:
 * 1. Walk its tree. Every node is compared with its id when it is read.
 * 2. Plan its files in windows (`../restore/window.ts`): recipes and block lists are compared with the segment ids, and
 *    these with the file hashes.
 * 3. With `readData`, open every frame and compare every block with its id (`frame-checker.ts`).
 * 4. Compare the ordinals that were reached with the bitmap in the manifest.
 * 5. If there is no finding and `readData` is set, mark its items as verified in the catalog. Then other owners may use
 *    them. Only items whose frames were read are marked: a block list that was not compared with its blocks may be wrong.
 *
 * Snapshots share most of their directories. A directory that was verified for one snapshot is not walked for the next: a
 * directory with the same id has the same content. Backups and upkeep may run meanwhile: what looks damaged is planned a
 * second time before it is reported. If verify is interrupted, the marks that were set stay, and the next verify starts again.
 */

import type { FrameVersion, SnapshotRow } from "../catalog/catalog.ts";
import { itemFrames } from "../catalog/rules.ts";
import { Bitmap } from "../format/bitmap.ts";
import { FormatError } from "../format/bytes.ts";
import { decodeOrdinals, encodeOrdinals } from "../format/ordinal-list.ts";
import type { FileEntry, Reference, SegmentReference } from "../format/tree-entry.ts";
import { entriesOf, segmentsOf } from "../format/tree-reader.ts";
import { DamageError, FrameReader } from "../restore/frame-reader.ts";
import type { PlannedFile } from "../restore/window.ts";
import { maxWindowFiles, planWindow } from "../restore/window.ts";
import type { ReadableVault } from "../vault.ts";
import type { RestoreWorkerPool } from "../workers/restore-worker-pool.ts";
import { FrameChecker } from "./frame-checker.ts";

export interface VerifyFinding {
  readonly snapshot: string;
  readonly path: Uint8Array;
  readonly reason: string;
  readonly pack: string | null;
  readonly frame: number;
}

export interface VerifyReport {
  readonly snapshots: number;
  readonly files: number;
  readonly frames: number;
  readonly findings: readonly VerifyFinding[];
  /** Frames that are damaged. The caller marks them in the catalog. */
  readonly damagedFrames: readonly FrameVersion[];
}

export interface VerifyOptions {
  readonly vault: ReadableVault;
  readonly snapshots: readonly SnapshotRow[];
  /** Opens frames and compares their blocks. */
  readonly pool: RestoreWorkerPool;
  /** Open every frame and compare every block. Without it only nodes, recipes and block lists are checked. */
  readonly readData: boolean;
  /** Memory for directories that were verified and need not be walked again. */
  readonly memoryBytes?: number | undefined;
  readonly onProgress?: ((progress: { readonly files: number; readonly frames: number }) => void) | undefined;
}

const slash = Buffer.from("/");

/** Items marked as verified in one step of the catalog. */
const itemsPerStep = 1000;

/** The default of `memoryBytes`. A directory that does not fit is walked for each snapshot that has it. */
const defaultMemoryBytes = 32 * 1024 * 1024;

/** The memory of one directory without its list of ordinals: a key of fifty characters, objects, and map entries. */
const bytesPerDirectory = 640;

/** A directory that was walked. */
interface WalkedDirectory {
  /** The number of files directly in it. */
  readonly files: number;
  /** The ordinals of its nodes and of what its files reach, encoded. */
  readonly ordinals: Uint8Array;
  readonly subdirectories: readonly WalkedDirectory[];
}

/** Verifies the snapshots. */
export async function verifySnapshots(options: VerifyOptions): Promise<VerifyReport> {
  const verifier = new Verifier(options);
  for (const snapshot of options.snapshots) await verifier.verify(snapshot);
  return verifier.report();
}

class Verifier {
  readonly #options: VerifyOptions;
  readonly #reader: FrameReader;
  readonly #frames: FrameChecker;
  readonly #findings: VerifyFinding[] = [];
  readonly #damaged = new Map<number, FrameVersion>();
  /** Directories of snapshots without a finding, by the reference of their root node. */
  readonly #verifiedDirectories = new Map<string, WalkedDirectory>();
  /** Directories of the current snapshot. They are verified when the snapshot ends without a finding. */
  readonly #walkedDirectories = new Map<string, WalkedDirectory>();
  #memoryLeft: number;
  /** Ordinals that are marked as verified. */
  readonly #markedVerified = new Bitmap();
  #window: PlannedFile[] = [];
  #files = 0;

  constructor(options: VerifyOptions) {
    this.#options = options;
    this.#reader = new FrameReader(options.vault);
    this.#frames = new FrameChecker({ ...options, reader: this.#reader, onChecked: () => this.#reportProgress() });
    this.#memoryLeft = options.memoryBytes ?? defaultMemoryBytes;
  }

  async verify(row: SnapshotRow): Promise<void> {
    const reach = new Bitmap();
    const root = { ordinal: row.rootOrdinal, id: row.rootId };
    const before = this.#findings.length;
    const memoryBefore = this.#memoryLeft;
    for (const step of [() => this.#walkDirectory(row, root, Buffer.alloc(0), reach), () => this.#checkWindow(row)])
      try {
        await step();
      } catch (error) {
        this.#addFinding(row, Buffer.alloc(0), error);
      }
    const stored = Bitmap.decode(row.reach);
    if (this.#findings.length === before && (reach.minus(stored).size > 0 || stored.minus(reach).size > 0)) {
      this.#findings.push({
        snapshot: row.id,
        path: Buffer.alloc(0),
        reason: "its bitmap is not what it reaches",
        pack: null,
        frame: 0,
      });
    }
    if (this.#findings.length === before) {
      for (const [key, directory] of this.#walkedDirectories) this.#verifiedDirectories.set(key, directory);
      if (this.#options.readData) await this.#setVerified(reach);
    } else this.#memoryLeft = memoryBefore;
    this.#walkedDirectories.clear();
  }

  report(): VerifyReport {
    return {
      snapshots: this.#options.snapshots.length,
      files: this.#files,
      frames: this.#frames.count,
      findings: this.#findings,
      damagedFrames: [...this.#damaged.values()],
    };
  }

  /** Marks items as verified: nodes, and segments whose frames are all intact. */
  async #setVerified(reach: Bitmap): Promise<void> {
    const { catalog } = this.#options.vault;
    const ordinals = [...reach.minus(this.#markedVerified)];
    for (let i = 0; i < ordinals.length; i += itemsPerStep) {
      const verified: number[] = [];
      for (const item of await catalog.itemsByOrdinal(ordinals.slice(i, i + itemsPerStep))) {
        if (item === null) continue;
        let isIntact = true;
        // A segment may need frames that no file of this snapshot needs.
        if (item.kind === "segment")
          for (const frame of itemFrames(item)) {
            const damage = await this.#frames.check(frame);
            if (damage === null) continue;
            isIntact = false;
            if (damage.version !== null) this.#damaged.set(frame, damage.version);
          }
        if (isIntact) verified.push(item.ordinal);
      }
      await catalog.setVerified(verified);
    }
    this.#markedVerified.or(reach);
  }

  /** Walks a directory, or uses the result of an earlier walk. Null if there is no memory to keep the result. */
  async #walkDirectory(
    row: SnapshotRow,
    root: Reference,
    path: Buffer,
    reach: Bitmap,
  ): Promise<WalkedDirectory | null> {
    const known = this.#verifiedDirectories.get(referenceKey(root));
    if (known !== undefined) {
      this.#addVerifiedDirectory(known, reach);
      return known;
    }
    const ordinals: number[] = [];
    const subdirectories: (WalkedDirectory | null)[] = [];
    let files = 0;
    const visit = ({ ordinal }: Reference) => {
      reach.add(ordinal);
      // The files of one bundle follow each other and have the same ordinal.
      if (this.#memoryLeft > 0 && ordinal !== ordinals.at(-1)) ordinals.push(ordinal);
    };
    for await (const entry of entriesOf(this.#reader, root, visit)) {
      const at = path.length === 0 ? Buffer.from(entry.name) : Buffer.concat([path, slash, entry.name]);
      try {
        if (entry.type === "directory") subdirectories.push(await this.#walkDirectory(row, entry.root, at, reach));
        else if (entry.type === "file") {
          await this.#addFile(row, at, entry, visit);
          files++;
        }
      } catch (error) {
        this.#addFinding(row, at, error);
      }
    }
    return this.#keepDirectory(root, files, ordinals, subdirectories);
  }

  async #addFile(
    row: SnapshotRow,
    path: Buffer,
    entry: FileEntry,
    visit: (reference: Reference) => void,
  ): Promise<void> {
    const segments: SegmentReference[] = [];
    for await (const segment of segmentsOf(this.#reader, entry.content, visit)) segments.push(segment);
    for (const segment of segments) visit(segment);
    if (entry.content.kind === "part") visit(entry.content.segment);
    this.#window.push({ path, entry, segments });
    if (this.#window.length >= maxWindowFiles) await this.#checkWindow(row);
  }

  /** Adds what a verified directory reaches to the bitmap, with everything below it. */
  #addVerifiedDirectory(directory: WalkedDirectory, reach: Bitmap): void {
    const stack = [directory];
    for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
      for (const ordinal of decodeOrdinals(next.ordinals)) reach.add(ordinal);
      this.#files += next.files;
      for (const each of next.subdirectories) stack.push(each);
    }
  }

  #keepDirectory(
    root: Reference,
    files: number,
    ordinals: readonly number[],
    subdirectories: readonly (WalkedDirectory | null)[],
  ): WalkedDirectory | null {
    const kept = subdirectories.filter((each) => each !== null);
    if (kept.length < subdirectories.length || this.#memoryLeft <= 0) return null;
    const directory = { files, ordinals: encodeOrdinals(ordinals), subdirectories: kept };
    this.#memoryLeft -= bytesPerDirectory + directory.ordinals.length;
    this.#walkedDirectories.set(referenceKey(root), directory);
    return directory;
  }

  async #checkWindow(row: SnapshotRow): Promise<void> {
    const files = this.#window;
    this.#window = [];
    if (files.length === 0) return;
    const failed = await this.#checkFiles(files);
    const toRetry = [...failed.keys()].map((i) => files[i]).filter((file) => file !== undefined);
    // Repack may have moved blocks, and prune deleted their old frames, since the window was planned. So files that look
    // damaged are planned a second time. Only what fails again is reported.
    for (const [i, failures] of await this.#checkFiles(toRetry))
      for (const failure of failures) this.#addFinding(row, toRetry[i]?.path ?? Buffer.alloc(0), failure);
    this.#files += files.length;
    this.#reportProgress();
  }

  /** Checks everything that these files need. Returns the failures by the position of the file. */
  async #checkFiles(files: readonly PlannedFile[]): Promise<ReadonlyMap<number, readonly DamageError[]>> {
    const failed = new Map<number, DamageError[]>();
    const fail = (i: number, error: DamageError) => failed.set(i, [...(failed.get(i) ?? []), error]);
    if (files.length === 0) return failed;
    const { vault, readData } = this.#options;
    const plan = await planWindow(vault.catalog, vault.keys.blockIdKey, files);
    for (const [i, reason] of plan.failed) fail(i, new DamageError(0, reason));
    const frames = readData ? plan.frames : [];
    await this.#frames.checkAll(frames.map((each) => each.row));
    for (const { row: frame, pieces } of frames) {
      const damage = await this.#frames.check(frame.frame);
      if (damage !== null) for (const i of new Set(pieces.map(({ file }) => file))) fail(i, damage);
    }
    return failed;
  }

  #reportProgress(): void {
    this.#options.onProgress?.({ files: this.#files, frames: this.#frames.count });
  }

  #addFinding(row: SnapshotRow, path: Uint8Array, cause: unknown): void {
    // The node matches its id. So bytes that break the format were written like that.
    const error = cause instanceof FormatError ? new DamageError(0, cause.message, { cause }) : cause;
    if (!(error instanceof DamageError)) throw error;
    if (error.version !== null) this.#damaged.set(error.frame, error.version);
    this.#findings.push({
      snapshot: row.id,
      path: Buffer.from(path),
      reason: error.message,
      pack: error.pack,
      frame: error.frame,
    });
  }
}

/** The key of a reference in a map. Ordinal and id together: another id at the same ordinal is something else. */
function referenceKey({ ordinal, id }: Reference): string {
  return `${ordinal} ${Buffer.from(id).toString("base64")}`;
}
