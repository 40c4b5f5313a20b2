/**
 * The bytes of a pack while it is uploaded, as an async iterable. The writer never waits. The store reads one piece at a
 * time; asking for the next piece releases the memory of the one before.
 *
 * The stream can be read once. It ends in one of three ways:
 *   end    the pack is complete; the reader sees the end
 *   fail   the reader gets the error and stores nothing
 *   close  the put is over or the reader stopped: everything else is dropped, and a reader that still asks gets an error
 */

import { release } from "../format/bytes.ts";
import { releaseFrameBuffer } from "./shared-frame-buffers.ts";

export class PackStream implements AsyncIterable<Uint8Array> {
  readonly #pieces: Uint8Array[] = [];
  readonly #onRead: () => void;
  #current: Uint8Array | null = null;
  #resumeReader: (() => void) | null = null;
  #state: "open" | "ended" | "closed" = "open";
  #failure: Error | null = null;
  #waitingBytes = 0;
  /** The reader has seen the end. */
  isReadToEnd = false;

  /** `onRead` is called when a piece was read and released. */
  constructor(onRead: () => void) {
    this.#onRead = onRead;
  }

  /** Bytes that are still in memory. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** The stream owns the piece's memory from here on. */
  push(piece: Uint8Array): void {
    if (this.#state === "closed") {
      releasePiece(piece);
      return;
    }
    this.#pieces.push(piece);
    this.#waitingBytes += piece.length;
    this.#resumeReader?.();
  }

  end(): void {
    if (this.#state === "open") this.#state = "ended";
    this.#resumeReader?.();
  }

  fail(failure: Error): void {
    this.#failure ??= failure;
    this.#resumeReader?.();
  }

  /** Drops what was not read and what is still pushed. */
  close(): void {
    this.#state = "closed";
    // A store that gave up may still read this piece. A shared buffer may be overwritten, but its memory must not go away.
    if (this.#current !== null) releaseFrameBuffer(this.#current);
    this.#current = null;
    for (const piece of this.#pieces.splice(0)) releasePiece(piece);
    this.#waitingBytes = 0;
    this.#resumeReader?.();
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return {
      next: () => this.#next(),
      return: async () => {
        this.close();
        return { done: true, value: undefined };
      },
    };
  }

  async #next(): Promise<IteratorResult<Uint8Array>> {
    this.#releaseCurrent();
    for (;;) {
      if (this.#failure !== null) throw this.#failure;
      const piece = this.#pieces.shift();
      if (piece !== undefined) {
        this.#current = piece;
        return { done: false, value: piece };
      }
      if (this.#state === "closed") throw new Error("the put of this pack is over");
      if (this.#state === "ended") {
        this.isReadToEnd = true;
        return { done: true, value: undefined };
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#resumeReader = resolve;
      await promise;
      this.#resumeReader = null;
    }
  }

  #releaseCurrent(): void {
    const piece = this.#current;
    if (piece === null) return;
    this.#current = null;
    this.#waitingBytes -= piece.length;
    releasePiece(piece);
    this.#onRead();
  }
}

/** Releases a piece's memory: a shared buffer becomes free for its worker, other memory goes back to the system. */
export function releasePiece(piece: Uint8Array): void {
  releaseFrameBuffer(piece);
  release(piece);
}
