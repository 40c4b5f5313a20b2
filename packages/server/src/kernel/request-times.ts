/**
 * The histogram of response times. prom-client's own writes the labels of each measurement as a text to find its series. Every
 * request is measured, so here a series is found by its operation and a number.
 */

import type { Histogram, Registry } from "prom-client";

export interface RequestTimesOptions {
  readonly registry: Registry;
  /** Bounds of the buckets in seconds, ascending. */
  readonly buckets: readonly number[];
  /** The values of the label `method`; any other method is `other`. */
  readonly methods: readonly string[];
}

export interface RequestTimes {
  /** `operation` is one of few names. */
  observe(operation: string, method: string, status: number, seconds: number): void;
}

interface Series {
  readonly labels: Readonly<Record<"operation" | "method" | "status_class", string>>;
  /** One more than there are bounds: the last is for what is above all of them. */
  readonly counts: number[];
  sum: number;
}

const name = "emanet_http_request_duration_seconds";
const otherName = "other";

/** 1xx to 5xx, and `other`. */
const classesPerMethod = 6;

export function createRequestTimes({ registry, buckets, methods }: RequestTimesOptions): RequestTimes {
  const series = new Map<string, Map<number, Series>>();
  const read = async () => ({
    ...{ name, help: "Time from a request's head to the end of its answer.", type: "histogram", aggregator: "sum" },
    values: [...series.values()].flatMap((all) => [...all.values()].flatMap((one) => valuesOf(one, buckets))),
  });
  // The registry asks for no more than this of a metric.
  registry.registerMetric({ name, get: read } as unknown as Histogram);
  return {
    observe(operation, method, status, seconds) {
      const statusClass = status >= 100 && status < 600 ? Math.floor(status / 100) : 0;
      const methodAt = methods.indexOf(method);
      const ofOperation = series.getOrInsertComputed(operation, () => new Map());
      const one = ofOperation.getOrInsertComputed(methodAt * classesPerMethod + statusClass, () => ({
        labels: {
          operation,
          method: methods[methodAt] ?? otherName,
          status_class: statusClass === 0 ? otherName : `${statusClass}xx`,
        },
        counts: new Array<number>(buckets.length + 1).fill(0),
        sum: 0,
      }));
      let at = 0;
      while (at < buckets.length && seconds > (buckets[at] ?? 0)) at++;
      one.counts[at] = (one.counts[at] ?? 0) + 1;
      one.sum += seconds;
    },
  };
}

/** The lines of a series, each bucket with all that are below it. */
function valuesOf({ labels, counts, sum }: Series, buckets: readonly number[]) {
  let below = 0;
  const counted = counts.map((count, at) => {
    below += count;
    return { metricName: `${name}_bucket`, labels: { le: buckets[at] ?? "+Inf", ...labels }, value: below };
  });
  return [
    ...counted,
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: below },
  ];
}
