/**
 * The front of the pipeline: takes the walk's events, asks the cache, bundles and stripes what must be read, and puts
 * everything into the tree line in walk order.
 */

import { closeSync, openSync, readSync } from "node:fs";
import type { FoundFile } from "../cache/cached-directory.ts";
import { mtimeMsOf } from "../cache/cached-directory.ts";
import { asBuffer } from "../format/bytes.ts";
import { fileHash } from "../format/hash.ts";
import type { FileContent, Reference, SegmentReference } from "../format/tree-entry.ts";
import type { CalledRoll, FileEvent, GlimpsedFile, SourceEvent } from "../source/source.ts";
import { readFlags } from "../source/source.ts";
import type { CutResult } from "../workers/cut-job-queue.ts";
import type { PageLayout } from "../workers/cutter/page-files.ts";
import { probeBytes, recognisePages } from "../workers/cutter/page-files.ts";
import { bundledBelowBytes, bundleEndsAfter, bundleIsFull, overlapping, stripesOf } from "./bundles.ts";
import type { LazyUpload } from "./lazy-upload.ts";
import type { StoredContent, TreeWriter } from "./tree-writer.ts";

interface BundledFile {
  readonly event: FileEvent;
  readonly hint: number;
  readonly resolve: (content: StoredContent) => void;
  readonly reject: (error: unknown) => void;
}

export class FileScheduler {
  readonly #upload: Pick<LazyUpload, "cut">;
  readonly #tree: TreeWriter;
  /** Ordinals whose cached knowledge is void; null when nothing cached may be used. */
  readonly #damaged: ReadonlySet<number> | null;
  readonly #probe = Buffer.allocUnsafe(probeBytes);
  #bundle: BundledFile[] = [];
  #bundleBytes = 0;
  unchanged = 0;

  constructor(upload: Pick<LazyUpload, "cut">, tree: TreeWriter, damaged: ReadonlySet<number> | null) {
    this.#upload = upload;
    this.#tree = tree;
    this.#damaged = damaged;
  }

  /** Takes all files of a directory at once where they are as they were. False: they must be taken one by one. */
  takeRoll(roll: CalledRoll): boolean {
    if (!this.#tree.keepRoll(roll)) return false;
    this.unchanged += roll.count;
    return true;
  }

  /** Takes a file that the walk has only glimpsed; one that is not as it was is looked at closely. */
  glimpse(seen: GlimpsedFile): Promise<void> | undefined {
    if (this.#tree.isFull) return this.#makeRoom().then(() => this.glimpse(seen));
    const remembered = this.#tree.glimpsed(seen);
    if (remembered?.looksLike(seen) && !this.#isDamaged(remembered)) {
      this.unchanged++;
      this.#tree.keep(remembered);
      return this.#tree.busy;
    }
    const event = seen.look();
    if (event.type === "file") return this.#takeFile(event, remembered);
    // A folder by now: the walk has passed it, and the next backup will go into it.
    return this.take(event.type === "enter" ? { type: "warning", path: event.path, code: "changed" } : event);
  }

  async take(event: SourceEvent): Promise<void> {
    if (this.#tree.isFull) await this.#makeRoom();
    if (event.type === "file") return this.#takeFile(event, this.#tree.remembered(event));
    this.#tree.add(event);
    return this.#tree.busy;
  }

  /** A full queue waits for its head, which may wait for a bundle that is still being collected. */
  async #makeRoom(): Promise<void> {
    await this.#sendBundle();
    await this.#tree.room();
  }

  async #takeFile(event: FileEvent, remembered: FoundFile | null): Promise<void> {
    if (remembered !== null && this.#usable(remembered, event)) {
      this.unchanged++;
      const { content, hash, size } = remembered.entry;
      const ordinals: number[] = [];
      remembered.eachOrdinal((ordinal) => ordinals.push(ordinal));
      return this.#tree.addFile(event, Promise.resolve({ content, hash, size, ordinals, error: null, changed: false }));
    }
    const old = remembered?.entry.content ?? null;
    if (event.size === 0) return this.#tree.addFile(event, Promise.resolve(emptyContent));
    if (event.size < bundledBelowBytes) return this.#bundleUp(event, old);
    const { content } = await this.#stripes(event, old);
    return this.#tree.addFile(
      event,
      content.then((stored) => this.#oncemore(event, stored)),
    );
  }

  async finish(): Promise<Reference> {
    await this.#sendBundle();
    return this.#tree.finish();
  }

  #usable(remembered: FoundFile, event: FileEvent): boolean {
    if (this.#damaged === null) return false;
    return remembered.hasContentOf(event.size, mtimeMsOf(event.facts), event.marks) && !this.#isDamaged(remembered);
  }

  #isDamaged(remembered: FoundFile): boolean {
    const damaged = this.#damaged;
    if (damaged === null || damaged.size === 0) return damaged === null;
    let found = false;
    remembered.eachOrdinal((ordinal) => {
      found ||= damaged.has(ordinal);
    });
    return found;
  }

