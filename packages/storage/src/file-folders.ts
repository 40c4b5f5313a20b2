/**
 * Folders of the file store: made on demand, private, and durable before a file is put into them.
 *
 * A new folder is an entry in its parent, so the parent is synced before the folder is used. A folder that
 * exists may not be durable: another process may have made it and not synced yet. So each process syncs the parent of each folder
 * once and remembers that it did. The store never removes folders, because what it remembers would then be wrong.
 */

import { mkdir, open } from "node:fs/promises";
import path from "node:path";
import { isMissing, systemCode } from "./file-errors.ts";

/**
 * - `full`: file and folder are synced before `put` and `delete` return. Only this setting is durable, as the port requires.
 * - `none`: left to the operating system. A crash of the process loses nothing, a power cut may lose the last half
 *   minute, or leave files of the right size full of zeros. For tests, and for copies that can be made again.
 */
export type SyncPolicy = "full" | "none";

/** Only the owner may read: names show when backups run, and others have no reason to read encrypted data. */
const folderMode = 0o700;

/** About 100 bytes each. Beyond this all are forgotten, which costs one more sync per folder. */
const rememberedFolders = 20_000;

export class Folders {
  readonly #root: string;
  readonly #sync: SyncPolicy;
  readonly #durable = new Set<string>();

  constructor(root: string, sync: SyncPolicy) {
    this.#root = root;
    this.#sync = sync;
  }

  /** Makes the missing folders of a path (relative to the root, outermost first). */
  async ensure(folders: readonly string[]): Promise<void> {
    const last = folders.at(-1) ?? "";
    if (this.#durable.has(last)) return;
    // Usually all exist, and a look at the last one is enough. The root is never made: its disk may be unmounted.
    await this.#make(last).catch(async (error: unknown) => {
      if (!isMissing(error)) throw error;
      for (const folder of folders) await this.#make(folder);
    });
    const unproved = folders.filter((folder) => !this.#durable.has(folder));
    await Promise.all(unproved.map((folder) => this.sync(path.dirname(folder))));
    if (this.#durable.size + unproved.length > rememberedFolders) this.#durable.clear();
    for (const folder of unproved) this.#durable.add(folder);
  }

  /** Forgets folders that no longer exist because they were removed by hand. */
  forget(folders: readonly string[]): void {
    for (const folder of folders) this.#durable.delete(folder);
  }

  /** Makes the entries of a folder durable. */
  async sync(folder: string): Promise<void> {
    // Windows cannot open a folder for this; NTFS has a journal for entries.
    if (this.#sync === "none" || process.platform === "win32") return;
    const handle = await open(path.join(this.#root, folder), "r");
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  }

  /** Like `sync`, for a folder that may not exist. */
  async syncIfThere(folder: string): Promise<void> {
    try {
      await this.sync(folder);
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }

  async #make(folder: string): Promise<void> {
    try {
      await mkdir(path.join(this.#root, folder), { mode: folderMode });
    } catch (error) {
      if (systemCode(error) !== "EEXIST") throw error;
    }
  }
}
