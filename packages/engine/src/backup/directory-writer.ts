/**
 * A directory that the tree is in: its entries on the way into nodes.
 *
 * A directory that held nothing but remembered files, and of which each file so far is as it was, is not built at all:
 * when it is left and nothing was missing, its nodes are those of the base snapshot. The first difference builds what was
 * passed over, from the cache, and goes on from there. Where all files of it were glimpsed together and their roll is the
 * same as it was, not even what is remembered of each is read.
 */

import type { CachedDirectory, CachedFile, FoundFile } from "../cache/cached-directory.ts";
import type { Bitmap } from "../format/bitmap.ts";
import type { NodeSink } from "../format/tree-builder.ts";
import { DirectoryBuilder } from "../format/tree-builder.ts";
import type { EntryFacts, Reference, TreeEntry } from "../format/tree-entry.ts";
import type { CalledRoll } from "../source/source.ts";

export class DirectoryWriter {
  readonly facts: EntryFacts;
  readonly sink: NodeSink;
  readonly #cached: CachedDirectory | null;
  readonly #reach: Bitmap;
  /** Null as long as the directory is as it was. */
  #builder: DirectoryBuilder | null = null;
  /** Whether every entry is a file that will be remembered. */
  #isPlain = true;
  size = 0;
  files = 0;

  /** `reuseNodes`: nodes that the base had need not be asked for. */
  constructor(
    facts: EntryFacts,
    sink: NodeSink,
    reach: Bitmap,
    { cached, reuseNodes }: { readonly cached: CachedDirectory | null; readonly reuseNodes: boolean },
  ) {
    this.facts = facts;
    this.#cached = cached;
    this.#reach = reach;
    this.sink = cached === null ? sink : remembering(sink, cached, reuseNodes ? reach : null);
    if (!reuseNodes || cached?.isPlain !== true) this.#builder = new DirectoryBuilder(this.sink);
  }

  /** Takes a file over as it was. There may be something to wait for; the file is not needed any more then. */
  keep(file: FoundFile): Promise<void> | undefined {
    this.size += file.size;
    this.files++;
    const isNext = this.#cached?.keep(file) === true;
    if (this.#builder !== null) return this.#builder.addEncoded(file.bytes, file.entryStart, file.entryEnd);
    if (isNext) return undefined;
    const { bytes, entryStart, entryEnd } = file.copy();
    return this.#build().then((builder) => builder.addEncoded(bytes, entryStart, entryEnd));
  }

  /** Takes all files over at once where their roll is as it was. Returns how many they are; 0: each must be looked at. */
  keepRoll(roll: CalledRoll): number {
    // The files alone may be the same beside something new.
    if (!roll.isWhole || this.#builder !== null || this.#cached?.hasRoll !== true) return 0;
    const totals = this.#cached.keepRoll(roll.digest());
    if (totals === null) return 0;
    for (const ordinal of totals.ordinals) this.#reach.add(ordinal);
    this.size += totals.size;
    this.files += totals.files;
    return totals.files;
  }

  /** Adds any entry; `cache` is what to remember of it, if it is a file at rest. */
  async add(entry: TreeEntry, cache: CachedFile | null = null): Promise<void> {
    await (this.#builder ?? (await this.#build())).add(entry);
    if (entry.type === "file") {
      this.size += entry.size;
      this.files++;
    } else if (entry.type === "directory") {
      this.size += entry.size;
      this.files += entry.files;
    }
    if (cache === null) this.#isPlain = false;
    else this.#cached?.put(cache);
  }

  finish(): Promise<Reference> | Reference {
    const cached = this.#cached;
    if (this.#builder !== null) return this.#finish(this.#builder);
    if (cached === null || !cached.keptAll) return this.#build().then((builder) => this.#finish(builder));
    const nodes = cached.takeNodes();
    for (const { ordinal } of nodes) this.#reach.add(ordinal);
    const root = nodes.at(-1);
    if (root === undefined) throw new Error("a plain directory without a root");
    return root;
  }

  /** Says that nothing follows: what is remembered of the directory is complete. */
  close(): void {
    this.#cached?.finish();
  }

  async #finish(builder: DirectoryBuilder): Promise<Reference> {
    const root = await builder.finish();
    if (this.#isPlain) this.#cached?.endPlain();
    return root;
  }

  async #build(): Promise<DirectoryBuilder> {
    const builder = new DirectoryBuilder(this.sink);
    for (const { bytes, entryStart, entryEnd } of this.#cached?.passed() ?? [])
      await builder.addEncoded(bytes, entryStart, entryEnd);
    this.#builder = builder;
    return builder;
  }
}

/** The sink of one directory. With a reach, nodes that it had in the base are in the base, and are not asked for. */
function remembering(sink: NodeSink, cached: CachedDirectory, reach: Bitmap | null): NodeSink {
  return {
    nodeKey: sink.nodeKey,
    putNode: async (id, bytes) => {
      const known = reach === null ? null : cached.nodeOrdinal(id);
      if (known !== null) reach?.add(known);
      const ordinal = known ?? (await sink.putNode(id, bytes));
      cached.putNode(id, ordinal);
      return ordinal;
    },
  };
}
