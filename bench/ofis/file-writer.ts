/**
 * Writes one file. It collects small pieces, hashes all bytes, and counts the incompressible ones for the oracle: the
 * caller says for every piece whether it is incompressible.
 */

import { createHash } from "node:crypto";
import { closeSync, fchmodSync, futimesSync, mkdirSync, openSync, writeSync } from "node:fs";
import path from "node:path";

/** Small pieces are written together: a system call costs more than copying this. */
const bufferBytes = 256 * 1024;

export class FileWriter {
  readonly #fd: number;
  readonly #hash = createHash("sha256");
  readonly #buffer = Buffer.allocUnsafe(bufferBytes);
  #held = 0;
  /** Bytes written so far. */
  size = 0;
  /** Of these, bytes that no compressor makes smaller. */
  dense = 0;

  constructor(file: string) {
    mkdirSync(path.dirname(file), { recursive: true });
    this.#fd = openSync(file, "wx");
  }

  text(text: string): void {
    this.write(Buffer.from(text, "utf8"));
  }

  write(piece: Uint8Array): void {
    this.size += piece.length;
    if (this.#held + piece.length > bufferBytes) this.#flush();
    if (piece.length > bufferBytes) {
      this.#out(piece);
      return;
    }
    this.#buffer.set(piece, this.#held);
    this.#held += piece.length;
  }

  writeDense(piece: Uint8Array): void {
    this.dense += piece.length;
    this.write(piece);
  }

  /** Ends the file and returns its SHA-256. Times are whole seconds, so that every file system keeps them. */
  finish(mtime: number, mode: number): string {
    this.#flush();
    fchmodSync(this.#fd, mode);
    futimesSync(this.#fd, mtime, mtime);
    closeSync(this.#fd);
    return this.#hash.digest("hex");
  }

  #flush(): void {
    if (this.#held === 0) return;
    this.#out(this.#buffer.subarray(0, this.#held));
    this.#held = 0;
  }

  #out(bytes: Uint8Array): void {
    this.#hash.update(bytes);
    for (let done = 0; done < bytes.length; ) done += writeSync(this.#fd, bytes, done);
  }
}
