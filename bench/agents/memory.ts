/** Memory of the service over the time of a load: samples, and what they say about growth. */

import type { MeasuredService, ServiceMemory } from "./service-processes.ts";

export interface Sample extends ServiceMemory {
  /** Seconds since the load began. */
  readonly at: number;
}

/** A run of a few seconds has some samples too. */
const shortestSampleMs = 250;
/** Reading the maps of all processes takes some milliseconds of a core. */
const longestSampleMs = 5_000;
/** Enough for means of quarters. */
const wantedSamples = 200;

/** Looks at the memory while a load of about so many seconds runs. Returns what ends it. */
export function watchMemory(service: MeasuredService, seconds: number): () => readonly Sample[] {
  const began = performance.now();
  const samples: Sample[] = [];
  const look = () => void samples.push({ at: (performance.now() - began) / 1000, ...service.memory() });
  look();
  const everyMs = Math.min(longestSampleMs, Math.max(shortestSampleMs, (seconds * 1000) / wantedSamples));
  const timer = setInterval(look, everyMs);
  return () => {
    clearInterval(timer);
    look();
    return samples;
  };
}

export interface Course {
  readonly start: number;
  /** Means of the quarters of the time. */
  readonly quarters: readonly number[];
  readonly end: number;
  /** The largest sample. */
  readonly peak: number;
  /** Bytes a minute, after the first quarter: until then code is compiled and caches are filled. */
  readonly slope: number;
}

/** How one figure went. */
export function courseOf(samples: readonly Sample[], of: (sample: Sample) => number): Course {
  const values = samples.map(of);
  const last = samples.at(-1)?.at ?? 0;
  const inQuarter = (quarter: number) =>
    samples.filter(({ at }) => at >= (last * quarter) / 4 && at <= (last * (quarter + 1)) / 4).map(of);
  return {
    ...{ start: values[0] ?? 0, end: values.at(-1) ?? 0, peak: Math.max(0, ...values) },
    quarters: [0, 1, 2, 3].map((quarter) => mean(inQuarter(quarter))),
    slope: slopePerMinute(samples.filter(({ at }) => at >= last / 4).map((sample) => [sample.at / 60, of(sample)])),
  };
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, each) => sum + each, 0) / values.length;
}

/** By least squares. */
function slopePerMinute(points: readonly (readonly [minutes: number, value: number])[]): number {
  const [middle, height] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))];
  const spread = points.reduce((sum, [x]) => sum + (x - middle) ** 2, 0);
  return spread === 0 ? 0 : points.reduce((sum, [x, y]) => sum + (x - middle) * (y - height), 0) / spread;
}
