/**
 * Recipes: how a segment is put together. A recipe is a list of runs. A run is a number of consecutive slots of one frame
 * with their total bytes, so the offset of every run is known before a frame is read. Blocks of zeros are stored in no
 * frame; they are runs of kind `zeros`.
 *
 * A tree node has a recipe of one run: its item in a metadata frame.
 *
 * Encoding: varint run count; per run a u8 kind: 0 = zeros: varint count, varint bytes of each; 1 = stored: zigzag
 * difference to the previous run's frame number, varint slot, varint count, varint bytes of all.
 */

import { ByteReader, ByteWriter, FormatError } from "./bytes.ts";

export type Run =
  | {
      readonly kind: "stored";
      readonly frame: number;
      readonly slot: number;
      readonly count: number;
      readonly bytes: number;
    }
  | { readonly kind: "zeros"; readonly count: number; readonly bytes: number };

export type Recipe = readonly Run[];

/** More runs, and more blocks, than a segment can have. */
const maxRuns = 1 << 20;

/** Sixteen times the largest segment. A false recipe must not make a reader allocate more. */
const maxRecipeBytes = 64 * 1024 * 1024;

/** A recipe as bytes. */
export function encodeRecipe(recipe: Recipe): Buffer {
  const writer = new ByteWriter(8 + recipe.length * 12).varint(recipe.length);
  let previous = 0;
  for (const run of recipe) {
    if (run.kind === "zeros") {
      writer
        .u8(0)
        .varint(run.count)
        .varint(run.bytes / run.count);
      continue;
    }
    writer
      .u8(1)
      .zigzag(run.frame - previous)
      .varint(run.slot)
      .varint(run.count)
      .varint(run.bytes);
    previous = run.frame;
  }
  return writer.take();
}

/** Reads a recipe. */
export function decodeRecipe(bytes: Uint8Array): Recipe {
  const reader = new ByteReader(bytes);
  const count = reader.varint();
  if (count > maxRuns) throw new FormatError("a recipe is too long");
  const runs: Run[] = [];
  let previous = 0;
  let blocksInAll = 0;
  let bytesInAll = 0;
  for (let i = 0; i < count; i++) {
    const kind = reader.u8();
    if (kind === 0) {
      const blocks = reader.varint();
      const each = reader.varint();
      runs.push({ kind: "zeros", count: blocks, bytes: blocks * each });
    } else if (kind === 1) {
      previous += reader.zigzag();
      const [slot, blocks, bytes] = [reader.varint(), reader.varint(), reader.varint()];
      runs.push({ kind: "stored", frame: previous, slot, count: blocks, bytes });
    } else throw new FormatError("an unknown kind of run");
    blocksInAll += runs[i]?.count ?? 0;
    bytesInAll += runs[i]?.bytes ?? 0;
    if (blocksInAll > maxRuns || bytesInAll > maxRecipeBytes) throw new FormatError("a recipe is too long");
  }
  reader.done();
  return runs;
}

/** Builds a recipe block by block. A block that continues the last run extends it. */
export class RecipeBuilder {
  readonly #runs: GrowingRun[] = [];
  #last: GrowingRun | null = null;

  stored(frame: number, slot: number, bytes: number): void {
    const last = this.#last;
    if (last?.kind === "stored" && last.frame === frame && last.slot + last.count === slot) {
      last.count++;
      last.bytes += bytes;
    } else this.#begin({ kind: "stored", frame, slot, count: 1, bytes });
  }

  zeros(bytes: number): void {
    const last = this.#last;
    if (last?.kind === "zeros" && last.bytes === last.count * bytes) {
      last.count++;
      last.bytes += bytes;
    } else this.#begin({ kind: "zeros", count: 1, bytes });
  }

  /** The recipe. The builder must not be used afterwards. */
  take(): Recipe {
    return this.#runs;
  }

  #begin(run: GrowingRun): void {
    this.#last = run;
    this.#runs.push(run);
  }
}

type GrowingRun =
  | { readonly kind: "stored"; readonly frame: number; readonly slot: number; count: number; bytes: number }
  | { readonly kind: "zeros"; count: number; bytes: number };

/** The frames that a recipe reads, each once. */
export function framesOf(recipe: Recipe): number[] {
  const frames = new Set<number>();
  for (const run of recipe) if (run.kind === "stored") frames.add(run.frame);
  return [...frames];
}

/** Bytes of the segment. */
export function bytesOf(recipe: Recipe): number {
  return recipe.reduce((sum, run) => sum + run.bytes, 0);
}

/** Blocks of the segment. */
export function blocksOf(recipe: Recipe): number {
  return recipe.reduce((sum, run) => sum + run.count, 0);
}
