/** The plan of a run: which faults come in which order, and what clients do meanwhile. All of it follows from the seed. */

import assert from "node:assert/strict";
import type { Random } from "../../crash/testing/uploads.ts";
import { type Act, acts } from "./acts.ts";
import { type FaultKind, shares } from "./faults.ts";
import { type Way, ways } from "./reads.ts";
import { type UploadKind, uploadKinds } from "./uploads.ts";

export interface Round {
  readonly fault: FaultKind;
  /** After the clients have begun. */
  readonly strikeAfterMs: number;
  readonly lastsMs: number;
  readonly uploads: readonly UploadKind[];
  readonly reads: readonly Way[];
  readonly acts: readonly Act[];
}

export interface PlanOptions {
  readonly faults: number;
  readonly isBucket: boolean;
  /** Faults that cost a start of the service come so often at most, of each kind. */
  readonly mostStarts: number;
}

/** A fault within this time meets a client in the middle of an upload. */
const longestStartMs = 350;
const longestFaultMs = 500;

/** Kinds that cost starts of processes: seconds of CPU time each. */
const expensive: readonly FaultKind[] = ["kill_service", "kill_database", "old_dump", "drop_database"];

export function makePlan(random: Random, options: PlanOptions): readonly Round[] {
  const pick = <T>(from: readonly T[]): T => from[random.integer(from.length)] ?? assert.fail("empty");
  const some = <T>(from: readonly T[], most: number): T[] =>
    Array.from({ length: random.integer(most + 1) }, () => pick(from));
  return drawFaults(random, options).map((fault) => ({
    ...{ fault, strikeAfterMs: random.integer(longestStartMs), lastsMs: 50 + random.integer(longestFaultMs) },
    uploads: random.integer(3) === 0 ? [pick(uploadKinds), pick(uploadKinds)] : [pick(uploadKinds)],
    reads: some(ways, 1),
    acts: [pick(acts), ...some(acts, 1)],
  }));
}

/** As many of each kind as its share says, at least one, in an order that the seed chooses. */
function drawFaults(random: Random, { faults, isBucket, mostStarts }: PlanOptions): readonly FaultKind[] {
  const kinds = Object.entries(shares) as [FaultKind, number][];
  const drawn = kinds.flatMap(([kind, share]) => {
    if (kind === "failing_store" && !isBucket) return [];
    const wanted = Math.max(1, Math.round((share * faults) / 100));
    const most = expensive.includes(kind) ? mostStarts : wanted;
    // An old copy needs a moment at which it was made.
    const least = kind === "old_dump" ? 2 : 1;
    return Array.from({ length: Math.max(least, Math.min(wanted, most)) }, () => kind);
  });
  while (drawn.length < faults) drawn.push(random.integer(2) === 0 ? "lose_answers" : "clock_hours");
  for (let at = drawn.length - 1; at > 0; at--) {
    const other = random.integer(at + 1);
    [drawn[at], drawn[other]] = [drawn[other] as FaultKind, drawn[at] as FaultKind];
  }
  return drawn.slice(0, faults);
}
