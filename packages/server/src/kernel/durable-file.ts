/**
 * Replaces a file so that after a crash or a power cut it is the old one or the new one, never a part of either: a
 * temporary file beside it is written and synced, renamed over it, and the folder is synced.
 */

import { open, rename, rm } from "node:fs/promises";
import path from "node:path";

/** Writes `text` to `file` with exactly this mode. */
export async function replaceFile(file: string, text: string, mode: number): Promise<void> {
  const temporary = `${file}.new`;
  // One that a crash left behind may have another mode, which opening it would keep.
  await rm(temporary, { force: true });
  const handle = await open(temporary, "wx", mode);
  try {
    // The umask may have taken bits away.
    await handle.chmod(mode);
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporary, file);
  await syncFolder(path.dirname(file));
}

/** Makes a rename or a new name in the folder survive a power cut. */
export async function syncFolder(folder: string): Promise<void> {
  // Windows cannot open a folder, and its file systems order renames by themselves.
  if (process.platform === "win32") return;
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
