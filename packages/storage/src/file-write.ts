import type { FileHandle } from "node:fs/promises";

/** Writes a whole chunk at the current position; the system may take it in parts. */
export async function writeAll(handle: FileHandle, chunk: Uint8Array): Promise<void> {
  let written = 0;
  while (written < chunk.byteLength) {
    const { bytesWritten } = await handle.write(chunk, written, chunk.byteLength - written, null);
    written += bytesWritten;
  }
}
