/**
 * The back of the pipeline: takes entries in walk order, waits for each one's content, and writes trees, the cache and
 * the reachability bitmap. Holds the open directories of one path and a bounded queue.
 */

import type { Bitmap } from "../bitmap.ts";
import type { EngineContext } from "../context.ts";
import type { BackupWarning } from "../manifest.ts";
import { maxKeptWarnings } from "../manifest.ts";
import type { NodeSink } from "../trees/builder.ts";
import { contentOf, DirectoryBuilder } from "../trees/builder.ts";
import type { EntryFacts, FileContent, Reference, SegmentReference, TreeEntry } from "../trees/entry.ts";
import type { CachedDirectory, CachedFile, FileCache } from "./cache.ts";
import type { FileEvent, SourceEvent } from "./source.ts";

type OtherEvent = Exclude<SourceEvent, FileEvent>;

/** Entries between the walk and the tree. Enough for the bundles that all workers have in hand. */
const maxQueued = 1024;

/** A file changed this recently may change again within the same timestamp: it is not remembered. */
const restMs = 2000;

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

interface OpenDirectory {
  readonly facts: EntryFacts;
  readonly builder: DirectoryBuilder;
  readonly cached: CachedDirectory | null;
  size: number;
  files: number;
}

type Queued =
  | OtherEvent
  | { readonly type: "stored"; readonly event: FileEvent; readonly content: Promise<StoredContent> };

export class TreeLine {
  readonly #sink: NodeSink;
  readonly #cache: FileCache | null;
  readonly #ctx: EngineContext;
  readonly #reach: Bitmap;
  readonly #queue: Queued[] = [];
  readonly #stack: OpenDirectory[] = [];
  /** Cache directories of the walk's own path: the walk is ahead of the tree. */
  readonly #walked: (CachedDirectory | null)[] = [];
  readonly #opened: (CachedDirectory | null)[] = [];
  #root: Reference | null = null;
  #working: Promise<void> | null = null;
  #failure: unknown = null;
  readonly warnings: BackupWarning[] = [];
  files = 0;
  bytes = 0;

  constructor(sink: NodeSink, reach: Bitmap, cache: FileCache | null, ctx: EngineContext) {
    this.#reach = reach;
    this.#cache = cache;
    this.#ctx = ctx;
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

  /** What the cache knows of a file of the directory that the walk is in. */
  remembered(event: FileEvent): CachedFile | null {
    return this.#walked.at(-1)?.find(event.facts.name) ?? null;
  }

  async add(event: OtherEvent): Promise<void> {
    if (event.type === "enter") {
      const cached = this.#cache?.directory(event.path) ?? null;
      this.#walked.push(cached);
      this.#opened.push(cached);
    } else if (event.type === "leave") this.#walked.pop();
    this.#push(event);
  }

  async addFile(event: FileEvent, content: Promise<StoredContent>): Promise<void> {
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

  #push(queued: Queued): void {
    this.#check();
    this.#queue.push(queued);
    this.#work();
  }

  #work(): void {
    if (this.#working !== null || this.#failure !== null) return;
    this.#working = this.#drain()
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
      await this.#apply(head);
      // Shifting an array one by one is slow; cutting it off now and then is not.
      if (++done === 256) break;
    }
    this.#queue.splice(0, done);
  }

  async #apply(queued: Queued): Promise<void> {
    switch (queued.type) {
      case "enter": {
        const cached = this.#opened.shift() ?? null;
        this.#stack.push({ facts: queued.facts, builder: new DirectoryBuilder(this.#sink), cached, size: 0, files: 0 });
        return;
      }
      case "leave":
        return this.#leave();
      case "warning":
        this.#warn(queued.path, queued.code);
        return;
      case "link":
        return this.#top().builder.add({ type: "link", ...queued.facts, target: queued.target });
      case "stored":
        return this.#file(queued.event, await queued.content);
    }
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
    const top = this.#top();
    await top.builder.add(entry);
    top.size += size;
    top.files++;
    this.files++;
    this.bytes += size;
    const rested = event.marks.ctimeNs / 1_000_000n < BigInt(this.#ctx.now() - restMs);
    if (!stored.changed && rested && size === event.size) top.cached?.put({ entry, marks: event.marks, ordinals });
  }

  async #leave(): Promise<void> {
    const directory = this.#stack.pop();
    if (directory === undefined) throw new Error("the source left more than it entered");
    directory.cached?.finish();
    const root = await directory.builder.finish();
    const entry: TreeEntry = {
      type: "directory",
      ...directory.facts,
      root,
      size: directory.size,
      files: directory.files,
    };
    const parent = this.#stack.at(-1);
    if (parent === undefined) {
      const top = new DirectoryBuilder(this.#sink);
      await top.add(entry);
      this.#root = await top.finish();
      return;
    }
    await parent.builder.add(entry);
    parent.size += directory.size;
    parent.files += directory.files;
  }

  #warn(path: Uint8Array, code: string): void {
    if (this.warnings.length < maxKeptWarnings) this.warnings.push({ path: Buffer.from(path), code });
    else this.moreWarnings++;
  }

  moreWarnings = 0;

  #top(): OpenDirectory {
    const top = this.#stack.at(-1);
    if (top === undefined) throw new Error("an entry outside the root");
    return top;
  }

  #check(): void {
    if (this.#failure !== null) throw this.#failure;
  }
}
