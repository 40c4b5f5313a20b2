/**
 * One directory of the cache during a backup: the records of the last backup are read and the records of this one are
 * written, both in the byte order of the names.
 *
 * *Parts*: the records of a directory are stored one after the other in parts of about 64 KiB. `file-record.ts` has the layout
 * of a record.
 *
 * *Reading* is the merge of two sorted lists. The walk asks for its names in ascending order (`find`), and a cursor
 * moves through the old records: it passes records with smaller names, whose files are gone, and stops at the first
 * record with the same or a greater name. So one part is in memory at a time.
 *
 * *Writing*: the backup calls `keep` with an unchanged record and `put` with a new or changed file. As long as every old
 * record is kept, in order, nothing is written: the kept records are a prefix of the old parts. The first difference ends
 * this (`#diverge`): the prefix is copied, and from then on all records go into new parts. A directory without any
 * difference is never written.
 *
 * *Summary*: a directory that holds cached files and nothing else has a summary (`directory-summary.ts`). Where the walk
 * finds the same digest, `keepAll` keeps the whole directory, and its parts are not read.
 */

import { asBuffer, ByteWriter, sameBytes } from "../format/bytes.ts";
import type { Reference } from "../format/tree-entry.ts";
import { maxDigestFiles } from "../source/directory-digest.ts";
import { DirectoryNodes } from "./directory-nodes.ts";
import type { DirectorySummary } from "./directory-summary.ts";
import { decodeSummary, encodeSummary, summarize } from "./directory-summary.ts";
import type { CachedFile } from "./file-record.ts";
import { compareRanges, FileRecord, writeRecord } from "./file-record.ts";

/** A walk holds a part of every directory on its path, so a part is small. Most directories still fit into one. */
const partBytes = 64 * 1024;

/** A view into memory. SQLite stores null for a view that has none. */
export const noBytes = Buffer.alloc(1).subarray(0, 0);

/** What the cache stores of a directory in addition to its parts. */
export interface DirectoryState {
  readonly parts: number;
  readonly nodes: Uint8Array;
  /** Empty if the directory has no summary. */
  readonly summary: Uint8Array;
}

/** Where the parts of one directory are stored. Old ones are of the last backup, new ones of this backup. */
export interface PartStore {
  readonly old: DirectoryState;
  /** Calls what uses the functions below. Where the cache fails, the result is `otherwise`. */
  read<Value>(work: () => Value, otherwise: Value): Value;
  /** The same for what writes. It is not called after a failure. */
  write(work: () => void): void;
  readOld(part: number): Uint8Array;
  readNew(part: number): Uint8Array;
  writeNew(part: number, body: Uint8Array): void;
  /** Makes the old parts before this one the first new parts. */
  copyOldBefore(part: number): void;
  /** Ends a directory in which nothing differs. */
  finishUnchanged(): void;
  /** Ends any other directory. `hasNewParts`: the new parts replace the old ones. */
  finish(state: DirectoryState, hasNewParts: boolean): void;
}

/** A directory that was kept whole. */
export interface KeptDirectory {
  readonly summary: DirectorySummary;
  /** The nodes of its tree, and the last of them, the root. */
  readonly nodes: readonly Reference[];
  readonly root: Reference;
}

export class CachedDirectory {
  readonly #store: PartStore;
  readonly #oldSummary: DirectorySummary | null;
  readonly nodes: DirectoryNodes;
  /** The cursor: the old record that is the next to be found begins at `#at` of `#body`. */
  readonly #record = new FileRecord();
  #body: Buffer = Buffer.alloc(0);
  #part = -1;
  #at = 0;
  #index = 0;
  /** The prefix of old records that was kept: how many, and the part and the offset where it ends. */
  #kept = 0;
  #keptPart = -1;
  #keptEnd = 0;
  #isAllKept = false;
  /** The new records, from the first difference on. */
  #diverged = false;
  #writer: ByteWriter | null = null;
  #newParts = 0;
  #files = 0;
  /** How many nodes the directory's own tree has; 0 where the directory gets no summary. */
  #treeNodes = 0;

  constructor(store: PartStore) {
    this.#store = store;
    this.#oldSummary = decodeSummary(store.old.summary);
    this.nodes = new DirectoryNodes(store.old.nodes);
  }

  /**
   * The record for the name in this range of bytes, or null. It is valid until the next call. Names must be asked for in
   * ascending order.
   */
  find(bytes: Uint8Array, start = 0, end = bytes.length): FileRecord | null {
    const record = this.#record;
    while (this.#isAtRecord()) {
      const order = compareRanges(record.bytes, record.nameStart, record.nameEnd, bytes, start, end);
      if (order > 0) return null;
      this.#at = record.end;
      this.#index++;
      if (order === 0) return record;
    }
    return null;
  }

