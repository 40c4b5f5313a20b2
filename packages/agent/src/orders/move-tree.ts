/**
 * Moves what an order restored from its private folder to the place that was named. Both sides are held open, so a link that appears on the
 * way leads nowhere. A file that is there already is never replaced unless that was asked for and is allowed here. Owners are not set, and special bits
 * are removed.
 */

import { chmodSync, linkSync, lstatSync, readdirSync, renameSync, unlinkSync } from "node:fs";
import { systemCode } from "../failure.ts";
import { type OpenFolder, TargetRefusedError } from "./open-folder.ts";
import { otherName, safeName } from "./safe-name.ts";

export type OnConflict = "rename" | "skip" | "overwrite";

export interface MoveWarning {
  /** In the snapshot. */
  readonly path: Buffer;
  readonly code: "renamed" | "skipped" | "not_written";
}

export interface MoveOptions {
  readonly onConflict: OnConflict;
  readonly platform: NodeJS.Platform;
  readonly warn: (warning: MoveWarning) => void;
  /** Names that are no files of the snapshot. */
  readonly isOwn: (name: Buffer) => boolean;
}

/** More files of one name are a mistake. */
const maxNumber = 10_000;

const slash = Buffer.from("/");

export function moveTree(
  from: OpenFolder,
  to: OpenFolder,
  options: MoveOptions,
  inside: Buffer = Buffer.alloc(0),
): void {
  for (const name of readdirSync(from.path, { encoding: "buffer" })) {
    if (inside.length === 0 && options.isOwn(name)) continue;
    const path = inside.length === 0 ? name : Buffer.concat([inside, slash, name]);
    const target = safeName(name, options.platform);
    try {
      const stat = lstatSync(from.entry(name));
      if (stat.isDirectory()) moveFolder(from, to, name, target, options, path);
      else {
        if (stat.isFile() && (stat.mode & 0o7000) !== 0) chmodSync(from.entry(name), stat.mode & 0o777);
        moveFile(from, to, name, target, options, path);
      }
      if (!target.equals(name)) options.warn({ path, code: "renamed" });
    } catch (error) {
      if (systemCode(error) === "ENOSPC") throw error;
      options.warn({ path, code: "not_written" });
    }
  }
}

function moveFolder(
  from: OpenFolder,
  to: OpenFolder,
  name: Buffer,
  target: Buffer,
  options: MoveOptions,
  path: Buffer,
): void {
  const inner = from.enter(name, { make: false });
  let outer: OpenFolder;
  try {
    outer = to.enter(target);
  } catch (error) {
    inner.close();
    // A link or a file is in the place of the folder: nothing is written there.
    if (!(error instanceof TargetRefusedError)) throw error;
    options.warn({ path, code: "not_written" });
    return;
  }
  try {
    moveTree(inner, outer, options, path);
  } finally {
    inner.close();
    outer.close();
  }
}

/** A link to the file fails where the name is taken, in one step; so nothing is replaced by chance. */
function moveFile(
  from: OpenFolder,
  to: OpenFolder,
  name: Buffer,
  target: Buffer,
  options: MoveOptions,
  path: Buffer,
): void {
  const source = from.entry(name);
  if (options.onConflict === "overwrite") {
    const isFolder = lstatSync(to.entry(target), { throwIfNoEntry: false })?.isDirectory() === true;
    // A link itself is replaced, not what it points to.
    if (isFolder) options.warn({ path, code: "not_written" });
    else renameSync(source, to.entry(target));
    return;
  }
  for (let number = 1; number <= maxNumber; number++) {
    const wanted = number === 1 ? target : otherName(target, number);
    try {
      linkSync(source, to.entry(wanted));
      unlinkSync(source);
      if (number > 1) options.warn({ path, code: "renamed" });
      return;
    } catch (error) {
      if (systemCode(error) !== "EEXIST") throw error;
      if (options.onConflict === "skip") {
        options.warn({ path, code: "skipped" });
        return;
      }
    }
  }
  options.warn({ path, code: "not_written" });
}
