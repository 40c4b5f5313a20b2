/**
 * Folders of the file store: made on demand, private, and durable before a file is put into them.
 *
 * A new folder is an entry in its parent, so the parent is synced before anybody relies on the folder. "Already there"
 * proves nothing: another process may have made it and not synced yet. So each process syncs the parent of each folder
 * once and remembers that it did. Folders are never removed by the store, because that memory would then be wrong.
 */

import { mkdir, open } from "node:fs/promises";
import path from "node:path";
import { isMissing, systemCode } from "./file-errors.ts";

/**
 * - `full`: file and folder are synced before `put` and `delete` return. The only setting that keeps the port's promise.
 * - `none`: left to the operating system. A crash of the process loses nothing, a power cut may lose the last half
 *   minute, or leave files of the right size full of zeros. For tests, and for copies that can be made again.
 */
export type SyncPolicy = "full" | "none";

/** Only the owner: names say when somebody backs up, and sealed bytes are still nobody's business. */
const folderMode = 0o700;

/** About 100 bytes each. Beyond this the memory starts anew, which costs one more sync per folder. */
const rememberedFolders = 20_000;

export class Folders {
  readonly #root: string;
  readonly #sync: SyncPolicy;
  readonly #durable = new Set<string>();

  constructor(root: string, sync: SyncPolicy) {
    this.#root = root;
    this.#sync = sync;
  }

  /** Makes what is missing of a chain of folders (relative to the root, outermost first). */
  async ensure(folders: readonly string[]): Promise<void> {
    const last = folders.at(-1) ?? "";
    if (this.#durable.has(last)) return;
    // Mostly all of them are there, and the last one says so. The root itself is never made: its disk may be unmounted.
    await this.#make(last).catch(async (error: unknown) => {
      if (!isMissing(error)) throw error;
      for (const folder of folders) await this.#make(folder);
    });
    const unproved = folders.filter((folder) => !this.#durable.has(folder));
    await Promise.all(unproved.map((folder) => this.sync(path.dirname(folder))));
    if (this.#durable.size + unproved.length > rememberedFolders) this.#durable.clear();
    for (const folder of unproved) this.#durable.add(folder);
  }

  /** Forgets folders that turned out to be gone: somebody tidied up by hand. */
  forget(folders: readonly string[]): void {
    for (const folder of folders) this.#durable.delete(folder);
  }

  /** Makes the entries of a folder durable. */
  async sync(folder: string): Promise<void> {
    // Windows cannot open a folder for this; NTFS journals entries by itself.
    if (this.#sync === "none" || process.platform === "win32") return;
    const handle = await open(path.join(this.#root, folder), "r");
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  }

  /** Like `sync`, where the folder may not be there at all. */
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
