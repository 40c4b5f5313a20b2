/**
 * Reads a tar archive as it arrives, and reports each entry with the place of its content. It keeps no content, because
 * the archive is written to a spool file at the same time.
 *
 * The archive is hostile input. Whatever is not understood is refused; what is left out on purpose (devices, bytes after
 * the end) is reported as a warning. An archive without its end mark is refused: when `tar` is stopped, its pipe ends as
 * if the archive were complete, and nothing else shows the difference.
 */

import { maxEntries, snapshotPath } from "./archive-path.ts";
import { type ExtendedRecords, type Moment, readDecimal, readExtendedHeader, readMoment } from "./extended-header.ts";
import { InvalidArchiveError } from "./invalid-archive.ts";
import {
  addHeaderParts,
  BodyMapReader,
  readSparseRecords,
  type SparseMap,
  SparseMapBuilder,
  type SparseRecords,
} from "./sparse-map.ts";
import {
  blockSize,
  fieldOf,
  isHeader,
  isZeroBlock,
  readHeader,
  readNumber,
  sizeOf,
  type TarHeader,
  textOf,
} from "./tar-header.ts";

/** Extended attributes and sparse maps can be large; more than this is no honest header. */
const maxExtendedHeaderBytes = 8 * 1024 * 1024;

/** Well above the longest path, which is refused by its own limit. */
const maxLongNameBytes = 64 * 1024;

/** Ids of users and groups have 32 bits. */
const maxId = 2 ** 32 - 1;

const permissionBits = 0o7777;
const slash = 0x2f;

interface EntryFields {
  /** As in a snapshot; empty for the root. */
  readonly path: Buffer;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly mtime: Moment;
}

export type TarEntry =
  | (EntryFields & {
      readonly type: "file";
      /** Size of the file; of the expanded file where it is sparse. */
      readonly size: number;
      /** Where its content begins in the archive. */
      readonly offset: number;
      /** Null: the content is in one piece. */
      readonly sparse: SparseMap | null;
    })
  | (EntryFields & { readonly type: "directory" })
  | (EntryFields & { readonly type: "symbolic-link"; readonly target: Buffer })
  /** Another name of a file that came before. */
  | (EntryFields & { readonly type: "hard-link"; readonly target: Buffer });

export type TarWarningCode = "special_file" | "unknown_type" | "empty_link_target" | "trailing_bytes";

export interface TarEvents {
  entry(entry: TarEntry): void;
  /** The path is empty where no entry is concerned. */
  warning(path: Uint8Array, code: TarWarningCode): void;
}

const regularTypes: ReadonlySet<string> = new Set(["0", "7"]);
const specialTypes: ReadonlySet<string> = new Set(["3", "4", "6"]);
/** They have no content, whatever their size says: programs write the size of the linked file, or of the directory. */
const typesWithoutContent: ReadonlySet<string> = new Set(["1", "2", "3", "4", "5", "6"]);

export class TarParser {
  readonly #events: TarEvents;
  /** Of the next byte in the archive. */
  #position = 0;
  #skip = 0;
  /** Bytes that are collected for `#take`. */
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #wanted = blockSize;
  #take: (bytes: Buffer) => void = (block) => this.#takeHeader(block);
  #entries = 0;
  /** Entries before the one that is being read. */
  #entriesBefore = 0;
  #isAfterEndMark = false;
  #isIgnoringRest = false;
  /** For the next entry, and for all entries. */
  #records: ExtendedRecords = [];
  #globalRecords: ExtendedRecords = [];
  #longName: Buffer | null = null;
  #longLinkName: Buffer | null = null;

  constructor(events: TarEvents) {
    this.#events = events;
  }

  /** The next bytes of the archive. What is reported does not refer to them. */
  write(chunk: Buffer): void {
    this.#naming(() => this.#write(chunk));
  }

  /** The archive has ended. */
  end(): void {
    this.#naming(() => this.#end());
  }

