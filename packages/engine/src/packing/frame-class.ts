/**
 * Frame classes: blocks that compress differently go to different frames. A frame holds blocks of one class.
 */

/** `page`: pages of databases and disk images. The other two: content-defined blocks that compress, or do not. */
export type FrameClass = "page" | "compressible" | "incompressible";

export const frameClasses: readonly FrameClass[] = ["page", "compressible", "incompressible"];

/**
 * Plain block bytes at which a frame is full. Changed pages are scattered over a file, so page frames are smaller: a
 * restore then reads fewer bytes that it does not need.
 */
export const frameBytes = {
  page: 1024 * 1024,
  compressible: 2 * 1024 * 1024,
  incompressible: 2 * 1024 * 1024,
} as const;

/** Blocks of one portion to append to a frame, and whether the frame is sealed afterwards. */
export interface FrameAppend {
  readonly frameClass: FrameClass;
  /** Counts the frames of the session: the lower part of the frame number. */
  readonly n: number;
  /** Runs of the portion's blocks: first block and count, alternating. */
  readonly runs: Uint32Array;
  readonly seal: boolean;
}
