/**
 * Where the file store keeps an object.
 *
 *   vaults/v1/packs/4f1c09  ->  <root>/vaults/v1/packs/=4f/4f1c09
 *
 * Each part of a name but the last is a folder of that name. The last part is a file inside a *shard*: a folder called
 * `=` and the first characters of the file's name. `=` is in no object name, so shards, folders, the temporary folder
 * and the layout mark never have the same path, and `a` and `a/b` can both be objects.
 *
 * Shards keep folders small (300 000 packs of one vault: 1200 files in each of 256 shards). They start like the files
 * in them, so a walk over sorted shards is in the order of names and a prefix or resume point skips whole shards.
 */

import path from "node:path";

/** Two hexadecimal digits make 256 shards; three would make 4096, most of them folders of one file in a small vault. */
const shardCharacters = 2;

const shardMark = "=";

/** Holds temporary files. It is on the same file system as the objects: rename and link need that. */
export const temporaryFolder = ".tmp";

/** Marks the folder as a store and names its layout. Written once. */
export const layoutFile = ".layout";
export const layoutMark = "emanet file store, layout 1\n";

/** The folders from the root down to an object's shard, and the object's file. All are relative to the root. */
export function locate(name: string): { folders: string[]; file: string } {
  const parts = name.split("/");
  const leaf = parts.pop() ?? "";
  const folders: string[] = [];
  for (const part of [...parts, shardFolder(leaf.slice(0, shardCharacters))]) {
    folders.push(path.join(folders.at(-1) ?? "", part));
  }
  return { folders, file: path.join(folders.at(-1) ?? "", leaf) };
}

/** The folder of the files whose names start like this. */
export function shardFolder(start: string): string {
  return shardMark + start;
}

/** The start that all names in a shard have, or null when the folder is not a shard. */
export function shardStart(folder: string): string | null {
  return folder.startsWith(shardMark) ? folder.slice(shardMark.length) : null;
}
