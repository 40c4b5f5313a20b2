/**
 * Reads everything that a restore brings back, compares it, and divides its archive into parts. Memory does not grow with the
 * number of files: a part is handed on when it is full.
 */

import { crc32 } from "node:zlib";
import { DamageError, type FileEntry, type FrameVersion } from "@emanet/engine";
import { LinkGroups } from "../snapshots/index.ts";
import type { ArchiveMember, ArchiveTotals, Layout } from "./layouts.ts";
import { checksumBytes, type PartRow } from "./part-store.ts";
import { bytesPerPart, entriesPerPart, type WarningCode } from "./rules.ts";
import type { PartResult, RestoreWarning } from "./store.ts";
import { isDamage, type PlacedEntry, type RestoreTree, walkRestore } from "./tree-of-restore.ts";

/** Small files are read ahead: each needs some round trips to database and store, and few bytes. */
const readAheadFiles = 16;
const readAheadBytes = 256 * 1024;

export interface FinishedPart extends PartResult {
  readonly row: PartRow;
  readonly warnings: readonly RestoreWarning[];
}

export interface PrepareOptions {
  readonly tree: RestoreTree;
  readonly layout: Layout;
  /** What an earlier attempt has finished. */
  readonly parts: readonly PartRow[];
  readonly done: Pick<PartResult, "warningCount" | "leftOutNodes"> & {
    /** Directories that it named as unreadable. */
    readonly unreadable: readonly Buffer[];
  };
  readonly signal: AbortSignal;
  /** Called now and then with the bytes and files so far. */
  readonly onProgress: (bytesRestored: number, filesRestored: number) => Promise<void>;
  readonly onPart: (part: FinishedPart) => Promise<void>;
  readonly onDamagedFrame: (version: FrameVersion) => void;
}

/** The whole archive, and what was found after its last part. */
export interface PreparedArchive extends PartResult {
  readonly totals: ArchiveTotals;
  readonly warnings: readonly RestoreWarning[];
}

export async function prepareArchive(options: PrepareOptions): Promise<PreparedArchive> {
  return new Preparation(options).run();
}

/** An entry whose content is being read. */
interface CheckedEntry {
  readonly entry: PlacedEntry;
  readonly firstName: Buffer | null;
  /** The checksum, or that the content cannot be read. */
  readonly outcome: Promise<number | "damaged"> | (() => Promise<number | "damaged">);
}

class Preparation {
  readonly #options: PrepareOptions;
  readonly #groups = new LinkGroups();
  readonly #leftOutNodes: Set<number>;
  /** Directories that are named already. */
  readonly #unreadable: Set<string>;
  /** First names of files with several names whose content cannot be read: then the other names are left out too. */
  readonly #damagedNames = new Set<string>();
  #part: OpenPart;
  #memberOffset = 0;
  #directoryOffset = 0;
  #memberCount = 0;
  #bytes = 0;
  #files = 0;
  #warningCount: number;
  #warnings: RestoreWarning[] = [];

  constructor(options: PrepareOptions) {
    this.#options = options;
    const { done } = options;
    this.#leftOutNodes = new Set(done.leftOutNodes);
    this.#unreadable = new Set(done.unreadable.map((path) => path.toString("latin1")));
    this.#warningCount = done.warningCount;
    this.#part = new OpenPart(0, { root: 0, after: null, memberOffset: 0, directoryOffset: 0 });
  }