  /** Keeps the record of an unchanged file. */
  keep(record: FileRecord): void {
    this.#files++;
    if (this.#diverged || record.index !== this.#kept) {
      this.#append((out) => out.raw(record.bytes.subarray(record.start, record.end)));
      return;
    }
    this.#kept++;
    this.#keptPart = record.part;
    this.#keptEnd = record.endInPart;
  }

  /** Writes the record of a new or changed file. Files must be kept and put in ascending order. */
  put(file: CachedFile): void {
    this.#files++;
    this.#append((out) => writeRecord(out, file));
  }

  /** Whether there is a digest to compare with. */
  get hasDigest(): boolean {
    return this.#oldSummary !== null;
  }

  /** Keeps all files and the tree if the digest is the same. Returns null if it is not. */
  keepAll(digest: Uint8Array): KeptDirectory | null {
    const summary = this.#oldSummary;
    if (summary === null || !sameBytes(digest, summary.digest)) return null;
    const nodes = this.nodes.addOld(summary.nodes);
    const root = nodes.at(-1);
    if (root === undefined) throw new Error("the cache has a directory without a root node");
    this.#isAllKept = true;
    this.#files = summary.files;
    this.#treeNodes = summary.nodes;
    return { summary, nodes, root };
  }

  /**
   * Gives the directory a summary, if it is small enough and its nodes are complete. The caller knows that all entries are
   * cached files, and that the node that was added last is the root.
   */
  summarizeIfPossible(): void {
    if (this.#files <= maxDigestFiles && this.nodes.isComplete) this.#treeNodes = this.nodes.count;
  }

  finish(): void {
    this.#store.write(() => this.#finish());
    this.#writer?.free();
  }

  #finish(): void {
    const { old } = this.#store;
    if (!this.#isAllKept && !this.#diverged && (this.#kept < this.#index || this.#isAtRecord())) this.#diverge();
    if (this.#writer !== null && this.#writer.length > 0) this.#endPart();
    const summary = this.#newSummary();
    if (!this.#diverged && !this.nodes.differ && sameBytes(summary, old.summary)) {
      this.#store.finishUnchanged();
      return;
    }
    const parts = this.#diverged ? this.#newParts : old.parts;
    this.#store.finish({ parts, nodes: this.nodes.encoded(), summary }, this.#diverged);
  }

  /** Moves `#record` to the cursor. Returns false at the end of the old records. */
  #isAtRecord(): boolean {
    while (this.#at >= this.#body.length) {
      if (this.#part + 1 >= this.#store.old.parts) return false;
      const part = ++this.#part;
      this.#body = asBuffer(this.#store.read(() => this.#store.readOld(part), noBytes));
      this.#at = 0;
    }
    const record = this.#record;
    record.moveTo(this.#body, this.#at);
    record.index = this.#index;
    record.part = this.#part;
    record.endInPart = record.end;
    return true;
  }

  #append(write: (out: ByteWriter) => void): void {
    if (this.#isAllKept) throw new Error("a file was added to a directory that was kept whole");
    if (!this.#diverged) this.#diverge();
    this.#writer ??= new ByteWriter(4096);
    write(this.#writer);
    if (this.#writer.length >= partBytes) this.#endPart();
  }

  /** Begins new parts with the kept prefix: the store copies whole parts, and the rest is copied here. */
  #diverge(): void {
    this.#diverged = true;
    if (this.#kept === 0) return;
    const writer = new ByteWriter(partBytes);
    this.#writer = writer;
    this.#newParts = this.#keptPart;
    this.#store.write(() => {
      this.#store.copyOldBefore(this.#keptPart);
      writer.raw(this.#store.readOld(this.#keptPart).subarray(0, this.#keptEnd));
    });
    if (writer.length >= partBytes) this.#endPart();
  }

  #endPart(): void {
    const writer = this.#writer;
    if (writer === null) return;
    this.#store.write(() => this.#store.writeNew(this.#newParts++, writer.view()));
    writer.reset();
  }

  #newSummary(): Uint8Array {
    if (this.#treeNodes === 0) return noBytes;
    if (!this.#diverged && this.#oldSummary?.nodes === this.#treeNodes) return this.#store.old.summary;
    return encodeSummary(summarize(this.#parts(), this.#files, this.#treeNodes));
  }

  *#parts(): Generator<Buffer> {
    const { old } = this.#store;
    const count = this.#diverged ? this.#newParts : old.parts;
    for (let part = 0; part < count; part++)
      yield asBuffer(this.#diverged ? this.#store.readNew(part) : this.#store.readOld(part));
  }
}
