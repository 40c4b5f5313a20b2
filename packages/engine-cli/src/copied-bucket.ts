/**
 * A copy of a bucket in a folder, for reading with a recovery kit. It writes nothing. Two layouts are read: names as paths, as every S3 program
 * copies a bucket, and the folders of the file store (`=` and the first characters of a name).
 */

import { existsSync } from "node:fs";
import { open, readdir, stat } from "node:fs/promises";
import path from "node:path";
import type { ObjectEntry, ObjectStore } from "@emanet/engine/vault";
import { ObjectStoreError } from "@emanet/engine/vault";
import { UsageError } from "./arguments.ts";

/** Of the file store: packages/storage/src/file-layout.ts. */
const shardCharacters = 2;

/** Opens the folder that has `vaults/`, or a data folder whose `objects/` has it. */
export function openCopiedBucket(folder: string): ObjectStore {
  const root = [folder, path.join(folder, "objects")].find((one) => existsSync(path.join(one, "vaults")));
  if (root === undefined) throw new UsageError(`${folder} is no copy of a bucket: it has no folder vaults`);
  return {
    put: () => Promise.reject(new ObjectStoreError("denied", "a copy of a bucket is only read")),
    delete: () => Promise.reject(new ObjectStoreError("denied", "a copy of a bucket is only read")),
    async stat(name) {
      const file = await fileOf(root, name);
      return file === null ? null : { size: (await stat(file)).size };
    },
    async get(name, { range } = {}) {
      const file = await fileOf(root, name);
      if (file === null) throw new ObjectStoreError("not_found", name);
      return readRange(file, name, range);
    },
    list: (prefix, { after = "" } = {}) => listed(root, prefix, after),
  };
}

async function fileOf(root: string, name: string): Promise<string | null> {
  const at = name.lastIndexOf("/") + 1;
  const shard = `=${name.slice(at, at + shardCharacters)}`;
  for (const file of [path.join(root, name), path.join(root, name.slice(0, at), shard, name.slice(at))])
    if ((await stat(file).catch(() => null))?.isFile() === true) return file;
  return null;
}

async function readRange(
  file: string,
  name: string,
  range: { readonly offset: number; readonly length: number } | undefined,
): Promise<Uint8Array> {
  const handle = await open(file, "r");
  try {
    const { size } = await handle.stat();
    const { offset, length } = range ?? { offset: 0, length: size };
    if (offset + length > size) throw new ObjectStoreError("range", `${name} has ${size} bytes`);
    const bytes = Buffer.alloc(length);
    let filled = 0;
    while (filled < length) {
      const { bytesRead } = await handle.read(bytes, filled, length - filled, offset + filled);
      if (bytesRead === 0) throw new ObjectStoreError("range", `${name} ends at ${offset + filled}`);
      filled += bytesRead;
    }
    return bytes;
  } finally {
    await handle.close();
  }
}

async function* listed(root: string, prefix: string, after: string): AsyncGenerator<ObjectEntry> {
  const folder = prefix.slice(0, prefix.lastIndexOf("/") + 1);
  const found: { name: string; file: string }[] = [];
  const entries = await readdir(path.join(root, folder), { recursive: true, withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    if (!entry.isFile()) continue;
    const file = path.join(entry.parentPath, entry.name);
    const parts = path.relative(root, file).split(path.sep);
    const name = parts.filter((part) => !part.startsWith("=")).join("/");
    if (name.startsWith(prefix) && name > after) found.push({ name, file });
  }
  found.sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const { name, file } of found) yield { name, size: (await stat(file)).size };
}
