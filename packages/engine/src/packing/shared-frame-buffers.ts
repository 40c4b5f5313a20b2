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
  readonly #buffers: SharedArrayBuffer[] = [];
  readonly #count: number;
  readonly #bufferBytes: number;

  /** A buffer is made when it is first needed: a small upload needs one. */
  constructor(count: number, bufferBytes: number) {
    this.#count = count;
    this.#bufferBytes = bufferBytes;
  }

  /** Memory for a frame: a free shared buffer, which is in use from now on, or ordinary memory. */
  allocate(length: number): Uint8Array {
    if (length > this.#bufferBytes) return Buffer.allocUnsafeSlow(length);
    for (const buffer of this.#buffers) if (take(buffer)) return new Uint8Array(buffer, headBytes, length);
    if (this.#buffers.length === this.#count) return Buffer.allocUnsafeSlow(length);
    const made = new SharedArrayBuffer(headBytes + this.#bufferBytes);
    this.#buffers.push(made);
    take(made);
    return new Uint8Array(made, headBytes, length);
  }
}

/** Returns whether the buffer was free. It is in use now. */
function take(buffer: SharedArrayBuffer): boolean {
  return Atomics.compareExchange(new Int32Array(buffer, 0, 1), 0, free, inUse) === free;
}

/** Frees the shared buffer of a frame, whose bytes must not be used any more. Does nothing for ordinary memory. */
export function releaseFrameBuffer(frame: Uint8Array): void {
  if (frame.buffer instanceof SharedArrayBuffer) Atomics.store(new Int32Array(frame.buffer, 0, 1), 0, free);
}
