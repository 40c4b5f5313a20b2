/** The disk of the object store and the spools: a file system of its own where one may be mounted, so that it can be full. */

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { statfsSync } from "node:fs";
import type { Cleanup } from "../../../packages/server/src/testing/database.ts";

export interface Disk {
  readonly folder: string;
  /** False where nothing may be mounted: then it is never full. */
  readonly isOwn: boolean;
  fill(): void;
  empty(): void;
}

/** Much more than all uploads of a run: it is full only when it is filled. */
const largeBytes = 2 ** 30;
/** What is left of a full disk: enough for some objects, not for an upload. */
const leftBytes = 40_000;

/** More writes in a row than uploads run at once. */
const fillTries = 20;

/** Ends with its standard input, also if the test is killed, and leaves nothing mounted then. */
const mountWhileRead = 'mount -t tmpfs -o "size=$1" tmpfs "$2" && echo mounted && cat; umount --lazy "$2"';

/** Fills and empties by changing the size, which costs no memory. */
export async function openDisk(cleanup: Cleanup, folder: string): Promise<Disk> {
  const words = ["-c", mountWhileRead, "sh", String(largeBytes), folder];
  const mounted = spawn("sh", words, { stdio: ["pipe", "pipe", "ignore"], detached: true });
  const ended = once(mounted, "close");
  cleanup.after(async () => {
    mounted.stdin.end();
    await ended;
  });
  const isOwn = await Promise.race([once(mounted.stdout, "data").then(() => true), ended.then(() => false)]);
  const resize = (bytes: number) =>
    void execFileSync("mount", ["-o", `remount,size=${bytes}`, folder], { stdio: "ignore" });
  return {
    folder,
    isOwn,
    fill() {
      for (let left = fillTries; ; left--) {
        const { blocks, bfree, bsize } = statfsSync(folder);
        try {
          return resize((blocks - bfree) * bsize + leftBytes);
        } catch (error) {
          // An upload has written more meanwhile: no file system is made smaller than what is in it.
          if (left === 0) throw error;
        }
      }
    },
    empty: () => resize(largeBytes),
  };
}
