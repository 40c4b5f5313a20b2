/**
 * A data frame's plain bytes: blocks back to back in slot order, the directory, and the directory's length (u32).
 */

import { ByteReader, FormatError } from "../bytes.ts";
import type { FrameDirectory } from "./directory.ts";
import { readDirectory } from "./directory.ts";

export interface DataFrame {
  readonly directory: FrameDirectory;
  /** Where each slot starts, and after the last one where it ends. */
  readonly starts: Uint32Array;
  readonly blocks: Uint8Array;
}

/** Reads the plain bytes of a data frame. */
export function parseDataFrame(plain: Uint8Array): DataFrame {
  if (plain.length < 4) throw new FormatError("a data frame is too short");
  const length = new ByteReader(plain, plain.length - 4).u32();
  const at = plain.length - 4 - length;
  if (at < 0) throw new FormatError("a frame's directory is out of bounds");
  const reader = new ByteReader(plain, at, plain.length - 4);
  const directory = readDirectory(reader);
  reader.done();
  const starts = startsOf(directory);
  if (starts.at(-1) !== at) throw new FormatError("a frame's blocks and directory disagree");
  return { directory, starts, blocks: plain.subarray(0, at) };
}

/** Where each slot of a directory starts, and where the last one ends. */
export function startsOf(directory: FrameDirectory): Uint32Array {
  const starts = new Uint32Array(directory.lengths.length + 1);
  let at = 0;
  for (let slot = 0; slot < directory.lengths.length; slot++) {
    at += directory.lengths[slot] ?? 0;
    starts[slot + 1] = at;
  }
  return starts;
}
