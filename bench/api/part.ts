/** A part of the benchmark that has no counterpart at the bare server. It starts the service that it measures. */

import type { ScaleName } from "./scale.ts";

export interface PartOptions {
  readonly scale: ScaleName;
  readonly seed: number;
  /** Called in reverse order at the end of the part. */
  readonly cleanups: (() => unknown)[];
  /** A folder for this part, removed at its end. */
  readonly temporary: string;
  readonly log: (line: string) => void;
}

export interface Part {
  /** As it is in `--only`. */
  readonly name: string;
  /** Returns a section of the results. */
  run(options: PartOptions): Promise<string>;
}
