/**
 * Verification with keys: walks snapshots from their roots, proves every node, recipe, block list, frame and block, and
 * compares what is reached with the manifest's bitmap. What passes becomes known to other owners too, but only what was
 * read: a block list that nobody compared with its blocks is a claim.
 *
 * Snapshots share most of what they hold. A directory of the tree that was proved for one of them is proved for all: what
 * has its id has everything below it. So of each only what is new is walked.
 */

import type { FrameRow, FrameVersion, SnapshotRow } from "../catalog/catalog.ts";
import { itemFrames } from "../catalog/rules.ts";
import { Bitmap } from "../format/bitmap.ts";
import { decodeBlockList } from "../format/block-list.ts";
import { FormatError } from "../format/bytes.ts";
import { decodeOrdinals, encodeOrdinals } from "../format/ordinal-list.ts";
import type { FileEntry, Reference, SegmentReference } from "../format/tree-entry.ts";
import { entriesOf, segmentsOf } from "../format/tree-reader.ts";
import { DamageError, FrameReader } from "../restore/frame-reader.ts";
import type { PlannedFile } from "../restore/window.ts";
import { maxWindowFiles, planWindow } from "../restore/window.ts";
import type { Vault } from "../vault.ts";
import { noFiles } from "../workers/restore-job.ts";
import type { RestoreWorkerPool } from "../workers/restore-worker-pool.ts";

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
  /** Frames that turned out damaged: to be told to the catalog. */
  readonly damagedFrames: readonly FrameVersion[];
}

export interface VerifyOptions {
  readonly vault: Vault;
  readonly snapshots: readonly SnapshotRow[];
  /** Opens frames and proves their blocks. */
  readonly pool: RestoreWorkerPool;
  /** Open every frame and prove every block; without it only what ids can prove. */
  readonly readData: boolean;
  /** For directories that were proved, so that the next snapshot need not walk them. */
  readonly memoryBytes?: number | undefined;
  readonly onProgress?: ((progress: { readonly files: number; readonly frames: number }) => void) | undefined;
}

const slash = Buffer.from("/");
const noPieces = new Float64Array(0);

/** Items vouched for in one step of the catalog. */
const itemsPerStep = 1000;

/** Memory for proved directories. Those that find no room are walked for each snapshot that has them. */
const usualMemoryBytes = 32 * 1024 * 1024;

/** What one takes beside its list of ordinals: a key of fifty characters, objects, and places in maps. */
const bytesPerDirectory = 640;

/** A directory that was walked: how many files it has itself, what they and its nodes reach, and the directories in it. */
interface WalkedDirectory {
  readonly files: number;
  readonly ordinals: Uint8Array;
  readonly below: readonly WalkedDirectory[];
}

/** Verifies the snapshots. Findings are facts, not exceptions. */
export async function verifySnapshots(options: VerifyOptions): Promise<VerifyReport> {
  const run = new VerifyRun(options);
  for (const snapshot of options.snapshots) await run.snapshot(snapshot);
  return run.report();
}

class VerifyRun {
  readonly #options: VerifyOptions;
  readonly #reader: FrameReader;
  readonly #findings: VerifyFinding[] = [];
  readonly #checked = new Map<number, DamageError | null>();
  readonly #damaged = new Map<number, FrameVersion>();
  /** Directories without a finding, by `keyOf` their roots. */
  readonly #proved = new Map<string, WalkedDirectory>();
  /** Those of the snapshot at hand: its files are proved in windows, so nothing is known before its end. */
  readonly #walked = new Map<string, WalkedDirectory>();
  #room: number;
  /** Items that were vouched for. */
  readonly #vouched = new Bitmap();
  #window: PlannedFile[] = [];
  #files = 0;

  constructor(options: VerifyOptions) {
    this.#options = options;
    this.#reader = new FrameReader(options.vault);
    this.#room = options.memoryBytes ?? usualMemoryBytes;
  }

