/**
 * Readers that requests share. A small file is read from a frame of up to two megabytes, and its path from some nodes of the
 * tree. A client that reads many files one after the other, or one file in many ranges, would have the same frames opened for
 * each of them. So the vaults that were read last have a reader with what it opened, for a while.
 */

import {
  Bitmap,
  FileReader,
  type FileReaderOptions,
  LocalReadPort,
  LruCache,
  type Reference,
  type RestoreWorkerPool,
  type Vault,
} from "@emanet/engine";

/** Vaults that have a shared reader. */
const maxReaders = 3;

/** Opened frames that a shared reader keeps: data, and nodes of trees. */
const sharedBytes = { cacheBytes: 16 * 1024 * 1024, metaCacheBytes: 4 * 1024 * 1024 };

/** Opened frames that one large download keeps: a file that was backed up nightly has its blocks in frames of many nights. */
const cacheBytes = 8 * 1024 * 1024;

/** What is fetched at a time; two are in memory. */
const batchBytes = 4 * 1024 * 1024;

/** Trees of a vault that are kept for clients that read them by many calls: each has a bit per item of the vault. */
const maxTrees = 4;

/** Where the tree of a snapshot begins, and what it reaches. Neither changes while the snapshot is there. */
interface SnapshotTree {
  readonly root: Reference;
  readonly reach: Bitmap;
}

/** A reader that was not used for so long is dropped. */
const idleMs = 15_000;

export class SharedReaders {
  readonly #pool: RestoreWorkerPool;
  /** Keeps the keys of opened sessions; opening one takes a millisecond. */
  readonly #ports = new WeakMap<Vault, LocalReadPort>();
  readonly #trees = new WeakMap<Vault, LruCache<string, SnapshotTree>>();
  /** The one used last is the last. */
  readonly #readers = new Map<Vault, { readonly reader: FileReader; isUsed: boolean }>();
  readonly #timer: NodeJS.Timeout;

  constructor(pool: RestoreWorkerPool) {
    this.#pool = pool;
    this.#timer = setInterval(() => this.#dropIdle(), idleMs).unref();
  }

  /** The reader of small content that others use too. */
  shared(vault: Vault): FileReader {
    const known = this.#readers.get(vault) ?? { reader: this.#open(vault, sharedBytes), isUsed: true };
    known.isUsed = true;
    this.#readers.delete(vault);
    this.#readers.set(vault, known);
    const [oldest = vault] = this.#readers.keys();
    if (this.#readers.size > maxReaders) this.#readers.delete(oldest);
    return known.reader;
  }

  /** A reader for one large download. */
  own(vault: Vault): FileReader {
    return this.#open(vault, { cacheBytes });
  }

  /** A reader that hashes and compares everything, also what was verified before. */
  checking(vault: Vault): FileReader {
    return this.#open(vault, { cacheBytes, hashesAll: true });
  }

  /** What readers of the vault read through. */
  port(vault: Vault): LocalReadPort {
    const port = this.#ports.get(vault) ?? new LocalReadPort(vault);
    this.#ports.set(vault, port);
    return port;
  }

  /** The tree of a completed snapshot. The caller has checked that it is still there. */
  async tree(vault: Vault, id: string): Promise<SnapshotTree> {
    const trees = this.#trees.get(vault) ?? new LruCache<string, SnapshotTree>(maxTrees);
    this.#trees.set(vault, trees);
    const known = trees.get(id);
    if (known !== undefined) return known;
    const row = await vault.catalog.snapshot(id);
    if (row === null) throw new Error("a completed snapshot that the catalog does not have");
    const tree = { root: { ordinal: row.rootOrdinal, id: row.rootId }, reach: Bitmap.decode(row.reach) };
    trees.set(id, tree, 1);
    return tree;
  }

  close(): void {
    clearInterval(this.#timer);
    this.#readers.clear();
  }

  #open(vault: Vault, options: Pick<FileReaderOptions, "cacheBytes" | "metaCacheBytes" | "hashesAll">): FileReader {
    return new FileReader({ port: this.port(vault), pool: this.#pool, batchBytes, ...options });
  }

  #dropIdle(): void {
    for (const [vault, known] of this.#readers)
      if (known.isUsed) known.isUsed = false;
      else this.#readers.delete(vault);
  }
}