  async run(): Promise<PreparedArchive> {
    const walk = walkRestore(this.#options.tree, { root: 0, after: null }, this.#damage());
    await this.#passDone(walk.entries);
    for await (const { entry, firstName, outcome } of this.#readAhead(walk.entries)) {
      const checksum = await (typeof outcome === "function" ? outcome() : outcome);
      await this.#add(entry, firstName, checksum);
    }
    if (this.#part.entries > 0) await this.#finishPart();
    const totals = {
      ...{ memberCount: this.#memberCount, memberBytes: this.#memberOffset },
      ...{ directoryBytes: this.#directoryOffset, escapedNames: walk.names.escaped },
    };
    return { totals, ...this.#takeResult() };
  }

  #damage() {
    return {
      isLeftOut: (ordinal: number, at: Buffer) => {
        const isLeftOut = this.#leftOutNodes.has(ordinal);
        // Several directories and paths can need the same node.
        if (isLeftOut) this.#warnUnreadable(at);
        return isLeftOut;
      },
      onUnreadable: (ordinal: number, at: Buffer, error: unknown) => {
        this.#leftOutNodes.add(ordinal);
        this.#warnUnreadable(at);
        this.#noteFrame(error);
      },
    };
  }

  /** Passes over the entries of parts that are done, without their content. */
  async #passDone(entries: AsyncGenerator<PlacedEntry>): Promise<void> {
    for (const row of this.#options.parts) {
      const links = new Map(row.link_places.map((place, at) => [place, row.link_targets[at] ?? null]));
      const leftOut = new Set(row.left_out);
      for (let number = 0; number < row.entries; number++) {
        this.#options.signal.throwIfAborted();
        const { value: entry, done } = await entries.next();
        if (done === true || entry === undefined) throw new Error("a restore has fewer entries than before");
        this.#part.move(entry);
        const firstName = this.#firstNameOf(entry);
        if (leftOut.has(number)) {
          if (firstName === null) this.#damagedNames.add(entry.path.toString("latin1"));
          continue;
        }
        this.#count(this.#options.layout.memberOf(entry, { checksum: 0, firstName: links.get(number) ?? null }));
        this.#countFile(entry);
      }
      this.#nextPart();
    }
  }

  /** Starts to read small files while the ones before them are added. A large file is read when it is its turn. */
  async *#readAhead(entries: AsyncGenerator<PlacedEntry>): AsyncGenerator<CheckedEntry> {
    const waiting: CheckedEntry[] = [];
    for await (const entry of entries) {
      waiting.push(this.#begin(entry));
      const oldest = waiting.length > readAheadFiles ? waiting.shift() : undefined;
      if (oldest !== undefined) yield oldest;
    }
    yield* waiting;
  }

  #firstNameOf(entry: PlacedEntry): Buffer | null {
    return this.#options.layout.hasHardLinks ? this.#groups.firstName(entry) : null;
  }

  #begin(placed: PlacedEntry): CheckedEntry {
    const { entry } = placed;
    const firstName = this.#firstNameOf(placed);
    if (entry.type !== "file" || entry.size === 0 || firstName !== null)
      return { entry: placed, firstName, outcome: Promise.resolve(0) };
    if (entry.size > readAheadBytes) return { entry: placed, firstName, outcome: () => this.#check(entry) };
    const outcome = this.#check(entry);
    // It is awaited later. Without this handler, Node would report an unhandled rejection until then.
    outcome.catch(() => undefined);
    return { entry: placed, firstName, outcome };
  }

  /** Reads a file. The reader compares it with its hash. */
  async #check(entry: FileEntry): Promise<number | "damaged"> {
    const { tree, signal, onProgress } = this.#options;
    let [checksum, bytes] = [0, 0];
    try {
      for await (const chunk of tree.reader.read(entry, undefined, signal)) {
        checksum = crc32(chunk, checksum);
        bytes += chunk.length;
        if (entry.size > readAheadBytes) await onProgress(this.#bytes + bytes, this.#files);
      }
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.#noteFrame(error);
      return "damaged";
    }
    if (bytes !== entry.size) return "damaged";
    return checksum;
  }

  async #add(placed: PlacedEntry, firstName: Buffer | null, checksum: number | "damaged"): Promise<void> {
    this.#options.signal.throwIfAborted();
    this.#part.move(placed);
    const isLinkToDamaged = firstName !== null && this.#damagedNames.has(firstName.toString("latin1"));
    if (checksum === "damaged" || isLinkToDamaged) {
      if (firstName === null) this.#damagedNames.add(placed.path.toString("latin1"));
      this.#warn(placed.source, "content_damaged");
      this.#part.leaveOut();
    } else {
      const member = this.#options.layout.memberOf(placed, { checksum, firstName });
      this.#part.add(checksum, firstName);
      this.#count(member);
      this.#countFile(placed);
      await this.#options.onProgress(this.#bytes, this.#files);
    }
    if (this.#part.isFull) await this.#finishPart();
  }

  #count(member: ArchiveMember | null): void {
    if (member === null) return;
    this.#directoryOffset += member.recordAt(this.#memberOffset).length;
    this.#memberOffset += member.header.length + member.contentBytes + member.padding.length;
    this.#memberCount++;
  }

  #countFile({ entry }: PlacedEntry): void {
    if (entry.type !== "file") return;
    this.#files++;
    this.#bytes += entry.size;
    this.#part.bytes += entry.size;
  }

