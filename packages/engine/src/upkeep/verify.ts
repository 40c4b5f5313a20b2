/**
 * Verification with keys: walks snapshots from their roots, proves every node, recipe, directory, frame and block, and
 * compares what is reached with the manifest's bitmap. What passes becomes known to other owners too, but only what was
 * read: a directory that nobody compared with its blocks is a claim.
 */

import { Bitmap } from "../bitmap.ts";
import { FormatError, sameBytes } from "../bytes.ts";
import { decodeDirectory } from "../frames/directory.ts";
import { DamageError, FrameReader } from "../frames/frame-reader.ts";
import { blockIdLength, digestBlock, digestLength, keyBlockIds } from "../hash.ts";
import type { SnapshotRow } from "../index/port.ts";
import { itemFrames } from "../index/rules.ts";
import type { PlannedFile } from "../restore/window.ts";
import { maxWindowFiles, planWindow } from "../restore/window.ts";
import type { Reference, SegmentReference, TreeEntry } from "../trees/entry.ts";
import { entriesOf, segmentsOf } from "../trees/reader.ts";
import type { Vault } from "../vault.ts";

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
  readonly damagedFrames: readonly number[];
}

export interface VerifyOptions {
  readonly vault: Vault;
  readonly snapshots: readonly SnapshotRow[];
  /** Open every frame and prove every block; without it only what ids can prove. */
  readonly readData: boolean;
  readonly onProgress?: ((progress: { readonly files: number; readonly frames: number }) => void) | undefined;
}

const slash = Buffer.from("/");

/** Items vouched for in one step of the index. */
const itemsPerStep = 1000;

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
  readonly #damaged = new Set<number>();
  #window: PlannedFile[] = [];
  #files = 0;

  constructor(options: VerifyOptions) {
    this.#options = options;
    this.#reader = new FrameReader(options.vault);
  }

  async snapshot(row: SnapshotRow): Promise<void> {
    const reach = new Bitmap();
    const visit = ({ ordinal }: Reference) => reach.add(ordinal);
    const root = { ordinal: row.rootOrdinal, id: row.rootId };
    const before = this.#findings.length;
    try {
      for await (const entry of entriesOf(this.#reader, root, visit))
        await this.#entry(row, entry, Buffer.alloc(0), reach);
    } catch (error) {
      this.#note(row, Buffer.alloc(0), error);
    }
    await this.#flush(row);
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
    if (this.#findings.length === before && this.#options.readData) await this.#setVerified(reach);
  }

  report(): VerifyReport {
    return {
      snapshots: this.#options.snapshots.length,
      files: this.#files,
      frames: this.#checked.size,
      findings: this.#findings,
      damagedFrames: [...this.#damaged],
    };
  }

  /** Vouches for what was proved: nodes, and segments whose every frame holds what its directory says. */
  async #setVerified(reach: Bitmap): Promise<void> {
    const { index } = this.#options.vault;
    const ordinals = [...reach];
    for (let i = 0; i < ordinals.length; i += itemsPerStep) {
      const proved: number[] = [];
      for (const item of await index.itemsByOrdinal(ordinals.slice(i, i + itemsPerStep))) {
        if (item === null) continue;
        let whole = true;
        // A segment may rest on frames that no file of this snapshot needed.
        if (item.kind === "segment")
          for (const frame of itemFrames(item)) whole = (await this.#frame(frame)) === null && whole;
        if (whole) proved.push(item.ordinal);
      }
      await index.setVerified(proved);
    }
  }

  async #entry(row: SnapshotRow, entry: TreeEntry, inside: Buffer, reach: Bitmap): Promise<void> {
    const path = inside.length === 0 ? Buffer.from(entry.name) : Buffer.concat([inside, slash, entry.name]);
    const visit = ({ ordinal }: Reference) => reach.add(ordinal);
    try {
      if (entry.type === "directory") {
        for await (const child of entriesOf(this.#reader, entry.root, visit))
          await this.#entry(row, child, path, reach);
      } else if (entry.type === "file") {
        const segments: SegmentReference[] = [];
        for await (const segment of segmentsOf(this.#reader, entry.content, visit)) segments.push(segment);
        for (const { ordinal } of segments) reach.add(ordinal);
        if (entry.content.kind === "part") reach.add(entry.content.segment.ordinal);
        this.#window.push({ path, entry, segments });
        if (this.#window.length >= maxWindowFiles) await this.#flush(row);
      }
    } catch (error) {
      this.#note(row, path, error);
    }
  }

  async #flush(row: SnapshotRow): Promise<void> {
    const files = this.#window;
    this.#window = [];
    if (files.length === 0) return;
    const { vault, readData } = this.#options;
    const plan = await planWindow(vault.index, vault.keys.blockIdKey, files);
    for (const [i, reason] of plan.failed) {
      this.#findings.push({ snapshot: row.id, path: files[i]?.path ?? Buffer.alloc(0), reason, pack: null, frame: 0 });
    }
    for (const { row: frame, pieces } of readData ? plan.frames : []) {
      const damage = await this.#frame(frame.frame);
      if (damage === null) continue;
      for (const i of new Set(pieces.map(({ file }) => file)))
        this.#note(row, files[i]?.path ?? Buffer.alloc(0), damage);
    }
    this.#files += files.length;
    this.#options.onProgress?.({ files: this.#files, frames: this.#checked.size });
  }

  async #frame(frame: number): Promise<DamageError | null> {
    const known = this.#checked.get(frame);
    if (known !== undefined) return known;
    const answer = await this.#prove(frame);
    this.#checked.set(frame, answer);
    if (answer !== null) this.#damaged.add(frame);
    return answer;
  }

  /** Opens a frame and compares every block that it holds with the index's directory. */
  async #prove(frame: number): Promise<DamageError | null> {
    const { index, keys } = this.#options.vault;
    try {
      const { directory, starts, blocks } = await this.#reader.dataFrame(frame);
      const [row] = await index.frames([frame]);
      const expected = decodeDirectory(row?.directory ?? new Uint8Array(0));
      const digests = Buffer.alloc(expected.lengths.length * digestLength);
      for (const [slot, length] of expected.lengths.entries()) {
        if (length === 0) continue;
        if (directory.lengths[slot] !== length)
          return new DamageError(row?.pack ?? null, frame, `slot ${slot} is empty`);
        const start = starts[slot] ?? 0;
        digestBlock(blocks.subarray(start, start + length), digests, slot);
      }
      const ids = keyBlockIds(keys.blockIdKey, digests);
      for (const [slot, length] of expected.lengths.entries()) {
        const range = [slot * blockIdLength, (slot + 1) * blockIdLength] as const;
        if (length > 0 && !sameBytes(ids.subarray(...range), expected.ids.subarray(...range))) {
          return new DamageError(row?.pack ?? null, frame, `slot ${slot} is not what its id says`);
        }
      }
      return null;
    } catch (error) {
      if (error instanceof DamageError) return error;
      throw error;
    }
  }

  #note(row: SnapshotRow, path: Uint8Array, cause: unknown): void {
    // A node is what its id says by the time it is read: one that breaks the format was written so.
    const error = cause instanceof FormatError ? new DamageError(null, 0, cause.message, { cause }) : cause;
    if (!(error instanceof DamageError)) throw error;
    if (error.frame !== 0) this.#damaged.add(error.frame);
    this.#findings.push({
      snapshot: row.id,
      path: Buffer.from(path),
      reason: error.message,
      pack: error.pack,
      frame: error.frame,
    });
  }
}
