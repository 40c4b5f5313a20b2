/**
 * Packs of a large backup on disk while they are collected and sent, so that memory does not have them. They are encrypted. The file has no name once it is open: whatever ends the
 * process, nothing is left behind.
 */

import { mkdirSync } from "node:fs";
import { type FileHandle, open, unlink } from "node:fs/promises";
import path from "node:path";
import type { SpooledPack } from "@emanet/engine/remote";
import type { AgentContext } from "../context.ts";

/** What is read and sent at a time. */
const chunkBytes = 256 * 1024;

/** A disk with less free space than several packs is not used: the backup needs it for its cache. */
const minFreeBytes = 256 * 1024 * 1024;

/**
 * Up to so many files packs are in memory while they are sent, which spares writing and reading them. Beyond it a backup needs its memory for the files
 * (docs/decisions/0648).
 */
export const filesWithPacksInMemory = 50_000;

/** Places for packs on disk once the backup has done many files, which it tells by `onFiles`; null before. */
export function spoolOfLargeTrees(context: AgentContext) {
  const spool = packSpool(context);
  let files = 0;
  return {
    spool: async () => (files > filesWithPacksInMemory ? spool() : null),
    onFiles: (done: number): void => {
      files = done;
    },
  };
}

/** Places for packs in the folder of caches; null where its disk is nearly full or the agent may not write. */
export function packSpool({ environment, freeBytes, newKey }: AgentContext): () => Promise<SpooledPack | null> {
  const folder = path.join(environment.cacheFolder, "spool");
  return async () => {
    const name = path.join(folder, `pack-${newKey()}`);
    let file: FileHandle;
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      if (freeBytes(folder) < minFreeBytes) return null;
      file = await open(name, "wx+", 0o600);
    } catch {
      // The agent may not write to this folder, or it is no folder: the pack stays in memory.
      return null;
    }
    await unlink(name);
    let size = 0;
    return {
      async write(chunk) {
        for (let at = 0; at < chunk.length; ) {
          const { bytesWritten } = await file.write(chunk, at, chunk.length - at, size);
          at += bytesWritten;
          size += bytesWritten;
        }
      },
      async *chunks() {
        const buffer = Buffer.allocUnsafeSlow(chunkBytes);
        for (let at = 0; at < size; ) {
          const { bytesRead } = await file.read(buffer, 0, Math.min(chunkBytes, size - at), at);
          if (bytesRead === 0) throw new Error("a pack on disk is shorter than it was written");
          yield buffer.subarray(0, bytesRead);
          at += bytesRead;
        }
      },
      remove: () => file.close(),
    };
  };
}
