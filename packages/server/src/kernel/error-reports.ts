/**
 * Error reports: unexpected errors, sent to a Sentry-compatible collector when a DSN is set.
 *
 * Nouns: a *report* is one event of the collector's protocol, built from {@link describeError} and a few fields by the
 * log's own rules; the *window* is the minute in which reports are counted.
 *
 * Invariants
 * - Nothing but class names, system codes, places in the code, ids and names of ours leaves. No message, no variable,
 *   no request, no breadcrumb, no host name.
 * - `report` never throws, never waits and never holds more than {@link queueMax} reports; what is too much is
 *   dropped and counted, and the count is logged.
 * - After an answer with 429, `Retry-After` or `X-Sentry-Rate-Limits` nothing is sent for the time that the collector asks
 *   for.
 *
 * Of `@sentry/core` only the functions for DSN, envelope and rate limits are used. Its client would bring scopes,
 * breadcrumbs and global hooks that collect what must not leave. It is loaded only when a DSN is set (150 ms, 23 MiB).
 */

import type { ErrorEvent, RateLimits, StackFrame } from "@sentry/core";
import type { Clock, Random } from "./clock.ts";
import { describeError, type ErrorFacts } from "./error-facts.ts";
import { allowedFields, type Log } from "./log.ts";

export interface ErrorReportContext {
  readonly request_id?: string | undefined;
  readonly operation?: string | undefined;
  /** Name of a background task. */
  readonly job?: string | undefined;
}

export interface ErrorReports {
  /** Queues a report about an unexpected error. Returns at once; never throws. */
  report(error: unknown, context?: ErrorReportContext): void;
  /** Waits until what is queued has been sent or given up, at most so long; for the end of the process. */
  flush(ms: number): Promise<void>;
}

export interface ErrorReportOptions {
  /** `https://<key>@<host>/<project>`; null for no reports at all. */
  readonly dsn: string | null;
  /** Version of the service, e.g. `0.1.0`. */
  readonly release: string;
  readonly profile: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/**
 * Makes the port of one service instance.
 * @throws TypeError when the DSN has no key or project, without quoting it.
 */
export async function createErrorReports(options: ErrorReportOptions): Promise<ErrorReports> {
  if (options.dsn === null) return noErrorReports;
  if (!dsnPattern.test(options.dsn)) throw new TypeError("the DSN must be https://<key>@<host>/<project number>");
  const sentry = await import("@sentry/core");
  const dsn = sentry.makeDsn(options.dsn);
  if (dsn === undefined) throw new TypeError("the DSN cannot be used");
  const url = sentry.getEnvelopeEndpointWithUrlEncodedAuth(dsn, undefined, client);
  const nowMs = () => options.clock.now().getTime();
  let limits: RateLimits = {};

  async function send(event: ErrorEvent): Promise<boolean> {
    if (sentry.isRateLimited(limits, "error", nowMs())) return false;
    const envelope = sentry.createEventEnvelope(event, dsn, { sdk: client });
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/x-sentry-envelope" },
      body: sentry.serializeEnvelope(envelope) as string,
      redirect: "error",
      signal: AbortSignal.timeout(sendTimeoutMs),
    });
    await response.body?.cancel();
    const headers = {
      "retry-after": response.headers.get("retry-after"),
      "x-sentry-rate-limits": response.headers.get("x-sentry-rate-limits"),
    };
    limits = sentry.updateRateLimits(limits, { statusCode: response.status, headers }, nowMs());
    return response.ok;
  }

  return queued(options, send);
}

/** Used when no DSN is set. */
export const noErrorReports: ErrorReports = { report: () => undefined, flush: () => Promise.resolve() };

/** What the collector shows as the sender. */
const client = { name: "emanet.server", version: "1" };

/** The collector's own form; checked here because its parser prints a refused DSN, key included. */
const dsnPattern = /^https?:\/\/\w+@(?:\[[0-9a-fA-F:]+\]|[\w.-]+)(?::\d{1,5})?\/(?:[\w.-]+\/)*\d+$/;

/** Reports waiting at once: a burst of distinct faults, at about 4 KB each. */
const queueMax = 30;

/** Reports per window and process: enough to see what is wrong, too few to flood a collector from a crash loop. */
const reportsPerWindowMax = 20;

/** A minute: the unit in which collectors state their own quotas. */
const windowMs = 60_000;

/** A collector that does not answer by then is down; the next report tries again. */
const sendTimeoutMs = 5_000;

/** The bounded queue in front of `send`: one report at a time, in order. */
function queued(options: ErrorReportOptions, send: (event: ErrorEvent) => Promise<boolean>): ErrorReports {
  const { clock, log } = options;
  const waiting: ErrorEvent[] = [];
  let draining: Promise<void> | undefined;
  let window = { startedAt: 0, reports: 0, dropped: 0 };

  function openWindow(): void {
    const now = clock.now().getTime();
    if (now - window.startedAt < windowMs) return;
    tellDropped();
    window = { startedAt: now, reports: 0, dropped: 0 };
  }

  function tellDropped(): void {
    if (window.dropped > 0) log.warn("error_reports_dropped", { count: window.dropped });
    window.dropped = 0;
  }

  async function drain(): Promise<void> {
    for (let event = waiting.shift(); event !== undefined; event = waiting.shift()) {
      const sent = await send(event).catch(() => false);
      if (sent) continue;
      window.dropped += 1;
      log.debug("error_report_not_sent");
    }
    draining = undefined;
  }

  return {
    report(error, context = {}) {
      openWindow();
      if (window.reports >= reportsPerWindowMax || waiting.length >= queueMax) {
        window.dropped += 1;
        return;
      }
      window.reports += 1;
      waiting.push(eventOf(error, context, options));
      draining ??= drain();
    },
    async flush(ms) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, ms);
      await Promise.race([draining, promise]);
      clearTimeout(timer);
      tellDropped();
    },
  };
}

function eventOf(error: unknown, context: ErrorReportContext, options: ErrorReportOptions): ErrorEvent {
  const facts = describeError(error);
  const { operation, ...tags } = allowedFields(context).fields as Record<string, string>;
  return {
    type: undefined,
    event_id: options.random.bytes(16).toString("hex"),
    timestamp: options.clock.now().getTime() / 1000,
    platform: "node",
    level: "error",
    release: options.release,
    environment: options.profile,
    ...(operation !== undefined && { transaction: operation }),
    tags,
    // The protocol's order: causes first, the error itself last.
    exception: { values: [...facts.causes.toReversed(), facts].map(exceptionOf) },
  };
}

function exceptionOf(facts: ErrorFacts) {
  return {
    type: facts.name,
    value: facts.systemCode ?? "",
    stacktrace: { frames: facts.locations.map(frameOf).toReversed() },
  };
}

function frameOf(place: ErrorFacts["locations"][number]): StackFrame {
  return {
    filename: place.file,
    ...(place.function !== undefined && { function: place.function }),
    lineno: place.line,
    colno: place.column,
    in_app: place.file.startsWith("packages/"),
  };
}
