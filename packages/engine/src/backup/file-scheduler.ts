/**
 * Takes the events of the walk, compares files with the file cache, sends changed files to the workers (small ones in
 * bundles, large ones in stripes), and passes all entries to the tree writer in walk order.
 */

import type { FileRecord } from "../cache/file-record.ts";
import { mtimeMsOf } from "../cache/file-record.ts";
import { blockIdLength, fileHash } from "../format/hash.ts";
import { maxFileSegments } from "../format/tree-builder.ts";
import type { FileContent, Reference, SegmentReference } from "../format/tree-entry.ts";
import type { FileEvent, QuickStat, QuickStats, SourceEvent } from "../source/source.ts";
import type { StoredBlocks, StoredFile } from "../source/stored-file.ts";
import type { CutResult } from "../workers/cut-job-queue.ts";
import { probeBytes } from "../workers/cutter/page-files.ts";
import {
  bundledBelowBytes,
  bundleEndsAfter,
  bundleIsFull,
  maxBundleEntries,
  overlapping,
  stripesOf,
} from "./bundles.ts";
import type { LazyUpload } from "./lazy-upload.ts";
import { readPageLayout } from "./read-page-layout.ts";
import type { StoredContent, TreeWriter } from "./tree-writer.ts";

interface BundledFile {
  readonly event: FileEvent;
  readonly oldSegment: number;
  readonly resolve: (content: StoredContent) => void;
  readonly reject: (error: unknown) => void;
}

export class FileScheduler {
  readonly #upload: Pick<LazyUpload, "cut" | "join">;
  readonly #tree: TreeWriter;
  /** Damaged ordinals: a record that reaches one is not used. Null if no record can be used. */
  readonly #damaged: ReadonlySet<number> | null;
  readonly #probe = Buffer.allocUnsafe(probeBytes);
  #bundle: BundledFile[] = [];
  #bundleBytes = 0;
  /** Entries that were queued before the bundle. */
  #queuedBefore = 0;
  unchanged = 0;

  constructor(upload: Pick<LazyUpload, "cut" | "join">, tree: TreeWriter, damaged: ReadonlySet<number> | null) {
    this.#upload = upload;
    this.#tree = tree;
    this.#damaged = damaged;
  }

  /** Takes all files of a directory at once, if its digest is that of the base. Returns false if it is not. */
  takeUnchangedDirectory(stats: QuickStats): boolean {
    if (!this.#tree.keepAll(stats)) return false;
    this.unchanged += stats.count;
    return true;
  }

  /** Takes a file with a quick stat. For a file that changed, `fullStat` gets the exact times. */
  takeQuickStat(stat: QuickStat): Promise<void> | undefined {
    if (this.#mustWait) return this.#waitForTree().then(() => this.takeQuickStat(stat));
    const record = this.#tree.findRecordOf(stat);
    if (record?.isUnchanged(stat) && !this.#isDamaged(record)) {
      this.unchanged++;
      this.#tree.keep(record);
      return this.#tree.runningStep;
    }
    const event = stat.fullStat();
    if (event.type === "file") return this.#takeFile(event, record);
    // It became a folder after the quick stat. The walk does not enter it, but the next backup will.
    return this.take(event.type === "enter" ? { type: "warning", path: event.path, code: "changed" } : event);
  }

  async take(event: SourceEvent): Promise<void> {
    if (this.#mustWait) await this.#waitForTree();
    if (event.type === "file") return this.#takeFile(event, this.#tree.findRecord(event));
    this.#tree.add(event);
    return this.#tree.runningStep;
  }

  get #mustWait(): boolean {
    return this.#bundleIsLong || this.#tree.isFull;
  }

  get #bundleIsLong(): boolean {
    return this.#bundle.length > 0 && this.#tree.queuedCount - this.#queuedBefore >= maxBundleEntries;
  }

  /** Waits for space in the queue of the tree writer. The open bundle is not sent for that: its files would depend on the time. */
  async #waitForTree(): Promise<void> {
    if (this.#bundleIsLong) await this.#sendBundle();
    await this.#tree.waitForSpace();
  }

  async #takeFile(event: FileEvent, record: FileRecord | null): Promise<void> {
    if (event.stored !== undefined) return this.#takeStored(event, event.stored);
    if (record !== null && this.#hasUsableContent(record, event)) {
      this.unchanged++;
      const { content, hash, size } = record.entry;
      const ordinals: number[] = [];
      record.eachOrdinal((ordinal) => ordinals.push(ordinal));
      return this.#tree.addFile(event, Promise.resolve({ content, hash, size, ordinals, error: null, changed: false }));
    }
    const old = record?.entry.content ?? null;
    if (event.size === 0) return this.#tree.addFile(event, Promise.resolve(emptyContent));
    if (event.size < bundledBelowBytes) return this.#addToBundle(event, old);
    const { content } = await this.#stripes(event, old);
    return this.#tree.addFile(
      event,
      content.then((stored) => this.#readAgainIfChanged(event, stored)),
    );
  }