  #noteFrame(error: unknown): void {
    if (error instanceof DamageError && error.version !== null) this.#options.onDamagedFrame(error.version);
  }

  /** A directory of many nodes is named once. */
  #warnUnreadable(directory: Buffer): void {
    const key = directory.toString("latin1");
    if (this.#unreadable.has(key)) return;
    this.#unreadable.add(key);
    this.#warn(directory, "entries_unreadable");
  }

  #warn(path: Buffer, code: WarningCode): void {
    this.#warnings.push({ number: this.#warningCount++, path, code });
  }

  async #finishPart(): Promise<void> {
    const row = this.#part.row(this.#options.layout.hasChecksums);
    await this.#options.onPart({ row, ...this.#takeResult() });
    this.#nextPart();
  }

  #takeResult() {
    const warnings = this.#warnings;
    this.#warnings = [];
    return {
      ...{ warnings, warningCount: this.#warningCount, leftOutNodes: [...this.#leftOutNodes] },
      ...{ bytesRestored: this.#bytes, filesRestored: this.#files },
    };
  }

  #nextPart(): void {
    const { number, place } = this.#part;
    this.#part = new OpenPart(number + 1, {
      ...place,
      ...{ memberOffset: this.#memberOffset, directoryOffset: this.#directoryOffset },
    });
  }
}

interface PartStart {
  readonly root: number;
  readonly after: Buffer | null;
  readonly memberOffset: number;
  readonly directoryOffset: number;
}

/** A part that is being filled. */
class OpenPart {
  readonly number: number;
  readonly #start: PartStart;
  readonly #checksums: number[] = [];
  readonly #leftOut: number[] = [];
  readonly #linkPlaces: number[] = [];
  readonly #linkTargets: Buffer[] = [];
  /** Where the walk goes on behind its last entry. */
  place: { readonly root: number; readonly after: Buffer | null };
  /** Of the files in it. */
  bytes = 0;

  constructor(number: number, start: PartStart) {
    this.number = number;
    this.#start = start;
    this.place = start;
  }

  get entries(): number {
    return this.#checksums.length;
  }

  get isFull(): boolean {
    return this.entries >= entriesPerPart || this.bytes >= bytesPerPart;
  }

  move({ rootNumber, source }: PlacedEntry): void {
    this.place = { root: rootNumber, after: source };
  }

  leaveOut(): void {
    this.#leftOut.push(this.entries);
    this.#checksums.push(0);
  }

  add(checksum: number, firstName: Buffer | null): void {
    if (firstName !== null) {
      this.#linkPlaces.push(this.entries);
      this.#linkTargets.push(firstName);
    }
    this.#checksums.push(checksum);
  }

  row(hasChecksums: boolean): PartRow {
    const { root, after, memberOffset, directoryOffset } = this.#start;
    return {
      ...{ part: this.number, root, after_path: after, entries: this.entries },
      ...{ member_offset: memberOffset, directory_offset: directoryOffset },
      checksums: hasChecksums ? encodeChecksums(this.#checksums) : null,
      ...{ left_out: this.#leftOut, link_places: this.#linkPlaces, link_targets: this.#linkTargets },
    };
  }
}

function encodeChecksums(checksums: readonly number[]): Buffer {
  const bytes = Buffer.alloc(checksumBytes * checksums.length);
  for (const [at, checksum] of checksums.entries()) bytes.writeUInt32LE(checksum, checksumBytes * at);
  return bytes;
}
