/**
 * How long the service took for its answers, from the head of a request to the end of its answer, by its own metrics: what clients waited without the wait for their own process, and without
 * the time that a connection waited to be read. The metrics count in buckets, so a quantile is known by its upper bound.
 */

const name = "emanet_http_request_duration_seconds_bucket";

/** Operations whose time depends on how much content they carry. */
const withContent: ReadonlySet<string> = new Set(["uploads.put_pack", "snapshots.read_file"]);

/** By operation: for each bound in seconds, how many calls took at most as long. */
export type ServiceTimes = Readonly<Record<string, Readonly<Record<string, number>>>>;

export async function readServiceTimes(metricsUrl: string): Promise<ServiceTimes> {
  return timesIn(await (await fetch(metricsUrl)).text());
}

export function timesIn(metrics: string): ServiceTimes {
  const times: Record<string, Record<string, number>> = {};
  for (const line of metrics.split("\n")) {
    if (!line.startsWith(name)) continue;
    const [bound, operation] = [/le="([^"]+)"/.exec(line)?.[1], /operation="([^"]+)"/.exec(line)?.[1]];
    if (bound === undefined || operation === undefined) continue;
    const ofOperation = times[operation] ?? {};
    // One line for each class of status.
    ofOperation[bound] = (ofOperation[bound] ?? 0) + Number(line.slice(line.lastIndexOf(" ")));
    times[operation] = ofOperation;
  }
  return times;
}

/** What was counted between two readings. */
export function timesBetween(before: ServiceTimes, after: ServiceTimes): ServiceTimes {
  const changed = Object.entries(after).map(([operation, counts]) => {
    const more = Object.entries(counts).map(([bound, count]) => [bound, count - (before[operation]?.[bound] ?? 0)]);
    return [operation, Object.fromEntries(more) as Record<string, number>] as const;
  });
  return Object.fromEntries(changed.filter(([, counts]) => (counts["+Inf"] ?? 0) > 0));
}

/** All control calls as one. */
export function controlOf(times: ServiceTimes): Readonly<Record<string, number>> {
  const all: Record<string, number> = {};
  for (const [operation, counts] of Object.entries(times))
    if (!withContent.has(operation))
      for (const [bound, count] of Object.entries(counts)) all[bound] = (all[bound] ?? 0) + count;
  return all;
}

/** The part of the calls that took at most so many seconds, which is a bound of the buckets. */
export function shareWithin(counts: Readonly<Record<string, number>>, seconds: number): number {
  return (counts[String(seconds)] ?? 0) / Math.max(1, counts["+Inf"] ?? 0);
}

/** The upper bound of the bucket that has this part of the calls, in milliseconds. */
export function boundOf(counts: Readonly<Record<string, number>>, part: number): number {
  const wanted = (counts["+Inf"] ?? 0) * part;
  const bounds = Object.keys(counts).map((bound) => (bound === "+Inf" ? Number.POSITIVE_INFINITY : Number(bound)));
  const found = bounds
    .sort((a, b) => a - b)
    .find((bound) => (counts[bound === Number.POSITIVE_INFINITY ? "+Inf" : String(bound)] ?? 0) >= wanted);
  return (found ?? Number.POSITIVE_INFINITY) * 1000;
}
