/**
 * Opens the folder of a file store: makes or recognises it, checks that its file system has what the port needs, and
 * removes old temporary files.
 *
 * A folder is a store when it holds the layout mark. A folder with other files is refused: `file:/home` is a
 * typing mistake, not a store.
 */

import { link, lstat, mkdir, open, readdir, readFile, unlink } from "node:fs/promises";
import path from "node:path";
import { ObjectStoreError } from "@emanet/engine/object-store";
import { isMissing, systemCode } from "./file-errors.ts";
import type { Folders } from "./file-folders.ts";
import { layoutFile, layoutMark, temporaryFolder } from "./file-layout.ts";

export interface RootOptions {
  readonly root: string;
  readonly create: boolean;
  readonly folders: Folders;
  readonly now: () => number;
  readonly randomBytes: (count: number) => Uint8Array;
}

/**
 * A pack is written while it is filled, and a backup that finds nothing new writes nothing to it for as long as that lasts.
 * No backup lasts a week.
 */
const leftoverAgeMs = 7 * 24 * 60 * 60 * 1000;

const temporaryName = /^[0-9a-f]{32}\.part$/;

/** Error codes of file systems without hard links; Linux gives EPERM for FAT. */
const linkRefusals: ReadonlySet<string> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EINVAL", "EMLINK"]);

/** What the root of a new store may contain: our own entries, and what a file system makes in its root. */
const expectedEntries: ReadonlySet<string> = new Set([temporaryFolder, layoutFile, "lost+found"]);

/** Throws `unsupported` if the folder is no store and may not become one, or its file system has no hard links. */
export async function prepareRoot(options: RootOptions): Promise<void> {
  const mark = await readMark(options.root);
  if (mark === null) await makeStore(options);
  else if (mark !== layoutMark) throw refused(options.root, "has a layout that this version does not know");
  const leftovers = await readTemporary(options);
  await probeLinks(options);
  await removeOld(options, leftovers);
}

/** Removes files of killed processes: only files with our names, and only old ones that no process writes any more. */
export async function removeLeftovers(options: Pick<RootOptions, "root" | "folders" | "now">): Promise<void> {
  await removeOld(options, await readTemporary(options));
}

/** A fresh path in the temporary folder. */
export function temporaryPath(root: string, randomBytes: (count: number) => Uint8Array): string {
  return path.join(root, temporaryFolder, `${Buffer.from(randomBytes(16)).toString("hex")}.part`);
}

async function readMark(root: string): Promise<string | null> {
  try {
    return await readFile(path.join(root, layoutFile), "utf8");
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

async function makeStore(options: RootOptions): Promise<void> {
  const { root, folders } = options;
  if (!options.create) throw refused(root, "is not a store; if it should be, is its disk mounted?");
  const made = await mkdir(root, { recursive: true, mode: 0o700 });
  if (made !== undefined) await syncMade(options, made);
  const unexpected = (await readdir(root)).filter((entry) => !expectedEntries.has(entry));
  if (unexpected.length > 0) {
    // Another process may have made the store, and written to it, since we looked for the mark.
    if ((await readMark(root)) === layoutMark) return;
    throw refused(root, "is not empty and not a store");
  }
  await folders.ensure([temporaryFolder]);
  const file = temporaryPath(root, options.randomBytes);
  await writeMark(file);
  try {
    // Two processes may open a new store at once; the mark of either is valid.
    await linkOrRefuse(root, file, path.join(root, layoutFile)).catch(ignore("EEXIST"));
  } finally {
    await unlink(file);
  }
  await folders.sync("");
}

/** Syncs the parents of all folders that `mkdir` has just made. */
async function syncMade({ root, folders }: RootOptions, first: string): Promise<void> {
  for (let folder = root; ; folder = path.dirname(folder)) {
    await folders.sync(path.relative(root, path.dirname(folder)));
    if (folder === first || folder === path.dirname(folder)) return;
  }
}

async function writeMark(file: string): Promise<void> {
  const handle = await open(file, "wx", 0o600);
  try {
    await handle.writeFile(layoutMark);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** `ifAbsent` needs hard links. FAT and some network file systems have none, so this is checked at opening. */
async function probeLinks({ root, randomBytes }: RootOptions): Promise<void> {
  const probe = temporaryPath(root, randomBytes);
  await linkOrRefuse(root, path.join(root, layoutFile), probe);
  // The link has the mark's age, so another process that opens the store now may take it for a leftover.
  await unlink(probe).catch(ignore("ENOENT"));
}

/** What is in the temporary folder, which is made where it is missing. */
async function readTemporary({ root, folders }: Pick<RootOptions, "root" | "folders">): Promise<string[]> {
  try {
    return await readdir(path.join(root, temporaryFolder));
  } catch (error) {
    if (!isMissing(error)) throw error;
    await folders.ensure([temporaryFolder]);
    return [];
  }
}

async function removeOld({ root, now }: Pick<RootOptions, "root" | "now">, entries: readonly string[]): Promise<void> {
  for (const entry of entries) {
    if (!temporaryName.test(entry)) continue;
    const file = path.join(root, temporaryFolder, entry);
    const stat = await lstat(file).catch(ignore("ENOENT"));
    if (stat?.isFile() && now() - stat.mtimeMs > leftoverAgeMs) await unlink(file).catch(ignore("ENOENT"));
  }
}

function ignore(code: string): (error: unknown) => undefined {
  return (error) => {
    if (systemCode(error) !== code) throw error;
    return undefined;
  };
}

function refused(root: string, why: string): ObjectStoreError {
  return new ObjectStoreError("unsupported", `${root} ${why}`);
}

async function linkOrRefuse(root: string, from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (cause) {
    if (!linkRefusals.has(systemCode(cause))) throw cause;
    throw new ObjectStoreError("unsupported", `the file system of ${root} has no hard links`, { cause });
  }
}
