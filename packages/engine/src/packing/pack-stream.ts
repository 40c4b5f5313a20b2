/**
 * The bytes of a pack while it is uploaded, as an async iterable of chunks: a header, a sealed frame or a footer each. The
 * writer never waits. The store reads one chunk at a time. Reading the next chunk releases the memory of the one before.
 *
 * The stream can be read once. It ends in one of three ways:
 *   end    the pack is complete; the reader sees the end
 *   fail   the reader gets the error and stores nothing
 *   close  the put is over or the reader stopped: everything else is dropped, and a reader that still asks gets an error
 */

import { release } from "../format/bytes.ts";
import { releaseFrameBuffer } from "./shared-frame-buffers.ts";

export class PackStream implements AsyncIterable<Uint8Array> {
  readonly #chunks: Uint8Array[] = [];
  readonly #onRead: () => void;
  #current: Uint8Array | null = null;
  #resumeReader: (() => void) | null = null;
  #state: "open" | "ended" | "closed" = "open";
  #failure: Error | null = null;
  #waitingBytes = 0;
  /** The reader has seen the end. */
  isReadToEnd = false;

  /** `onRead` is called when a chunk was read and released. */
  constructor(onRead: () => void) {
    this.#onRead = onRead;
  }

  /** Bytes that are still in memory. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** The stream owns the chunk's memory from here on. */
  push(chunk: Uint8Array): void {
    if (this.#state === "closed") {
      releaseChunk(chunk);
      return;
    }
    this.#chunks.push(chunk);
    this.#waitingBytes += chunk.length;
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
    // A store that has stopped may still read this chunk. A shared buffer may be overwritten, but its memory must stay.
    if (this.#current !== null) releaseFrameBuffer(this.#current);
    this.#current = null;
    for (const chunk of this.#chunks.splice(0)) releaseChunk(chunk);
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
      const chunk = this.#chunks.shift();
      if (chunk !== undefined) {
        this.#current = chunk;
        return { done: false, value: chunk };
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
    const chunk = this.#current;
    if (chunk === null) return;
    this.#current = null;
    this.#waitingBytes -= chunk.length;
    releaseChunk(chunk);
    this.#onRead();
  }
}

/** Releases a chunk's memory: a shared buffer becomes free for its worker, other memory goes back to the system. */
export function releaseChunk(chunk: Uint8Array): void {
  releaseFrameBuffer(chunk);
  release(chunk);
}
