/**
 * Shared memory through which a worker passes sealed frames to the main thread: a few buffers that are reused. With a new buffer
 * per frame the system would map, clear and unmap megabytes for every frame.
 *
 * The first word of a buffer says whether it is free or in use. The worker allocates a free buffer and writes a frame
 * into it. The main thread calls `releaseFrameBuffer` once the store has read the frame. If all buffers are in use, a
 * frame gets ordinary memory. So a worker never waits for a buffer, and a buffer that is never released costs only
 * speed.
 */

/** The word that holds the state; the rest of a cache line stays empty. */
const headBytes = 64;

const free = 0;
const inUse = 1;

export class SharedFrameBuffers {
  readonly #buffers: readonly SharedArrayBuffer[];

  /** Memory that was never written to costs nothing. */
  constructor(count: number, bufferBytes: number) {
    this.#buffers = Array.from({ length: count }, () => new SharedArrayBuffer(headBytes + bufferBytes));
  }

  /** Memory for a frame: a free shared buffer, which is in use from now on, or ordinary memory. */
  allocate(length: number): Uint8Array {
    for (const buffer of this.#buffers) {
      if (headBytes + length > buffer.byteLength) break;
      if (Atomics.compareExchange(new Int32Array(buffer, 0, 1), 0, free, inUse) === free)
        return new Uint8Array(buffer, headBytes, length);
    }
    return Buffer.allocUnsafeSlow(length);
  }
}

/** Frees the shared buffer of a frame, whose bytes must not be used any more. Does nothing for ordinary memory. */
export function releaseFrameBuffer(frame: Uint8Array): void {
  if (frame.buffer instanceof SharedArrayBuffer) Atomics.store(new Int32Array(frame.buffer, 0, 1), 0, free);
}
