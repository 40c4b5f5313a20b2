/**
 * Where a worker puts its sealed frames for the pipeline: a few areas of shared memory that are used again and again. A
 * new buffer per frame, handed from thread to thread, is megabytes that the system maps, clears and takes back each time.
 *
 * An area is *free* or *full*, said by its first word. The worker takes a free one and writes a frame into it; whoever
 * hears of the frame empties the area once it has been stored (`releaseArea`). When all areas are full, frames get memory of
 * their own, so nobody ever waits for an area and one that is never emptied costs speed only.
 */

/** The word that says whether the area is full; the rest of a cache line stays empty. */
const headBytes = 64;

const free = 0;
const full = 1;

export class FrameAreas {
  readonly #areas: readonly SharedArrayBuffer[];

  /** Memory that nobody writes to costs nothing. */
  constructor(areas: number, areaBytes: number) {
    this.#areas = Array.from({ length: areas }, () => new SharedArrayBuffer(headBytes + areaBytes));
  }

  /** Room for a frame: in a free area, which is full from now on, or in memory of its own. */
  room(length: number): Uint8Array {
    for (const area of this.#areas) {
      if (headBytes + length > area.byteLength) break;
      if (Atomics.compareExchange(new Int32Array(area, 0, 1), 0, free, full) === free)
        return new Uint8Array(area, headBytes, length);
    }
    return Buffer.allocUnsafeSlow(length);
  }
}

/** Frees the area that a frame lies in; its bytes must not be used any more. Does nothing for other memory. */
export function releaseArea(frame: Uint8Array): void {
  if (frame.buffer instanceof SharedArrayBuffer) Atomics.store(new Int32Array(frame.buffer, 0, 1), 0, free);
}
