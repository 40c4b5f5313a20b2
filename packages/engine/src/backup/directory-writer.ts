/**
 * Writes one directory of the tree: its entries go into tree nodes, and its files into the file cache.
 *
 * If the directory has the same digest as in the base snapshot, nothing is built: the directory keeps the
 * nodes that it had there. In any other directory the nodes are built from all entries, and those that are the same as in
 * the base are recognised by their ids.
 *
 * An entry of a subdirectory may have to wait until the target has answered whether the subdirectory's last node is stored.
 * The entries after it wait too (`waiting-steps.ts`). The tree writer goes on with other directories.
 */

import type { CachedDirectory } from "../cache/cached-directory.ts";
import type { CachedFile, FileRecord } from "../cache/file-record.ts";
import type { Bitmap } from "../format/bitmap.ts";
import type { NodeSink } from "../format/tree-builder.ts";
import { DirectoryBuilder } from "../format/tree-builder.ts";
import type { EntryStat, Reference, TreeEntry } from "../format/tree-entry.ts";
import type { QuickStats } from "../source/source.ts";
import type { WaitingSteps } from "./waiting-steps.ts";

export class DirectoryWriter {
  readonly stat: EntryStat;
  readonly sink: NodeSink;
  readonly #cached: CachedDirectory | null;
  readonly #reuseNodes: boolean;
  readonly #reach: Bitmap;
  readonly #builder: DirectoryBuilder;
  readonly #steps: WaitingSteps;
  /** The last step that waits; null if none does. */
  #waiting: Promise<void> | null = null;
  /** The root node of a directory that was kept whole. */
  #keptRoot: Reference | null = null;
  #hasOnlyCachedFiles = true;
  size = 0;
  files = 0;

  /** `reuseNodes`: nodes of the base snapshot can be used without asking the target. */
  constructor(
    stat: EntryStat,
    sink: NodeSink,
    reach: Bitmap,
    steps: WaitingSteps,
    { cached, reuseNodes }: { readonly cached: CachedDirectory | null; readonly reuseNodes: boolean },
  ) {
    this.stat = stat;
    this.#steps = steps;
    this.#cached = cached;
    this.#reuseNodes = reuseNodes;
    this.#reach = reach;
    this.sink = cached === null ? sink : cachingSink(sink, cached, reuseNodes ? reach : null);
    this.#builder = new DirectoryBuilder(this.sink);
  }

  /** Keeps all files and nodes where the digest is the same. Returns false if each file must be compared. */
  keepAll(stats: QuickStats): boolean {
    if (!stats.isWholeDirectory || !this.#reuseNodes || this.#cached?.hasDigest !== true) return false;
    if (this.#waiting !== null) return false;
    const kept = this.#cached.keepAll(stats.digest());
    if (kept === null) return false;
    for (const ordinal of kept.summary.ordinals) this.#reach.add(ordinal);
    for (const { ordinal } of kept.nodes) this.#reach.add(ordinal);
    this.#keptRoot = kept.root;
    this.size += kept.summary.size;
    this.files += kept.summary.files;
    return true;
  }

  /** Adds an unchanged file. The record is not used after the call, whether or not there is something to wait for. */
  keep(record: FileRecord): Promise<void> | undefined {
    if (this.#waiting === null) return this.#keep(record);
    const copy = record.copy();
    return this.#after(() => this.#keep(copy));
  }

  /** Adds any other entry. `cache` is what the file cache stores of it, or null. */
  add(entry: TreeEntry, cache: CachedFile | null = null): Promise<void> | undefined {
    return this.#waiting === null ? this.#add(entry, cache) : this.#after(() => this.#add(entry, cache));
  }

  /** Adds a subdirectory that is not finished yet. */
  addLater(entry: Promise<TreeEntry>): Promise<void> | undefined {
    this.#steps.add(entry, "directory");
    return this.#after(async () => this.#add(await entry, null));
  }

  /** Returns the root node of the directory. */
  finish(): Promise<Reference> | Reference {
    if (this.#waiting !== null) return this.#waiting.then(() => this.finish());
    if (this.#keptRoot !== null) return this.#keptRoot;
    const root = this.#builder.finish();
    if (root instanceof Promise) return root.then((made) => this.#summarize(made));
    return this.#summarize(root);
  }

  /** Ends the directory in the file cache, after its last node. */
  close(): void {
    this.#cached?.finish();
  }

  /** Makes the summary of the directory for the file cache, now that its last node is there. */
  #summarize(root: Reference): Reference {
    if (this.#hasOnlyCachedFiles) this.#cached?.summarizeIfPossible();
    return root;
  }

  #keep(record: FileRecord): Promise<void> | undefined {
    this.size += record.size;
    this.files++;
    this.#cached?.keep(record);
    return this.#builder.addEncoded(record.bytes, record.entryStart, record.entryEnd);
  }

  #add(entry: TreeEntry, cache: CachedFile | null): Promise<void> | undefined {
    if (this.#keptRoot !== null) throw new Error("an entry was added to a directory that was kept whole");
    const step = this.#builder.add(entry);
    if (entry.type === "file") {
      this.size += entry.size;
      this.files++;
    } else if (entry.type === "directory") {
      this.size += entry.size;
      this.files += entry.files;
    }
    if (cache === null) this.#hasOnlyCachedFiles = false;
    else this.#cached?.put(cache);
    return step;
  }

  /** Runs a step after those that wait. Returns a promise only if too many steps wait. */
  #after(step: () => Promise<void> | undefined): Promise<void> | undefined {
    const waiting = (this.#waiting ?? Promise.resolve()).then(step).then(() => {
      if (this.#waiting === waiting) this.#waiting = null;
    });
    this.#waiting = waiting;
    this.#steps.add(waiting, "entry");
    return this.#steps.limit();
  }
}

/** The sink of one directory. With `reach`, it does not ask `sink` for nodes that the directory had in the base. */
function cachingSink(sink: NodeSink, cached: CachedDirectory, reach: Bitmap | null): NodeSink {
  return {
    ...sink,
    putNode: (id, bytes, isNew) => {
      const known = reach === null || isNew ? null : cached.nodes.ordinalOf(id);
      if (known === null) return sink.putNode(id, bytes, isNew);
      reach?.add(known);
      return known;
    },
    onNode: (id, ordinal) => cached.nodes.add(id, ordinal),
  };
}
