/**
 * A pack's bytes on their way to the store, in the order in which they come. Whoever fills it never waits; whoever stores
 * it takes a piece at a time. A piece's memory is given back as soon as the next one is asked for: to its worker, where
 * it is one of the worker's areas, or to the system.
 *
 * It can be read once. It ends in one of three ways: `end` (the pack is whole), `fail` (the reader is told and stores
 * nothing), or by being left, when its put is over or the reader has had enough: everything else is thrown away, and a
 * reader that asks once more is never told that this was the end.
 */

import { release } from "../format/bytes.ts";
import { releaseArea } from "../workers/frame-areas.ts";

export class PackStream implements AsyncIterable<Uint8Array> {
  readonly #pieces: Uint8Array[] = [];
  readonly #moved: () => void;
  #reading: Uint8Array | null = null;
  #wake: (() => void) | null = null;
  #state: "open" | "ended" | "left" = "open";
  #failure: Error | null = null;
  #waitingBytes = 0;
  /** The reader has been told of the end. */
  isRead = false;

  /** `moved` is called whenever bytes have gone. */
  constructor(moved: () => void) {
    this.#moved = moved;
  }

  /** Bytes that are still in memory. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  push(piece: Uint8Array): void {
    if (this.#state === "left") {
      giveBack(piece);
      return;
    }
    this.#pieces.push(piece);
    this.#waitingBytes += piece.length;
    this.#wake?.();
  }

  end(): void {
    if (this.#state === "open") this.#state = "ended";
    this.#wake?.();
  }

  fail(failure: Error): void {
    this.#failure ??= failure;
    this.#wake?.();
  }

  /** Throws away what is left and what still comes. */
  leave(): void {
    this.#state = "left";
    // A store that gave up may still be reading this piece: its area may be written to, but its memory must stay.
    if (this.#reading !== null) releaseArea(this.#reading);
    this.#reading = null;
    for (const piece of this.#pieces.splice(0)) giveBack(piece);
    this.#waitingBytes = 0;
    this.#wake?.();
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return {
      next: () => this.#next(),
      return: async () => {
        this.leave();
        return { done: true, value: undefined };
      },
    };
  }

  async #next(): Promise<IteratorResult<Uint8Array>> {
    this.#giveBackRead();
    for (;;) {
      if (this.#failure !== null) throw this.#failure;
      const piece = this.#pieces.shift();
      if (piece !== undefined) {
        this.#reading = piece;
        return { done: false, value: piece };
      }
      if (this.#state === "left") throw new Error("the put of this pack is over");
      if (this.#state === "ended") {
        this.isRead = true;
        return { done: true, value: undefined };
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      await promise;
      this.#wake = null;
    }
  }

  #giveBackRead(): void {
    const piece = this.#reading;
    if (piece === null) return;
    this.#reading = null;
    this.#waitingBytes -= piece.length;
    giveBack(piece);
    this.#moved();
  }
}

/** Gives a frame's memory back: to its worker, or to the system. */
export function giveBack(piece: Uint8Array): void {
  releaseArea(piece);
  release(piece);
}