  /** Errors say which entry they are about. */
  #naming(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (error instanceof InvalidArchiveError) error.entry = this.#entriesBefore;
      throw error;
    }
  }

  #write(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#isIgnoringRest) return;
      const left = chunk.length - at;
      if (this.#skip > 0) {
        const skipped = Math.min(this.#skip, left);
        this.#skip -= skipped;
        this.#position += skipped;
        at += skipped;
        continue;
      }
      const taken = Math.min(this.#wanted - this.#pendingBytes, left);
      this.#collect(chunk.subarray(at, at + taken));
      at += taken;
    }
  }

  #end(): void {
    if (this.#isIgnoringRest) return;
    if (this.#isAfterEndMark) {
      const rest = Buffer.concat(this.#pending);
      if (rest.some((byte) => byte !== 0)) this.#events.warning(Buffer.alloc(0), "trailing_bytes");
      return;
    }
    const isBetweenEntries = this.#skip === 0 && this.#pendingBytes === 0 && this.#wanted === blockSize;
    throw new InvalidArchiveError(isBetweenEntries ? "no_end_mark" : "truncated");
  }

  #collect(bytes: Buffer): void {
    this.#position += bytes.length;
    if (this.#pendingBytes + bytes.length < this.#wanted) {
      this.#pending.push(Buffer.from(bytes));
      this.#pendingBytes += bytes.length;
      return;
    }
    const whole = this.#pendingBytes === 0 ? bytes : Buffer.concat([...this.#pending, bytes]);
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#take(whole);
  }

  /** Collects this many bytes next. */
  #want(bytes: number, take: (bytes: Buffer) => void): void {
    this.#wanted = bytes;
    this.#take = take;
  }

  #wantHeader(): void {
    this.#want(blockSize, (block) => this.#takeHeader(block));
  }

  /** Passes over content and what fills its last block. */
  #skipContent(size: number): void {
    this.#skip = padded(size);
    this.#wantHeader();
  }

  #takeHeader(block: Buffer): void {
    this.#entriesBefore = this.#entries;
    if (isZeroBlock(block)) {
      this.#isAfterEndMark = true;
      return;
    }
    if (!isHeader(block)) {
      if (!this.#isAfterEndMark) throw new InvalidArchiveError("not_a_header");
      this.#isIgnoringRest = true;
      this.#events.warning(Buffer.alloc(0), "trailing_bytes");
      return;
    }
    // After the end mark of an archive another one can follow: `cat a.tar b.tar`.
    this.#isAfterEndMark = false;
    const header = readHeader(block);
    this.#takeByType(header, block);
  }

  #takeByType(header: TarHeader, block: Buffer): void {
    switch (header.type) {
      case "x":
      case "X":
        this.#wantRecords(header, (records) => {
          this.#records = [...this.#records, ...records];
        });
        break;
      case "g":
        this.#wantRecords(header, (records) => {
          this.#globalRecords = [...new Map([...this.#globalRecords, ...records])];
        });
        break;
      case "L":
        this.#wantLongName(header, (name) => {
          this.#longName = name;
        });
        break;
      case "K":
        this.#wantLongName(header, (name) => {
          this.#longLinkName = name;
        });
        break;
      case "M":
        throw new InvalidArchiveError("multi_volume", header.name);
      case "V":
        this.#skipContent(header.size);
        break;
      default:
        this.#takeEntry(header, block);
    }
  }

  #wantRecords({ size }: TarHeader, keep: (records: ExtendedRecords) => void): void {
    if (size > maxExtendedHeaderBytes) throw new InvalidArchiveError("header_too_large");
    this.#wantBody(size, (body) => keep(readExtendedHeader(body)));
  }

  #wantLongName({ size }: TarHeader, keep: (name: Buffer) => void): void {
    if (size > maxLongNameBytes) throw new InvalidArchiveError("header_too_large");
    this.#wantBody(size, (body) => keep(textOf(body)));
  }

  #wantBody(size: number, take: (body: Buffer) => void): void {
    if (size === 0) {
      take(Buffer.alloc(0));
    } else {
      this.#want(padded(size), (body) => {
        this.#wantHeader();
        take(body.subarray(0, size));
      });
    }
  }

  #takeEntry(header: TarHeader, block: Buffer): void {
    if (++this.#entries > maxEntries) throw new InvalidArchiveError("too_many_entries");
    const hasRecords = this.#records.length > 0 || this.#globalRecords.length > 0;
    const records = hasRecords ? new Map([...this.#globalRecords, ...this.#records]) : noRecords;
    const sparse = this.#records.length > 0 ? readSparseRecords(this.#records) : notSparse;
    const found = new FoundEntry(header, records, sparse, { name: this.#longName, linkName: this.#longLinkName });
    this.#records = [];
    this.#longName = null;
    this.#longLinkName = null;
    if (header.type === "S") {
      this.#takeSparseHeader(found, block);
    } else if (sparse.place === "body") {
      this.#takeBodyMap(found, sparse);
    } else {
      const map = sparse.place === "records" ? sparse.map.finish(sparse.realSize, found.size) : null;
      this.#report(found, this.#position, map);
      this.#skipContent(found.hasContent ? found.size : 0);
    }
  }

  /** GNU: the map is in the header and in the blocks after it. */
  #takeSparseHeader(found: FoundEntry, block: Buffer): void {
    const map = new SparseMapBuilder();
    const realSize = sizeOf(readNumber(fieldOf(block, "sparseRealSize"), found.path), found.path);
    const takeBlock = (each: Buffer, isFirst: boolean): void => {
      if (addHeaderParts(map, each, found.path, isFirst)) {
        this.#want(blockSize, (next) => takeBlock(next, false));
      } else {
        this.#report(found, this.#position, map.finish(realSize, found.size));
        this.#skipContent(found.size);
      }
    };
    takeBlock(block, true);
  }

  /** Version 1.0: the map is the first part of the content. */
  #takeBodyMap(found: FoundEntry, sparse: SparseRecords): void {
    const reader = new BodyMapReader(sparse.map);
    const takeBlock = (block: Buffer): void => {
      reader.add(block);
      if (reader.size > padded(found.size)) throw new InvalidArchiveError("malformed_sparse_map", found.path);
      if (!reader.isComplete) return;
      const stored = found.size - reader.size;
      this.#report(found, this.#position, sparse.map.finish(sparse.realSize, stored));
      this.#skipContent(stored);
    };
    this.#want(blockSize, takeBlock);
  }

  #report(found: FoundEntry, offset: number, sparse: SparseMap | null): void {
    const { entry, warning } = found.describe(offset, sparse);
    if (warning !== null) this.#events.warning(found.path, warning);
    if (entry !== null) this.#events.entry(entry);
  }
}

