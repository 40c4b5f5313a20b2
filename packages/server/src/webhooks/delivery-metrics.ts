/** Metrics of deliveries: attempts by how they ended, how long they took, how late first attempts are, how many are in flight. */

import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { Outcome } from "./schedule.ts";

export interface DeliveryCounts {
  /** `lagMs`: from the event to its first attempt; null for a later attempt. */
  attempted(outcome: Outcome, lagMs: number | null): void;
  /** Asked at every scrape. */
  watch(inFlight: () => number): void;
}

const buckets = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15];
const lagBuckets = [0.05, 0.1, 0.25, 0.5, 1, 5, 15, 60, 600, 3600];

export function deliveryMetrics(registry: Registry): DeliveryCounts {
  const registers = [registry];
  const attempts = new Counter({
    name: "emanet_webhook_attempts_total",
    help: "Attempts of webhook deliveries: delivered, or the class of the error",
    labelNames: ["outcome"] as const,
    registers,
  });
  const durations = new Histogram({
    name: "emanet_webhook_attempt_duration_seconds",
    help: "Time of an attempt until the answer or the failure",
    buckets,
    registers,
  });
  const lags = new Histogram({
    name: "emanet_webhook_lag_seconds",
    help: "Time from an event to its first attempt",
    buckets: lagBuckets,
    registers,
  });
  return {
    attempted(outcome, lagMs) {
      attempts.inc({ outcome: outcome.error ?? "delivered" });
      durations.observe(outcome.durationMs / 1000);
      if (lagMs !== null) lags.observe(Math.max(0, lagMs) / 1000);
    },
    watch(inFlight) {
      new Gauge({
        name: "emanet_webhook_attempts_in_flight",
        help: "Attempts that wait for an answer",
        registers,
        collect() {
          this.set(inFlight());
        },
      });
    },
  };
}
