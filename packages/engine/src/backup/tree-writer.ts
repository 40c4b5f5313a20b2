/**
 * Takes entries in walk order, waits for the content of each, and writes the tree, the file cache and the bitmap of what the
 * snapshot reaches. It holds the open directories of one path and a bounded queue.
 *
 * To *keep* a file or a directory is to use its entry or its nodes of the base snapshot again, because it is unchanged.
 *
 * If the queue is empty, an entry that has nothing to wait for goes into the tree at once, without a promise. If nothing
 * has changed in the source, all entries do.
 */

import type { CachedDirectory } from "../cache/cached-directory.ts";
import type { FileCache } from "../cache/file-cache.ts";
import type { FileRecord } from "../cache/file-record.ts";
import type { Bitmap } from "../format/bitmap.ts";
import type { NodeSink } from "../format/tree-builder.ts";
import { contentOf, DirectoryBuilder } from "../format/tree-builder.ts";
import type { FileContent, Reference, SegmentReference, TreeEntry } from "../format/tree-entry.ts";
import type { BackupWarning } from "../format/warnings.ts";
import { WarningList } from "../format/warnings.ts";
import type { FileEvent, QuickStat, QuickStats, SourceEvent } from "../source/source.ts";
import { maxBundleEntries } from "./bundles.ts";
import { DirectoryWriter } from "./directory-writer.ts";
import { WaitingSteps } from "./waiting-steps.ts";

type OtherEvent = Exclude<SourceEvent, FileEvent>;

/** Entries that the tree takes from the queue at once. */
const entriesPerStep = 256;

/**
 * Entries between the walk and the tree. Enough for the bundles that all workers work on. When it is full, a step is left in front of the
 * open bundle, so the tree goes on without it.
 */
const maxQueued = maxBundleEntries + entriesPerStep;

/** Warnings that are returned to the caller for display; a longer list is of no use to a person. */
const maxShownWarnings = 1000;

/**
 * A file that changed less than this before the backup began is not cached, so the next backup reads it again: after it
 * was read, it can change without a new timestamp. A program that writes through a mapping sets the file's times with its
 * first write to a page. Later writes to that page set no times until the kernel has written the page back. Linux does
 * that after 30 s (`dirty_expire_centisecs`) and checks every 5 s (`dirty_writeback_centisecs`). Timestamps with a
 * resolution of 1 or 2 s (FAT, old NFS) are covered too.
 */
export const minCacheAgeMs = 35_000;

/** A file's content as the tree will name it. */
export interface StoredContent {
  readonly content: FileContent;
  readonly hash: Uint8Array;
  readonly size: number;
  readonly ordinals: readonly number[];
  readonly error: string | null;
  readonly changed: boolean;
  /** The file when its content was read, where it is another one than the walk found. */
  readonly event?: FileEvent | undefined;
}

type Queued =
  | OtherEvent
  | { readonly type: "kept"; readonly record: FileRecord }
  | { readonly type: "stored"; readonly event: FileEvent; readonly content: Promise<StoredContent> };

export class TreeWriter {
  readonly #sink: NodeSink;
  readonly #reuseNodes: boolean;
  readonly #cache: FileCache | null;
  readonly #cacheIfChangedBefore: bigint;
  readonly #reach: Bitmap;
  /** One function for all files, because it is called for every unchanged file. */
  readonly #addToReach = (ordinal: number) => this.#reach.add(ordinal);
  readonly #queue: Queued[] = [];
  readonly #stack: DirectoryWriter[] = [];
  /** The directories on the path of the walk, which is ahead of the tree. */
  readonly #walked: (CachedDirectory | null)[] = [];
  /** The directories that the walk has entered and the tree has not. */
  readonly #aheadOfTree: (CachedDirectory | null)[] = [];
  readonly #steps = new WaitingSteps();
  #root: Reference | null = null;
  #running: Promise<void> | null = null;
  #failure: unknown = null;
  /** The first warnings, to be shown. The manifest has all of them. */
  readonly warnings: BackupWarning[] = [];
  readonly allWarnings = new WarningList();
  files = 0;
  bytes = 0;
  /** Entries that were queued so far. */
  queuedCount = 0;

