/**
 * Metrics for Prometheus: one registry per service instance, and the listener that serves it.
 *
 * Nouns: an *operation* is the dotted name of an endpoint, a *task* the name of a kind of job; both come from the code.
 *
 * Invariants
 * - Labels have few values: names from the code, methods and status classes from fixed lists. Whatever else comes in
 *   is counted under `other`, and so is a name beyond {@link namesMax}. No path, id or address is ever a label.
 * - The listener serves `/metrics` and nothing else, without TLS: it belongs on a private address.
 */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { errorFields, type Log } from "./log.ts";
import { createRequestTimes } from "./request-times.ts";
import { StartError } from "./start-error.ts";

export interface MetricsOptions {
  readonly version: string;
  readonly role: string;
}

export interface FinishedRequest {
  /** Null for a request that reached no endpoint. */
  readonly operation: string | null;
  readonly method: string;
  readonly status: number;
  readonly durationMs: number;
}

/** What became of one attempt; the words of the job runner. */
export type JobOutcome = "done" | "retried" | "given_up" | "released" | "canceled";

export interface FinishedJob {
  readonly task: string;
  readonly outcome: JobOutcome;
  readonly durationMs: number;
}

/** Connections of a database pool, as `pg` counts them. */
export interface PoolCounts {
  readonly total: number;
  readonly idle: number;
  /** Callers waiting for a connection. */
  readonly waiting: number;
  /** Callers of the background that wait for one of its share (`database/background.ts`). */
  readonly backgroundWaiting: number;
}

export interface Metrics {
  readonly registry: Registry;
  requestStarted(): void;
  /** Once for every `requestStarted`. */
  requestFinished(request: FinishedRequest): void;
  jobFinished(job: FinishedJob): void;
  /** Asked at every scrape. The name is a word of the code, e.g. `app`. */
  watchPool(name: string, read: () => PoolCounts): void;
  /** Asked at every scrape: how many jobs are in which state. While it fails, the series are absent. */
  watchJobs(read: () => Promise<Readonly<Record<"scheduled" | "queued" | "running" | "failed", number>>>): void;
  /** What a limit said of a request. */
  limitDecided(policy: string, outcome: "allowed" | "shadow_denied" | "denied"): void;
  /** A request met a shared store that is away, and was counted by the process or refused. */
  limitFellBack(how: "process" | "refused"): void;
  /** Whether the shared store of limits answers; without one it is never told. */
  limitStoreUp(up: boolean): void;
  /** A ban was set. */
  banned(kind: string): void;
  /** Fields that the log refused: not zero means that code tries to log what it must not. */
  logFieldsDropped(count: number): void;
}

/** A delay of the event loop is measured by a timer, which wakes an idle process; by default a hundred times a second. */
const eventLoopCheckMs = 250;

/** Makes the metrics of one service instance. */
export function createMetrics(options: MetricsOptions): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: eventLoopCheckMs });
  const registers = [registry];
  buildInfo(options, registers);
  const pools = poolGauge(registers);
  const jobCounts = jobGauge(registers);
  const operations = boundedNames();
  const tasks = boundedNames();
  const requests = createRequestTimes({ registry, buckets: requestBuckets, methods });
  let inFlight = 0;
  new Gauge({
    name: "emanet_http_requests_in_flight",
    help: "Requests being served.",
    registers,
    collect() {
      this.set(inFlight);
    },
  });
  const jobs = new Histogram({
    name: "emanet_job_duration_seconds",
    help: "Time of one attempt of a background job.",
    labelNames: ["task", "outcome"],
    buckets: jobBuckets,
    registers,
  });
  const dropped = new Counter({
    name: "emanet_log_fields_dropped_total",
    help: "Log fields refused by the allow-list.",
    registers,
  });

  return {
    registry,
    requestStarted: () => {
      inFlight += 1;
    },
    requestFinished({ operation, method, status, durationMs }) {
      inFlight -= 1;
      requests.observe(operation === null ? "none" : operations(operation), method, status, durationMs / 1000);
    },
    jobFinished: ({ task, outcome, durationMs }) => jobs.observe({ task: tasks(task), outcome }, durationMs / 1000),
    watchPool: (name, read) => void pools.set(name, read),
    watchJobs: (read) => void jobCounts.add(read),
    ...limitMetrics(registers),
    logFieldsDropped: (count) => dropped.inc(count),
  };
}

function bindError(error: NodeJS.ErrnoException, { host, port }: MetricsListenerOptions["listen"]): StartError {
  return new StartError(
    "address_unusable",
    `The metrics cannot be served on ${host}:${port} (${error.code}). Set EMANET_METRICS_LISTEN to a free address of this machine.`,
    { cause: error },
  );
}

export interface MetricsListenerOptions {
  readonly listen: { readonly host: string; readonly port: number };
  readonly registry: Registry;
  readonly log: Log;
}

export interface MetricsListener {
  /** Where it is really bound. */
  readonly address: { readonly host: string; readonly port: number };
  close(): Promise<void>;
}