  /**
   * Takes a file that is stored already. A small one goes into a bundle all the same: a snapshot has the same tree, however
   * its files came.
   */
  async #takeStored(event: FileEvent, stored: StoredFile): Promise<void> {
    if (stored.kind === "blocks") return this.#addToBundle(event, null);
    if (event.size === 0) return this.#tree.addFile(event, Promise.resolve(emptyContent));
    return this.#tree.addFile(event, this.#contentOf(stored.segments));
  }

  async finish(): Promise<Reference> {
    await this.#sendBundle();
    return this.#tree.finish();
  }

  #hasUsableContent(record: FileRecord, event: FileEvent): boolean {
    if (this.#damaged === null) return false;
    return record.hasSameContent(event.size, mtimeMsOf(event.stat), event.changeStat) && !this.#isDamaged(record);
  }

  #isDamaged(record: FileRecord): boolean {
    const damaged = this.#damaged;
    if (damaged === null || damaged.size === 0) return damaged === null;
    let found = false;
    record.eachOrdinal((ordinal) => {
      found ||= damaged.has(ordinal);
    });
    return found;
  }

  async #addToBundle(event: FileEvent, old: FileContent | null): Promise<void> {
    if (bundleIsFull(this.#bundleBytes, event.size)) await this.#sendBundle();
    if (this.#bundle.length === 0) this.#queuedBefore = this.#tree.queuedCount;
    const content = new Promise<StoredContent>((resolve, reject) => {
      this.#bundle.push({ event, oldSegment: old?.kind === "part" ? old.segment.ordinal : 0, resolve, reject });
    });
    content.catch(() => {
      // The tree awaits it later. Without this handler, Node would report an unhandled rejection until then.
    });
    this.#bundleBytes += event.size;
    this.#tree.addFile(event, content);
    if (bundleEndsAfter(this.#bundleBytes, this.#bundle.length, event.stat.name, event.size)) await this.#sendBundle();
  }

  async #sendBundle(): Promise<void> {
    const bundle = this.#bundle;
    if (bundle.length === 0) return;
    this.#bundle = [];
    this.#bundleBytes = 0;
    if (bundle[0]?.event.stored !== undefined) return this.#joinBundle(bundle);
    const oldSegments = [
      ...new Set(bundle.map(({ oldSegment }) => oldSegment).filter((oldSegment) => oldSegment !== 0)),
    ];
    const files = bundle.map(({ event }) => ({ ...event.content, length: event.size }));
    const { done } = await this.#upload.cut({ kind: "bundle", files, oldSegmentsAt: () => oldSegments });
    done.then(
      (result) => this.#settleBundle(bundle, result),
      (error: unknown) => {
        for (const { reject } of bundle) reject(error);
      },
    );
  }

  /** Makes a bundle of files whose blocks are stored already. */
  async #joinBundle(bundle: readonly BundledFile[]): Promise<void> {
    try {
      const files = bundle.map(({ event }) => storedBlocksOf(event));
      const segment = await this.#upload.join(files);
      let first = 0;
      for (const [i, { ids, hash }] of files.entries()) {
        const count = ids.length / blockIdLength;
        const content: FileContent = { kind: "part", segment, first, count };
        const size = bundle[i]?.event.size ?? 0;
        bundle[i]?.resolve({ content, hash, size, ordinals: [segment.ordinal], error: null, changed: false });
        first += count;
      }
    } catch (error) {
      for (const { reject } of bundle) reject(error);
    }
  }

  #settleBundle(bundle: readonly BundledFile[], result: CutResult): void {
    for (const [i, { event, resolve, reject }] of bundle.entries()) {
      const content = contentOfPart(result, i);
      if (content === null) reject(new Error("the worker returned fewer files than the bundle has"));
      else if (content.changed) this.#readAgainIfChanged(event, content).then(resolve, reject);
      else resolve(content);
    }
  }

  /**
   * A file that changed while it was read is read a second time: what was read first may be of two moments. A large file is read in stripes, and each
   * stripe opens it, so they may even be of two files. If it changes again, it is stored with a warning.
   */
  async #readAgainIfChanged(event: FileEvent, stored: StoredContent): Promise<StoredContent> {
    if (!stored.changed) return stored;
    const now = event.statAgain?.() ?? null;
    if (now === null) return stored;
    const second = await this.#readAlone(now);
    return second.error === null ? { ...second, event: now } : stored;
  }

  async #readAlone(event: FileEvent): Promise<StoredContent> {
    if (event.size === 0) return emptyContent;
    if (event.size >= bundledBelowBytes) return (await this.#stripes(event, null)).content;
    const files = [{ ...event.content, length: event.size }];
    const { done } = await this.#upload.cut({ kind: "bundle", files, oldSegmentsAt: () => [] });
    return contentOfPart(await done, 0) ?? { ...emptyContent, error: "unreadable" };
  }

  /** Sends the stripes of a large file to the workers. Resolves, when all are sent, to a promise of the content. */
  async #stripes(event: FileEvent, old: FileContent | null): Promise<{ readonly content: Promise<StoredContent> }> {
    const before = old?.kind === "segments" ? old.segments : [];
    const pageLayout = readPageLayout(event.content, event.size, this.#probe);
    const cuts: Promise<CutResult>[] = [];
    for (const { offset, length } of stripesOf(event.size)) {
      const file = { ...event.content, offset: event.content.offset + offset, length };
      const oldSegmentsAt = (at: number, bytes: number) => overlapping(before, offset + at, bytes);
      const { done } = await this.#upload.cut({ kind: "stripe", file, at: offset, pageLayout, oldSegmentsAt });
      cuts.push(done);
    }
    return { content: Promise.all(cuts).then((results) => this.#joinStripes(results)) };
  }

  async #joinStripes(results: readonly CutResult[]): Promise<StoredContent> {
    const failed = results.find(({ outcome }) => outcome?.error !== null);
    if (failed !== undefined) return { ...emptyContent, error: failed.outcome?.error ?? "unreadable" };
    const segments: SegmentReference[] = results.flatMap((result) => result.segments);
    const changed = results.some(({ outcome }) => outcome?.changed === true);
    return { ...(await this.#contentOf(segments)), changed };
  }

  async #contentOf(segments: readonly SegmentReference[]): Promise<StoredContent> {
    // No reader would accept its list.
    if (segments.length > maxFileSegments) return { ...emptyContent, error: "too_large" };
    const size = segments.reduce((sum, { bytes }) => sum + bytes, 0);
    const hash = fileHash(
      size,
      segments.map(({ id }) => id),
    );
    const { content, nodes } = await this.#tree.listOf(segments);
    const ordinals = [...new Set(segments.map(({ ordinal }) => ordinal)), ...nodes];
    return { content, hash, size, ordinals, error: null, changed: false };
  }
}

/** A source has stored files or others, not both in one bundle. */
function storedBlocksOf({ stored }: FileEvent): StoredBlocks {
  if (stored?.kind !== "blocks") throw new Error("a bundle has stored files and others");
  return stored;
}

const emptyContent: StoredContent = {
  content: { kind: "empty" },
  hash: fileHash(0, []),
  size: 0,
  ordinals: [],
  error: null,
  changed: false,
};

/** The content of one file of a bundle; null if the worker returned fewer. */
function contentOfPart({ segments: [segment], parts }: CutResult, index: number): StoredContent | null {
  const part = parts[index];
  if (part === undefined) return null;
  const { first, blocks, hash, bytes, error, changed } = part;
  const none = blocks === 0 || segment === undefined;
  const content: FileContent = none
    ? { kind: "empty" }
    : { kind: "part", segment: { ordinal: segment.ordinal, id: segment.id }, first, count: blocks };
  return { content, hash, size: bytes, ordinals: none ? [] : [segment.ordinal], error, changed };
}
