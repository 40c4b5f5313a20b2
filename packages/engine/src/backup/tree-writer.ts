/**
 * The back of the pipeline: takes entries in walk order, waits for each one's content, and writes trees, the cache and
 * the reachability bitmap. Holds the open directories of one path and a bounded queue.
 *
 * What needs no waiting and finds the queue empty goes straight into the tree: in a tree where nothing changed that is
 * everything.
 */

import type { CachedDirectory, FoundFile } from "../cache/cached-directory.ts";
import type { FileCache } from "../cache/file-cache.ts";
import type { Bitmap } from "../format/bitmap.ts";
import type { BackupWarning } from "../format/manifest.ts";
import { maxKeptWarnings } from "../format/manifest.ts";
import type { NodeSink } from "../format/tree-builder.ts";
import { contentOf, DirectoryBuilder } from "../format/tree-builder.ts";
import type { FileContent, Reference, SegmentReference, TreeEntry } from "../format/tree-entry.ts";
import type { CalledRoll, FileEvent, GlimpsedFile, SourceEvent } from "../source/source.ts";
import { DirectoryWriter } from "./directory-writer.ts";

type OtherEvent = Exclude<SourceEvent, FileEvent>;

/** Entries between the walk and the tree. Enough for the bundles that all workers have in hand. */
const maxQueued = 1024;

/**
 * A file that changed less than this before the backup began may have changed again without a trace after it was read: it is
 * not remembered, so the next backup reads it again. A program that writes through a mapping moves the file's times with its
 * first write to a page; later writes to that page move nothing until the kernel has written it back. Linux does that after
 * 30 s (`dirty_expire_centisecs`), and looks every 5 s (`dirty_writeback_centisecs`). Timestamps of 1 or 2 s (FAT, old
 * NFS) are well within.
 */
export const restMs = 35_000;

/** A file's content as the tree will name it. */
export interface StoredContent {
  readonly content: FileContent;
  readonly hash: Uint8Array;
  readonly size: number;
  readonly ordinals: readonly number[];
  readonly error: string | null;
  readonly changed: boolean;
  /** The file as it was when its content was read, where that is not what the walk saw. */
  readonly event?: FileEvent | undefined;
}

type Queued =
  | OtherEvent
  | { readonly type: "kept"; readonly file: FoundFile }
  | { readonly type: "stored"; readonly event: FileEvent; readonly content: Promise<StoredContent> };

export class TreeWriter {
  readonly #sink: NodeSink;
  readonly #reuseNodes: boolean;
  readonly #cache: FileCache | null;
  readonly #restedBefore: bigint;
  readonly #reach: Bitmap;
  /** One function for all files: a backup that finds nothing changed calls it for each of them. */
  readonly #reached = (ordinal: number) => this.#reach.add(ordinal);
  readonly #queue: Queued[] = [];
  readonly #stack: DirectoryWriter[] = [];
  /** Cache directories of the walk's own path: the walk is ahead of the tree. */
  readonly #walked: (CachedDirectory | null)[] = [];
  readonly #opened: (CachedDirectory | null)[] = [];
  #root: Reference | null = null;
  #working: Promise<void> | null = null;
  #failure: unknown = null;
  readonly warnings: BackupWarning[] = [];
  files = 0;
  bytes = 0;