const noRecords: ReadonlyMap<string, Buffer> = new Map();
const notSparse = readSparseRecords([]);

/** An entry with what extended headers replace. */
class FoundEntry {
  readonly #header: TarHeader;
  readonly #linkName: Buffer;
  readonly #isDirectory: boolean;
  readonly #mtime: Moment;
  readonly #uid: number;
  readonly #gid: number;
  readonly path: Buffer;
  /** Bytes of its content in the archive. */
  readonly size: number;
  readonly hasContent: boolean;

  constructor(
    header: TarHeader,
    records: ReadonlyMap<string, Buffer>,
    sparse: SparseRecords,
    long: { readonly name: Buffer | null; readonly linkName: Buffer | null },
  ) {
    // An empty value takes back what a global header said.
    const value = (key: string) => (records.get(key)?.length === 0 ? undefined : records.get(key));
    const name = sparse.name ?? value("path") ?? long.name ?? header.name;
    this.#header = header;
    this.path = snapshotPath(name);
    this.#linkName = value("linkpath") ?? long.linkName ?? header.linkName;
    // Before ustar a directory was a file whose name ends with a slash.
    const isOldDirectory = regularTypes.has(header.type) && name.at(-1) === slash;
    this.#isDirectory = header.type === "5" || header.type === "D" || isOldDirectory;
    this.hasContent = !typesWithoutContent.has(header.type) && !isOldDirectory;
    const size = value("size");
    this.size = size === undefined ? header.size : readDecimal(size);
    const mtime = value("mtime");
    this.#mtime = mtime === undefined ? { seconds: header.mtimeSeconds, nanos: 0 } : readMoment(mtime);
    this.#uid = this.#id(value("uid"), header.uid);
    this.#gid = this.#id(value("gid"), header.gid);
  }

  describe(offset: number, sparse: SparseMap | null): { entry: TarEntry | null; warning: TarWarningCode | null } {
    const { type, mode } = this.#header;
    const shared = { path: this.path, mode: mode & permissionBits, uid: this.#uid, gid: this.#gid, mtime: this.#mtime };
    if (this.#isDirectory) return { entry: { type: "directory", ...shared }, warning: null };
    if (this.path.length === 0) throw new InvalidArchiveError("empty_path", this.#header.name);
    if (specialTypes.has(type)) return { entry: null, warning: "special_file" };
    if (type === "1")
      return { entry: { type: "hard-link", ...shared, target: snapshotPath(this.#linkName) }, warning: null };
    if (type === "2") return this.#symbolicLink(shared);
    const warning = regularTypes.has(type) || type === "S" ? null : "unknown_type";
    return { entry: { type: "file", ...shared, size: sparse?.realSize ?? this.size, offset, sparse }, warning };
  }

  #symbolicLink(shared: EntryFields): { entry: TarEntry | null; warning: TarWarningCode | null } {
    const target = this.#linkName;
    if (target.includes(0)) throw new InvalidArchiveError("unsafe_path", this.path);
    if (target.length === 0) return { entry: null, warning: "empty_link_target" };
    return { entry: { type: "symbolic-link", ...shared, target }, warning: null };
  }

  #id(value: Buffer | undefined, ofHeader: number): number {
    const id = value === undefined ? ofHeader : readDecimal(value);
    if (id < 0 || id > maxId) throw new InvalidArchiveError("number_out_of_range", this.path);
    return id;
  }
}

function padded(size: number): number {
  return Math.ceil(size / blockSize) * blockSize;
}