  /**
   * `startedAt`: when the backup began, in milliseconds. `reuseNodes`: nothing in the base snapshot is damaged, so its
   * nodes can be used without asking the target.
   */
  constructor(sink: NodeSink, reach: Bitmap, cache: FileCache | null, startedAt: number, reuseNodes: boolean) {
    this.#reach = reach;
    this.#cache = cache;
    this.#cacheIfChangedBefore = BigInt(startedAt - minCacheAgeMs);
    this.#reuseNodes = reuseNodes;
    const add = (ordinal: number) => {
      reach.add(ordinal);
      return ordinal;
    };
    this.#sink = {
      nodeKey: sink.nodeKey,
      isNewOrdinal: (ordinal) => sink.isNewOrdinal?.(ordinal) ?? false,
      putNode: (id, bytes, isNew) => {
        const ordinal = sink.putNode(id, bytes, isNew);
        return typeof ordinal === "number" ? add(ordinal) : ordinal.then(add);
      },
    };
  }

  get isFull(): boolean {
    return this.#queue.length >= maxQueued;
  }

  /** Waits until the queue is not full. */
  async waitForSpace(): Promise<void> {
    while (this.isFull) {
      this.#startStep();
      await this.#running;
    }
    this.#throwFailure();
  }

  /** The step that is running, if nothing is queued. After it, entries are added without the queue. */
  get runningStep(): Promise<void> | undefined {
    return this.#queue.length === 0 ? (this.#running ?? undefined) : undefined;
  }

  /** The cache's record of a file in the directory that the walk is in. Valid until the next call. */
  findRecord(event: FileEvent): FileRecord | null {
    return this.#walked.at(-1)?.find(event.stat.name) ?? null;
  }

  findRecordOf({ bytes, nameStart, nameEnd }: QuickStat): FileRecord | null {
    return this.#walked.at(-1)?.find(bytes, nameStart, nameEnd) ?? null;
  }

  /** Adds an unchanged file. */
  keep(record: FileRecord): void {
    this.#throwFailure();
    if (this.#isIdle) this.#waitFor(this.#keep(record));
    else this.#push({ type: "kept", record: record.copy() });
  }

  /** Adds all files of the directory that the walk is in, where the digest is the same as in the base snapshot. */
  keepAll(stats: QuickStats): boolean {
    this.#throwFailure();
    // The tree can still be in an earlier directory.
    if (!this.#isIdle) return false;
    const directory = this.#top();
    if (!directory.keepAll(stats)) return false;
    this.files += directory.files;
    this.bytes += directory.size;
    return true;
  }

  add(event: OtherEvent): void {
    if (event.type === "enter") {
      const cached = this.#cache?.directory(event.path, event.identity) ?? null;
      this.#walked.push(cached);
      this.#aheadOfTree.push(cached);
    } else if (event.type === "leave") this.#walked.pop();
    this.#throwFailure();
    if (this.#isIdle) this.#waitFor(this.#apply(event));
    else this.#push(event);
  }

  addFile(event: FileEvent, content: Promise<StoredContent>): void {
    content.catch(() => {
      // The queue awaits it later. Without this handler, Node would report an unhandled rejection until then.
    });
    this.#push({ type: "stored", event, content });
  }

  /** The content of a file with many segments, and the ordinals of its list nodes. */
  async listOf(segments: readonly SegmentReference[]): Promise<{ content: FileContent; nodes: number[] }> {
    const nodes: number[] = [];
    const sink: NodeSink = {
      ...this.#sink,
      putNode: async (id, bytes, isNew) => {
        const ordinal = await this.#sink.putNode(id, bytes, isNew);
        nodes.push(ordinal);
        return ordinal;
      },
    };
    return { content: await contentOf(sink, segments), nodes };
  }

  async finish(): Promise<Reference> {
    while (this.#queue.length > 0 || this.#running !== null) {
      this.#startStep();
      await this.#running;
    }
    this.#throwFailure();
    if (this.#root === null) throw new Error("the walk ended before it left the root");
    return this.#root;
  }

  get #isIdle(): boolean {
    return this.#queue.length === 0 && this.#running === null;
  }

  #waitFor(step: Promise<void> | undefined): void {
    if (step !== undefined) this.#startStep(step);
  }

  #push(queued: Queued): void {
    this.#throwFailure();
    this.#queue.push(queued);
    this.queuedCount++;
    this.#startStep();
  }

  #startStep(step?: Promise<void>): void {
    if (this.#running !== null || this.#failure !== null) return;
    this.#running = (step ?? this.#applyQueued())
      .catch((error: unknown) => {
        this.#failure = error;
        this.#queue.length = 0;
      })
      .finally(() => {
        this.#running = null;
      });
  }

  /** Applies entries of the queue in order, a bounded number of them. */
  async #applyQueued(): Promise<void> {
    let done = 0;
    for (const head of this.#queue) {
      const step = this.#apply(head);
      if (step !== undefined) await step;
      // Removing entries from an array one by one is slow; removing many at once is not.
      if (++done === entriesPerStep) break;
    }
    this.#queue.splice(0, done);
  }

  #apply(queued: Queued): Promise<void> | undefined {
    switch (queued.type) {
      case "enter": {
        const known = { cached: this.#aheadOfTree.shift() ?? null, reuseNodes: this.#reuseNodes };
        this.#stack.push(new DirectoryWriter(queued.stat, this.#sink, this.#reach, this.#steps, known));
        return undefined;
      }
      case "leave":
        return this.#leave();
      case "warning":
        this.#warn(queued.path, queued.code);
        return undefined;
      case "link":
        return this.#top().add({ type: "link", ...queued.stat, target: queued.target });
      case "kept":
        return this.#keep(queued.record);
      case "stored":
        return queued.content.then((content) => this.#file(queued.event, content));
    }
  }

  #keep(record: FileRecord): Promise<void> | undefined {
    record.eachOrdinal(this.#addToReach);
    this.files++;
    this.bytes += record.size;
    return this.#top().keep(record);
  }

  async #file(walked: FileEvent, stored: StoredContent): Promise<void> {
    const event = stored.event ?? walked;
    if (stored.error !== null) {
      this.#warn(event.path, stored.error);
      return;
    }
    if (stored.changed) this.#warn(event.path, "changed");
    const { content, hash, size, ordinals } = stored;
    const { linkGroup, sha256 } = event;
    const entry = { type: "file", ...event.stat, size, hash, content, linkGroup, sha256 } as const;
    for (const ordinal of ordinals) this.#reach.add(ordinal);
    const isOldEnough = event.changeStat.ctimeNs / 1_000_000n < this.#cacheIfChangedBefore;
    const isCacheable = !stored.changed && isOldEnough && size === event.size;
    this.files++;
    this.bytes += size;
    await this.#top().add(entry, isCacheable ? { entry, changeStat: event.changeStat, ordinals } : null);
  }

  #leave(): Promise<void> | undefined {
    const directory = this.#stack.pop();
    if (directory === undefined) throw new Error("the walk left more directories than it entered");
    const root = directory.finish();
    const parent = this.#stack.at(-1);
    if (parent === undefined) return this.#finishTree(directory, root);
    if (!(root instanceof Promise)) return parent.add(closeDirectory(directory, root));
    return parent.addLater(root.then((made) => closeDirectory(directory, made)));
  }

  async #finishTree(directory: DirectoryWriter, made: Promise<Reference> | Reference): Promise<void> {
    const root = await made;
    const { stat, size, files } = directory;
    const top = new DirectoryBuilder(directory.sink);
    await top.add({ type: "directory", ...stat, root, size, files });
    this.#root = await top.finish();
    directory.close();
  }

  #warn(path: Uint8Array, code: string): void {
    const warning = { path: Buffer.from(path), code };
    this.allWarnings.add(warning);
    if (this.warnings.length < maxShownWarnings) this.warnings.push(warning);
  }

  #top(): DirectoryWriter {
    const top = this.#stack.at(-1);
    if (top === undefined) throw new Error("the walk found an entry before it entered the root");
    return top;
  }

  #throwFailure(): void {
    if (this.#failure !== null) throw this.#failure;
  }
}

/** Ends a directory, after its last node, and returns its entry. */
function closeDirectory(directory: DirectoryWriter, root: Reference): TreeEntry {
  directory.close();
  const { stat, size, files } = directory;
  return { type: "directory", ...stat, root, size, files };
}