  async #bundleUp(event: FileEvent, old: FileContent | null): Promise<void> {
    if (bundleIsFull(this.#bundleBytes, this.#bundle.length, event.size)) await this.#sendBundle();
    const content = new Promise<StoredContent>((resolve, reject) => {
      this.#bundle.push({ event, hint: old?.kind === "part" ? old.segment.ordinal : 0, resolve, reject });
    });
    content.catch(() => {
      // The tree awaits the content when it gets to this file; until then a failure is no unhandled one.
    });
    this.#bundleBytes += event.size;
    this.#tree.addFile(event, content);
    if (bundleEndsAfter(this.#bundleBytes, this.#bundle.length, event.facts.name, event.size)) await this.#sendBundle();
  }

  async #sendBundle(): Promise<void> {
    const bundle = this.#bundle;
    if (bundle.length === 0) return;
    this.#bundle = [];
    this.#bundleBytes = 0;
    const hints = [...new Set(bundle.map(({ hint }) => hint).filter((hint) => hint !== 0))];
    const files = bundle.map(({ event }) => ({ ...event.content, length: event.size }));
    const { done } = await this.#upload.cut({ kind: "bundle", files, hintsAt: () => hints });
    done.then(
      (result) => settleBundle(bundle, result),
      (error: unknown) => {
        for (const { reject } of bundle) reject(error);
      },
    );
  }

  /**
   * A large file is read in stripes, each of which opens it: one that is replaced meanwhile would become a mixture of
   * two files. It is read once more as it is now; only what changes all the time is kept with a warning.
   */
  async #oncemore(event: FileEvent, stored: StoredContent): Promise<StoredContent> {
    if (!stored.changed) return stored;
    const now = event.again?.() ?? null;
    if (now === null || now.size < bundledBelowBytes) return stored;
    const { content } = await this.#stripes(now, null);
    const second = await content;
    return second.error === null ? { ...second, event: now } : stored;
  }

  /** Starts a large file's stripes; gives the promise of its content once all of them are with workers. */
  async #stripes(event: FileEvent, old: FileContent | null): Promise<{ readonly content: Promise<StoredContent> }> {
    const before = old?.kind === "segments" ? old.segments : [];
    const pageLayout = this.#pageLayoutOf(event);
    const cuts: Promise<CutResult>[] = [];
    for (const { offset, length } of stripesOf(event.size)) {
      const file = { ...event.content, offset: event.content.offset + offset, length };
      const hintsAt = (at: number, bytes: number) => overlapping(before, offset + at, bytes);
      const { done } = await this.#upload.cut({ kind: "stripe", file, at: offset, pageLayout, hintsAt });
      cuts.push(done);
    }
    return { content: Promise.all(cuts).then((results) => this.#joinStripes(results)) };
  }

  async #joinStripes(results: readonly CutResult[]): Promise<StoredContent> {
    const failed = results.find(({ outcome }) => outcome?.error !== null);
    if (failed !== undefined) return { ...emptyContent, error: failed.outcome?.error ?? "unreadable" };
    const segments: SegmentReference[] = results.flatMap((result) => result.segments);
    const size = segments.reduce((sum, { bytes }) => sum + bytes, 0);
    const hash = fileHash(
      size,
      segments.map(({ id }) => id),
    );
    const { content, nodes } = await this.#tree.listOf(segments);
    const changed = results.some(({ outcome }) => outcome?.changed === true);
    const ordinals = [...new Set(segments.map(({ ordinal }) => ordinal)), ...nodes];
    return { content, hash, size, ordinals, error: null, changed };
  }

  #pageLayoutOf(event: FileEvent): PageLayout | null {
    try {
      const fd = openSync(asBuffer(event.content.path), readFlags);
      try {
        const count = readSync(fd, this.#probe, 0, Math.min(probeBytes, event.size), event.content.offset);
        return recognisePages(this.#probe.subarray(0, count), event.size);
      } finally {
        closeSync(fd);
      }
    } catch {
      // Unreadable: the worker will meet the same error and report it with the file.
      return null;
    }
  }
}

const emptyContent: StoredContent = {
  content: { kind: "empty" },
  hash: fileHash(0, []),
  size: 0,
  ordinals: [],
  error: null,
  changed: false,
};

function settleBundle(bundle: readonly BundledFile[], result: CutResult): void {
  const [segment] = result.segments;
  for (const [i, { resolve, reject }] of bundle.entries()) {
    const part = result.parts[i];
    if (part === undefined) {
      reject(new Error("a bundle came back with fewer files"));
      continue;
    }
    const { first, blocks, hash, bytes, error, changed } = part;
    const none = blocks === 0 || segment === undefined;
    const content: FileContent = none
      ? { kind: "empty" }
      : { kind: "part", segment: { ordinal: segment.ordinal, id: segment.id }, first, count: blocks };
    resolve({ content, hash, size: bytes, ordinals: none ? [] : [segment.ordinal], error, changed });
  }
}
