/**
 * Writes one directory of the tree: its entries go into tree nodes, and its files into the file cache.
 *
 * If the directory has the same digest as in the base snapshot, nothing is built: the directory keeps the
 * nodes that it had there. In any other directory the nodes are built from all entries, and those that are the same as in
 * the base are recognised by their ids.
 */

import type { CachedDirectory } from "../cache/cached-directory.ts";
import type { CachedFile, FileRecord } from "../cache/file-record.ts";
import type { Bitmap } from "../format/bitmap.ts";
import type { NodeSink } from "../format/tree-builder.ts";
import { DirectoryBuilder } from "../format/tree-builder.ts";
import type { EntryStat, Reference, TreeEntry } from "../format/tree-entry.ts";
import type { QuickStats } from "../source/source.ts";

export class DirectoryWriter {
  readonly stat: EntryStat;
  readonly sink: NodeSink;
  readonly #cached: CachedDirectory | null;
  readonly #reuseNodes: boolean;
  readonly #reach: Bitmap;
  readonly #builder: DirectoryBuilder;
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
    { cached, reuseNodes }: { readonly cached: CachedDirectory | null; readonly reuseNodes: boolean },
  ) {
    this.stat = stat;
    this.#cached = cached;
    this.#reuseNodes = reuseNodes;
    this.#reach = reach;
    this.sink = cached === null ? sink : cachingSink(sink, cached, reuseNodes ? reach : null);
    this.#builder = new DirectoryBuilder(this.sink);
  }

  /** Keeps all files and nodes where the digest is the same. Returns false if each file must be compared. */
  keepAll(stats: QuickStats): boolean {
    if (!stats.isWholeDirectory || !this.#reuseNodes || this.#cached?.hasDigest !== true) return false;
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
    this.size += record.size;
    this.files++;
    this.#cached?.keep(record);
    return this.#builder.addEncoded(record.bytes, record.entryStart, record.entryEnd);
  }

  /** Adds any other entry. `cache` is what the file cache stores of it, or null. */
  async add(entry: TreeEntry, cache: CachedFile | null = null): Promise<void> {
    if (this.#keptRoot !== null) throw new Error("an entry was added to a directory that was kept whole");
    await this.#builder.add(entry);
    if (entry.type === "file") {
      this.size += entry.size;
      this.files++;
    } else if (entry.type === "directory") {
      this.size += entry.size;
      this.files += entry.files;
    }
    if (cache === null) this.#hasOnlyCachedFiles = false;
    else this.#cached?.put(cache);
  }

  /** Returns the root node of the directory. */
  finish(): Promise<Reference> | Reference {
    return this.#keptRoot ?? this.#finishBuilder();
  }

  /** Ends the directory in the file cache, after its last node. */
  close(): void {
    this.#cached?.finish();
  }

  async #finishBuilder(): Promise<Reference> {
    const root = await this.#builder.finish();
    if (this.#hasOnlyCachedFiles) this.#cached?.summarizeIfPossible();
    return root;
  }
}

/** The sink of one directory. With `reach`, it does not ask `sink` for nodes that the directory had in the base. */
function cachingSink(sink: NodeSink, cached: CachedDirectory, reach: Bitmap | null): NodeSink {
  return {
    nodeKey: sink.nodeKey,
    putNode: async (id, bytes) => {
      const known = reach === null ? null : cached.nodes.ordinalOf(id);
      if (known !== null) reach?.add(known);
      const ordinal = known ?? (await sink.putNode(id, bytes));
      cached.nodes.add(id, ordinal);
      return ordinal;
    },
  };
}