  /**
   * `startedAt`: when the backup began, in milliseconds. `reuseNodes`: nothing that the cache speaks of is damaged, so
   * nodes that the base had need not be asked for.
   */
  constructor(sink: NodeSink, reach: Bitmap, cache: FileCache | null, startedAt: number, reuseNodes: boolean) {
    this.#reach = reach;
    this.#cache = cache;
    this.#restedBefore = BigInt(startedAt - restMs);
    this.#reuseNodes = reuseNodes;
    this.#sink = {
      nodeKey: sink.nodeKey,
      putNode: async (id, bytes) => {
        const ordinal = await sink.putNode(id, bytes);
        reach.add(ordinal);
        return ordinal;
      },
    };
  }

  get isFull(): boolean {
    return this.#queue.length >= maxQueued;
  }

  /** Waits until the queue has been worked down to half. */
  async room(): Promise<void> {
    while (this.#queue.length > maxQueued / 2) {
      this.#work();
      await this.#working;
    }
    this.#check();
  }

  /** What the tree is busy with while nothing waits in line: whoever waits for it finds a tree that takes at once. */
  get busy(): Promise<void> | undefined {
    return this.#queue.length === 0 ? (this.#working ?? undefined) : undefined;
  }

  /** What the cache knows of a file of the directory that the walk is in, until it is asked again. */
  remembered(event: FileEvent): FoundFile | null {
    return this.#walked.at(-1)?.find(event.facts.name) ?? null;
  }

  /** The same for a file that was only glimpsed. */
  glimpsed({ bytes, nameStart, nameEnd }: GlimpsedFile): FoundFile | null {
    return this.#walked.at(-1)?.find(bytes, nameStart, nameEnd) ?? null;
  }

  /** Takes a file over as it is remembered. */
  keep(file: FoundFile): void {
    this.#check();
    if (this.#isIdle) this.#follow(this.#kept(file));
    else this.#push({ type: "kept", file: file.copy() });
  }

  /** Takes all files of the directory that the walk is in over at once, where their roll is as it was. */
  keepRoll(roll: CalledRoll): boolean {
    this.#check();
    if (!this.#isIdle) return false;
    const top = this.#top();
    const before = top.size;
    const files = top.keepRoll(roll);
    this.files += files;
    this.bytes += top.size - before;
    return files > 0;
  }

  add(event: OtherEvent): void {
    if (event.type === "enter") {
      const cached = this.#cache?.directory(event.path, event.identity) ?? null;
      this.#walked.push(cached);
      this.#opened.push(cached);
    } else if (event.type === "leave") this.#walked.pop();
    this.#check();
    if (this.#isIdle) this.#follow(this.#apply(event));
    else this.#push(event);
  }

  addFile(event: FileEvent, content: Promise<StoredContent>): void {
    content.catch(() => {
      // It is awaited when the queue gets to this file; until then a failure is no unhandled one.
    });
    this.#push({ type: "stored", event, content });
  }

  /** Content of a file with many segments, and the ordinals of the list nodes it needed. */
  async listOf(segments: readonly SegmentReference[]): Promise<{ content: FileContent; nodes: number[] }> {
    const nodes: number[] = [];
    const sink: NodeSink = {
      nodeKey: this.#sink.nodeKey,
      putNode: async (id, bytes) => {
        const ordinal = await this.#sink.putNode(id, bytes);
        nodes.push(ordinal);
        return ordinal;
      },
    };
    return { content: await contentOf(sink, segments), nodes };
  }

  async finish(): Promise<Reference> {
    while (this.#queue.length > 0 || this.#working !== null) {
      this.#work();
      await this.#working;
    }
    this.#check();
    if (this.#root === null) throw new Error("the source never left its root");
    return this.#root;
  }

  get #isIdle(): boolean {
    return this.#queue.length === 0 && this.#working === null;
  }

  #follow(step: Promise<void> | undefined): void {
    if (step !== undefined) this.#work(step);
  }

  #push(queued: Queued): void {
    this.#check();
    this.#queue.push(queued);
    this.#work();
  }

  #work(step?: Promise<void>): void {
    if (this.#working !== null || this.#failure !== null) return;
    this.#working = (step ?? this.#drain())
      .catch((error: unknown) => {
        this.#failure = error;
        this.#queue.length = 0;
      })
      .finally(() => {
        this.#working = null;
      });
  }

  async #drain(): Promise<void> {
    let done = 0;
    for (const head of this.#queue) {
      const step = this.#apply(head);
      if (step !== undefined) await step;
      // Shifting an array one by one is slow; cutting it off now and then is not.
      if (++done === 256) break;
    }
    this.#queue.splice(0, done);
  }

  #apply(queued: Queued): Promise<void> | undefined {
    switch (queued.type) {
      case "enter": {
        const known = { cached: this.#opened.shift() ?? null, reuseNodes: this.#reuseNodes };
        this.#stack.push(new DirectoryWriter(queued.facts, this.#sink, this.#reach, known));
        return undefined;
      }
      case "leave":
        return this.#leave();
      case "warning":
        this.#warn(queued.path, queued.code);
        return undefined;
      case "link":
        return this.#top().add({ type: "link", ...queued.facts, target: queued.target });
      case "kept":
        return this.#kept(queued.file);
      case "stored":
        return queued.content.then((content) => this.#file(queued.event, content));
    }
  }

  #kept(file: FoundFile): Promise<void> | undefined {
    file.eachOrdinal(this.#reached);
    this.files++;
    this.bytes += file.size;
    return this.#top().keep(file);
  }

  async #file(walked: FileEvent, stored: StoredContent): Promise<void> {
    const event = stored.event ?? walked;
    if (stored.error !== null) {
      this.#warn(event.path, stored.error);
      return;
    }
    if (stored.changed) this.#warn(event.path, "changed");
    const { content, hash, size, ordinals } = stored;
    const entry = { type: "file", ...event.facts, size, hash, content } as const;
    for (const ordinal of ordinals) this.#reach.add(ordinal);
    const rested = event.marks.ctimeNs / 1_000_000n < this.#restedBefore;
    const remember = !stored.changed && rested && size === event.size;
    await this.#top().add(entry, remember ? { entry, marks: event.marks, ordinals } : null);
    this.files++;
    this.bytes += size;
  }

  #leave(): Promise<void> | undefined {
    const directory = this.#stack.pop();
    if (directory === undefined) throw new Error("the source left more than it entered");
    const root = directory.finish();
    return root instanceof Promise ? root.then((made) => this.#left(directory, made)) : this.#left(directory, root);
  }

  async #left(directory: DirectoryWriter, root: Reference): Promise<void> {
    const { facts, size, files } = directory;
    const entry: TreeEntry = { type: "directory", ...facts, root, size, files };
    const parent = this.#stack.at(-1);
    if (parent === undefined) {
      const top = new DirectoryBuilder(directory.sink);
      await top.add(entry);
      this.#root = await top.finish();
    }
    directory.close();
    await parent?.add(entry);
  }

  #warn(path: Uint8Array, code: string): void {
    if (this.warnings.length < maxKeptWarnings) this.warnings.push({ path: Buffer.from(path), code });
    else this.moreWarnings++;
  }

  moreWarnings = 0;

  #top(): DirectoryWriter {
    const top = this.#stack.at(-1);
    if (top === undefined) throw new Error("an entry outside the root");
    return top;
  }

  #check(): void {
    if (this.#failure !== null) throw this.#failure;
  }
}