  async snapshot(row: SnapshotRow): Promise<void> {
    const reach = new Bitmap();
    const root = { ordinal: row.rootOrdinal, id: row.rootId };
    const before = this.#findings.length;
    const room = this.#room;
    for (const step of [() => this.#directory(row, root, Buffer.alloc(0), reach), () => this.#flush(row)])
      try {
        await step();
      } catch (error) {
        this.#note(row, Buffer.alloc(0), error);
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
      for (const [key, directory] of this.#walked) this.#proved.set(key, directory);
      if (this.#options.readData) await this.#setVerified(reach);
    } else this.#room = room;
    this.#walked.clear();
  }

  report(): VerifyReport {
    return {
      snapshots: this.#options.snapshots.length,
      files: this.#files,
      frames: this.#checked.size,
      findings: this.#findings,
      damagedFrames: [...this.#damaged.values()],
    };
  }

  /** Vouches for what was proved: nodes, and segments whose every frame holds what its block list says. */
  async #setVerified(reach: Bitmap): Promise<void> {
    const { catalog } = this.#options.vault;
    const ordinals = [...reach.minus(this.#vouched)];
    for (let i = 0; i < ordinals.length; i += itemsPerStep) {
      const proved: number[] = [];
      for (const item of await catalog.itemsByOrdinal(ordinals.slice(i, i + itemsPerStep))) {
        if (item === null) continue;
        let whole = true;
        // A segment may rest on frames that no file of this snapshot needed.
        if (item.kind === "segment")
          for (const frame of itemFrames(item)) {
            const damage = await this.#frame(frame);
            if (damage === null) continue;
            whole = false;
            if (damage.mark !== null) this.#damaged.set(frame, damage.mark);
          }
        if (whole) proved.push(item.ordinal);
      }
      await catalog.setVerified(proved);
    }
    this.#vouched.or(reach);
  }

  /** Walks a directory, or takes what is known of it. Null where there was no room to remember it. */
  async #directory(row: SnapshotRow, root: Reference, path: Buffer, reach: Bitmap): Promise<WalkedDirectory | null> {
    const known = this.#proved.get(keyOf(root));
    if (known !== undefined) {
      this.#take(known, reach);
      return known;
    }
    const ordinals: number[] = [];
    const below: (WalkedDirectory | null)[] = [];
    let files = 0;
    const visit = ({ ordinal }: Reference) => {
      reach.add(ordinal);
      // Files that lie in one bundle follow each other.
      if (this.#room > 0 && ordinal !== ordinals.at(-1)) ordinals.push(ordinal);
    };
    for await (const entry of entriesOf(this.#reader, root, visit)) {
      const at = path.length === 0 ? Buffer.from(entry.name) : Buffer.concat([path, slash, entry.name]);
      try {
        if (entry.type === "directory") below.push(await this.#directory(row, entry.root, at, reach));
        else if (entry.type === "file") {
          await this.#file(row, at, entry, visit);
          files++;
        }
      } catch (error) {
        this.#note(row, at, error);
      }
    }
    return this.#remember(root, files, ordinals, below);
  }

  async #file(row: SnapshotRow, path: Buffer, entry: FileEntry, visit: (reference: Reference) => void): Promise<void> {
    const segments: SegmentReference[] = [];
    for await (const segment of segmentsOf(this.#reader, entry.content, visit)) segments.push(segment);
    for (const segment of segments) visit(segment);
    if (entry.content.kind === "part") visit(entry.content.segment);
    this.#window.push({ path, entry, segments });
    if (this.#window.length >= maxWindowFiles) await this.#flush(row);
  }

  #take(directory: WalkedDirectory, reach: Bitmap): void {
    const waiting = [directory];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      for (const ordinal of decodeOrdinals(next.ordinals)) reach.add(ordinal);
      this.#files += next.files;
      for (const each of next.below) waiting.push(each);
    }
  }

  #remember(
    root: Reference,
    files: number,
    ordinals: readonly number[],
    below: readonly (WalkedDirectory | null)[],
  ): WalkedDirectory | null {
    const all = below.filter((each) => each !== null);
    if (all.length < below.length || this.#room <= 0) return null;
    const directory = { files, ordinals: encodeOrdinals(ordinals), below: all };
    this.#room -= bytesPerDirectory + directory.ordinals.length;
    this.#walked.set(keyOf(root), directory);
    return directory;
  }

  async #flush(row: SnapshotRow): Promise<void> {
    const files = this.#window;
    this.#window = [];
    if (files.length === 0) return;
    const doubtful = [...(await this.#proveFiles(files)).keys()]
      .map((i) => files[i])
      .filter((file) => file !== undefined);
    // Upkeep may have laid segments down anew and collection taken the old frames since the plan was made. So what looks
    // damaged is planned once more; only what fails again is.
    for (const [i, failures] of await this.#proveFiles(doubtful))
      for (const failure of failures) this.#note(row, doubtful[i]?.path ?? Buffer.alloc(0), failure);
    this.#files += files.length;
    this.#progress();
  }

  /** Proves what files rest on. Says by place which fail, and why. */
  async #proveFiles(files: readonly PlannedFile[]): Promise<ReadonlyMap<number, readonly DamageError[]>> {
    const failed = new Map<number, DamageError[]>();
    const fail = (i: number, error: DamageError) => failed.set(i, [...(failed.get(i) ?? []), error]);
    if (files.length === 0) return failed;
    const { vault, readData } = this.#options;
    const plan = await planWindow(vault.catalog, vault.keys.blockIdKey, files);
    for (const [i, reason] of plan.failed) fail(i, new DamageError(0, reason));
    const frames = readData ? plan.frames : [];
    await this.#proveAll(frames.map((each) => each.row));
    for (const { row: frame, pieces } of frames) {
      const damage = await this.#frame(frame.frame);
      if (damage !== null) for (const i of new Set(pieces.map(({ file }) => file))) fail(i, damage);
    }
    return failed;
  }

  /** Proves frames, as many at a time as the pool takes. */
  async #proveAll(rows: readonly FrameRow[]): Promise<void> {
    const { pool } = this.#options;
    const fresh = rows.filter(({ frame }) => !this.#checked.has(frame));
    pool.expect(fresh.reduce((sum, { length }) => sum + length, 0));
    const active = new Set<Promise<unknown>>();
    const all: Promise<unknown>[] = [];
    for (const { frame } of fresh) {
      while (active.size >= pool.width) await Promise.race(active);
      const work = this.#frame(frame).finally(() => active.delete(work));
      // A failure is heard of below; until then it is nobody's unhandled one.
      work.catch(() => undefined);
      active.add(work);
      all.push(work);
    }
    await Promise.all(all);
  }

  async #frame(frame: number): Promise<DamageError | null> {
    const known = this.#checked.get(frame);
    if (known === null || (known !== undefined && (await this.#isAsMet(known)))) return known;
    const answer = await this.#prove(frame);
    this.#checked.set(frame, answer);
    this.#progress();
    return answer;
  }

  /** Whether the catalog still has the frame where it was found damaged. */
  async #isAsMet({ mark }: DamageError): Promise<boolean> {
    if (mark === null) return false;
    const [row] = await this.#options.vault.catalog.frames([mark.frame]);
    return row?.pack === mark.pack && row.generation === mark.generation;
  }

  /** Has a frame opened, and every block in it compared with the catalog's block list. */
  async #prove(frame: number): Promise<DamageError | null> {
    const { pool, vault } = this.#options;
    try {
      const { row, bytes } = await this.#reader.sealedFrame(frame);
      if (row.kind !== "data") return new DamageError(row, "no frame of blocks");
      const { ids, lengths } = decodeBlockList(row.blockList);
      const { key, binding } = await this.#reader.frameKey(row, bytes);
      const task = { offset: 0, length: bytes.length, key, binding, ids, prove: true, pieces: noPieces, lengths };
      const { blockIdKey } = vault.keys;
      const { damaged } = await pool.run({ ...noFiles, sealed: bytes, blockIdKey, frames: [task] });
      const [found] = damaged;
      if (found !== undefined) return new DamageError(row, found.message);
      if (row.damaged) await vault.catalog.setDamaged([row], false);
      return null;
    } catch (error) {
      if (error instanceof DamageError) return error;
      throw error;
    }
  }

  #progress(): void {
    this.#options.onProgress?.({ files: this.#files, frames: this.#checked.size });
  }

  #note(row: SnapshotRow, path: Uint8Array, cause: unknown): void {
    // A node is what its id says by the time it is read: one that breaks the format was written so.
    const error = cause instanceof FormatError ? new DamageError(0, cause.message, { cause }) : cause;
    if (!(error instanceof DamageError)) throw error;
    if (error.mark !== null) this.#damaged.set(error.frame, error.mark);
    this.#findings.push({
      snapshot: row.id,
      path: Buffer.from(path),
      reason: error.message,
      pack: error.pack,
      frame: error.frame,
    });
  }
}

/** What is at a reference: another id at the same ordinal is something else. */
function keyOf({ ordinal, id }: Reference): string {
  return `${ordinal} ${Buffer.from(id).toString("base64")}`;
}
