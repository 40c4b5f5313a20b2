/**
 * The ordered walk over a file store. One folder's entries are in memory at a time for each level, never the list.
 *
 * Order. At one level there are files (inside shards) and folders. A folder `d` sorts as `d/`, because that is how
 * every name below it goes on; so folders are merged into the sorted run of files at that place.
 */

import { lstat, readdir } from "node:fs/promises";
import path from "node:path";
import { assertObjectName, type ObjectEntry } from "@emanet/engine/object-store";
import { isMissing } from "./file-errors.ts";
import { shardFolder, shardStart } from "./file-layout.ts";

interface Walk {
  readonly root: string;
  readonly prefix: string;
  readonly after: string;
}

/** Sizes read at once: enough to keep libuv's four threads busy, few enough to stop early cheaply. */
const statsAtOnce = 64;

/** All objects that fit, in order. Nothing above the folder that the prefix names is read. */
export function walkStore(walk: Walk): AsyncGenerator<ObjectEntry, void> {
  return walkFolder(walk, walk.prefix.slice(0, walk.prefix.lastIndexOf("/") + 1));
}

/** All objects below a folder (`base` is "" or ends with a slash), in order. */
async function* walkFolder(walk: Walk, base: string): AsyncGenerator<ObjectEntry, void> {
  const { shards, folders } = await readLevel(walk, base);
  let nextFolder = 0;
  for (const start of shards) {
    for await (const entry of walkShard(walk, base, start)) {
      for (
        let folder = folders[nextFolder];
        folder !== undefined && folder < entry.name;
        folder = folders[nextFolder]
      ) {
        yield* walkFolder(walk, folder);
        nextFolder += 1;
      }
      yield entry;
    }
  }
  for (const folder of folders.slice(nextFolder)) yield* walkFolder(walk, folder);
}

async function readLevel(walk: Walk, base: string): Promise<{ shards: string[]; folders: string[] }> {
  const shards: string[] = [];
  const folders: string[] = [];
  for (const entry of await readFolder(path.join(walk.root, base))) {
    const start = shardStart(entry);
    if (start !== null && mayHold(walk, base + start)) shards.push(start);
    if (start === null && isNamePart(entry) && mayHold(walk, `${base}${entry}/`)) folders.push(`${base}${entry}/`);
  }
  return { shards: shards.sort(), folders: folders.sort() };
}

async function* walkShard(walk: Walk, base: string, start: string): AsyncGenerator<ObjectEntry, void> {
  const shard = path.join(walk.root, base, shardFolder(start));
  const leaves = (await readFolder(shard)).filter(
    (leaf) => isNamePart(leaf) && (base + leaf).startsWith(walk.prefix) && base + leaf > walk.after,
  );
  leaves.sort();
  for (let at = 0; at < leaves.length; at += statsAtOnce) {
    const group = leaves.slice(at, at + statsAtOnce);
    const sizes = await Promise.all(group.map((leaf) => sizeOf(path.join(shard, leaf))));
    for (const [index, leaf] of group.entries()) {
      const size = sizes[index];
      if (size !== undefined && size !== null) yield { name: base + leaf, size };
    }
  }
}

/** Whether names that start like this can be in the list: they fit the prefix and are not all before `after`. */
function mayHold(walk: Walk, start: string): boolean {
  if (!start.startsWith(walk.prefix) && !walk.prefix.startsWith(start)) return false;
  return start > walk.after || walk.after.startsWith(start);
}

/** Other files (an editor's backup file, `lost+found`, the temporary folder) are no objects. */
function isNamePart(entry: string): boolean {
  try {
    assertObjectName(entry);
    return true;
  } catch {
    return false;
  }
}

async function readFolder(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

/** Null if the entry was removed since the folder was read, or is no file. */
async function sizeOf(file: string): Promise<number | null> {
  try {
    const stat = await lstat(file);
    return stat.isFile() ? stat.size : null;
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}
