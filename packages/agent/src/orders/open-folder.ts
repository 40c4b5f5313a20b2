/**
 * Folders that are held open. Names below such a folder are looked up from the open folder itself (`/proc/self/fd/N/name`), so another program cannot turn a
 * part of the path into a link after it was checked: what was opened is what is written to. A link in the place of a folder is refused
 * when it is opened.
 */

import { closeSync, constants, fstatSync, mkdirSync, openSync } from "node:fs";
import { systemCode } from "../failure.ts";

const folderFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** The machine does not permit what an order asks for. */
export class TargetRefusedError extends Error {
  override readonly name = "TargetRefusedError";
}

export class OpenFolder {
  readonly #fd: number;

  private constructor(fd: number) {
    this.#fd = fd;
  }

  /** Opens a folder by its path. `identity` is what it was when the machine's owner named it. */
  static open(path: string, identity: string | null = null): OpenFolder {
    const folder = new OpenFolder(openRefusingLinks(path));
    if (identity === null || folder.identity === identity) return folder;
    folder.close();
    throw new TargetRefusedError("the folder is not the one that was opened for restores");
  }

  /** Device and inode. */
  get identity(): string {
    const { dev, ino } = fstatSync(this.#fd, { bigint: true });
    return `${dev}:${ino}`;
  }

  /** A path that leads to this folder whatever happens to its name. The last part makes it a folder for `lstat`. */
  get path(): string {
    return `/proc/self/fd/${this.#fd}/.`;
  }

  /** The path of an entry. */
  entry(name: string | Buffer): Buffer {
    return Buffer.concat([Buffer.from(`/proc/self/fd/${this.#fd}/`), Buffer.from(name as string)]);
  }

  /** Opens a folder in it, which is made if it is missing. */
  enter(name: string | Buffer, { make = true }: { readonly make?: boolean } = {}): OpenFolder {
    const path = this.entry(name);
    if (make)
      try {
        mkdirSync(path, { mode: 0o700 });
      } catch (error) {
        if (systemCode(error) !== "EEXIST") throw error;
      }
    return new OpenFolder(openRefusingLinks(path));
  }

  /** Opens a folder that is private: made by this call, or by an earlier one of this user, with mode 0700. */
  enterPrivate(name: string): OpenFolder {
    const folder = this.enter(name);
    const { uid, mode } = fstatSync(folder.#fd);
    if (uid === process.geteuid?.() && (mode & 0o077) === 0) return folder;
    folder.close();
    throw new TargetRefusedError("there is a folder of somebody else with the name of the order");
  }

  close(): void {
    closeSync(this.#fd);
  }
}

function openRefusingLinks(path: string | Buffer): number {
  try {
    return openSync(path, folderFlags);
  } catch (error) {
    const code = systemCode(error);
    if (code === "ELOOP" || code === "ENOTDIR")
      throw new TargetRefusedError("there is a link or a file in the place of a folder");
    throw error;
  }
}