/** Serves `GET /metrics`. Rejects when the address cannot be bound. */
export async function startMetricsListener(options: MetricsListenerOptions): Promise<MetricsListener> {
  const { registry, log } = options;
  const server = createServer(
    { headersTimeout: requestTimeoutMs, requestTimeout: requestTimeoutMs, keepAliveTimeout: idleTimeoutMs },
    (request, response) => {
      respond(registry, request, response).catch((error: unknown) => {
        log.error("metrics_failed", errorFields(error));
        if (!response.headersSent) response.writeHead(500);
        response.end();
      });
    },
  );
  server.maxConnections = connectionsMax;
  server.setTimeout(requestTimeoutMs);
  const bound = Promise.withResolvers<void>();
  server.once("error", (error: NodeJS.ErrnoException) => bound.reject(bindError(error, options.listen)));
  server.listen(options.listen.port, options.listen.host, bound.resolve);
  await bound.promise;
  const { address, port } = server.address() as AddressInfo;
  log.info("metrics_listening", { port });
  return {
    address: { host: address, port },
    close: async () => {
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      server.closeAllConnections(); // A scrape cut short is repeated by the next one.
      await closed.promise;
    },
  };
}

/** From below a cached read to above the longest deadline of a request. */
const requestBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Jobs range from one row to the upkeep of a large vault. */
const jobBuckets = [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 1800];

/** More operations than the API will have; a histogram has one series per name, method, class and bucket. */
const namesMax = 300;

const otherName = "other";

const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/** A scrape comes from nearby and takes milliseconds. */
const requestTimeoutMs = 10_000;

/** Longer than the usual scrape interval would keep connections for nothing. */
const idleTimeoutMs = 5_000;

/** A handful of collectors. */
const connectionsMax = 20;

/** Dotted or dashed lower-case names, up to a number of different ones. */
function boundedNames(): (name: string) => string {
  const seen = new Set<string>();
  return (name) => {
    if (seen.has(name)) return name;
    if (seen.size >= namesMax || !/^[a-z][a-z0-9_]{0,40}(?:[.-][a-z][a-z0-9_]{0,40}){0,4}$/.test(name))
      return otherName;
    seen.add(name);
    return name;
  };
}

function buildInfo(options: MetricsOptions, registers: Registry[]): void {
  const labelNames = ["version", "role", "node"];
  const info = new Gauge({
    name: "emanet_build_info",
    help: "Always 1; the labels say what runs.",
    labelNames,
    registers,
  });
  info.set({ version: options.version, role: options.role, node: process.version }, 1);
}

function poolGauge(registers: Registry[]): Map<string, () => PoolCounts> {
  const pools = new Map<string, () => PoolCounts>();
  new Gauge({
    name: "emanet_database_connections",
    help: "Connections of a pool (total, idle) and callers waiting for one (waiting; background_waiting: for one of the share of uploads and jobs).",
    labelNames: ["pool", "state"],
    registers,
    collect() {
      for (const [pool, read] of pools) {
        const counts = read();
        this.set({ pool, state: "total" }, counts.total);
        this.set({ pool, state: "idle" }, counts.idle);
        this.set({ pool, state: "waiting" }, counts.waiting);
        this.set({ pool, state: "background_waiting" }, counts.backgroundWaiting);
      }
    },
  });
  return pools;
}

function limitMetrics(
  registers: Registry[],
): Pick<Metrics, "limitDecided" | "limitFellBack" | "limitStoreUp" | "banned"> {
  const decided = new Map<string, { readonly labels: Record<"policy" | "outcome", string>; count: number }>();
  new Counter({
    name: "emanet_limit_decisions_total",
    help: "What each limit said of requests: allowed, denied, or would have denied (shadow).",
    labelNames: ["policy", "outcome"],
    registers,
    // Counted outside, because prom-client writes the labels as a text each time, and every request is counted.
    collect() {
      this.reset();
      for (const { labels, count } of decided.values()) this.inc(labels, count);
    },
  });
  const fallbacks = new Counter({
    name: "emanet_limit_store_fallbacks_total",
    help: "Requests that met a shared store of limits that was away: counted by the process, or refused.",
    labelNames: ["how"],
    registers,
  });
  const up = new Gauge({
    name: "emanet_limit_store_up",
    help: "Whether the shared store of limits answers; always 1 without one.",
    registers,
  });
  up.set(1);
  const bans = new Counter({
    name: "emanet_bans_total",
    help: "Bans set by what they are about.",
    labelNames: ["kind"],
    registers,
  });
  return {
    limitDecided: (policy, outcome) => {
      const name = `${policy} ${outcome}`;
      const known = decided.getOrInsertComputed(name, () => ({ labels: { policy, outcome }, count: 0 }));
      known.count += 1;
    },
    limitFellBack: (how) => fallbacks.inc({ how }),
    limitStoreUp: (isUp) => up.set(isUp ? 1 : 0),
    banned: (kind) => bans.inc({ kind }),
  };
}

type JobCountReader = Parameters<Metrics["watchJobs"]>[0];

function jobGauge(registers: Registry[]): Set<JobCountReader> {
  const readers = new Set<JobCountReader>();
  new Gauge({
    name: "emanet_jobs",
    help: "Background jobs by state.",
    labelNames: ["state"],
    registers,
    async collect() {
      this.reset();
      // The database being away must not hide the other metrics, which are most wanted then.
      const counts = await Promise.allSettled([...readers].map((read) => read()));
      for (const result of counts) {
        if (result.status === "rejected") continue;
        for (const [state, count] of Object.entries(result.value)) this.set({ state }, count);
      }
    },
  });
  return readers;
}

async function respond(registry: Registry, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const reads = request.method === "GET" || request.method === "HEAD";
  if (!reads || request.url !== "/metrics") {
    response.writeHead(404, { "content-length": 0 }).end();
    return;
  }
  const body = await registry.metrics();
  response.writeHead(200, {
    "content-type": registry.contentType,
    "content-length": Buffer.byteLength(body),
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  });
  response.end(request.method === "HEAD" ? undefined : body);
}
