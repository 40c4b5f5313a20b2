/**
 * Runs interleavings in a worker thread. In the thread of the test runner a simulation is ten times slower, because the
 * runner tracks every promise there.
 */

import { parentPort, workerData } from "node:worker_threads";
import type { SimulationKind } from "./simulation.ts";
import { openSimulator } from "./simulation.ts";

/** Seeds to run: every `step`-th from `first` up to `last`, ending at the first failure. */
export interface Seeds {
  readonly first: number;
  readonly last: number;
  readonly step: number;
  readonly kind: SimulationKind;
}

export interface SeedsAnswer {
  readonly ran: number;
  readonly turns: number;
  readonly failure: { readonly seed: number; readonly message: string } | null;
}

const { first, last, step, kind } = workerData as Seeds;
const simulator = openSimulator(kind);
let ran = 0;
let turns = 0;
let failure: SeedsAnswer["failure"] = null;
for (let seed = first; seed <= last && failure === null; seed += step) {
  try {
    turns += await simulator.interleave(seed);
    ran++;
  } catch (error) {
    failure = { seed, message: error instanceof Error ? error.message : String(error) };
  }
}
await simulator.close();
parentPort?.postMessage({ ran, turns, failure } satisfies SeedsAnswer);
