/**
 * When an attempt is repeated, and after which time.
 *
 * A GET, a POST with an `Idempotency-Key`, and a program's request for a token can be sent again whatever happened. Any other request is sent again only
 * after an answer that says that nothing was done: 429, and 503 with `Retry-After` where the method is not POST. After a lost
 * connection it is not known whether it was done.
 */

export interface Retries {
  /** Attempts after the first one; 0 for none. Default 3. */
  readonly max?: number;
  /** A longer `Retry-After` is not waited for: the call throws. Default 60 000. */
  readonly maxWaitMs?: number;
}

/** A restart of the service takes some seconds; three repetitions take longer. */
export const usualRepetitions = 3;

/** Longer than a person waits. */
const defaultMaxWaitMs = 60_000;

/** The first wait without `Retry-After`; each further one is twice as long. */
const firstWaitMs = 500;
/** The longest wait without `Retry-After`. */
const longestWaitMs = 8_000;

/** What an attempt ended with. */
export type Failure =
  | { readonly kind: "connection"; readonly wasSent: boolean }
  | { readonly kind: "answer"; readonly status: number; readonly headers: Headers; readonly code: string | undefined };

export interface Attempted {
  /** Attempts so far, from 1. */
  readonly attempts: number;
  /** Whether the request can be sent again whatever happened. */
  readonly isRepeatable: boolean;
  readonly method: string;
}

/** Milliseconds until the next attempt; null if there is none. */
export function waitBefore(
  failure: Failure,
  { attempts, isRepeatable, method }: Attempted,
  { max = usualRepetitions, maxWaitMs = defaultMaxWaitMs }: Retries,
  { now, random }: { readonly now: number; readonly random: number },
): number | null {
  if (attempts > max) return null;
  if (!isWorthRepeating(failure)) return null;
  if (!isRepeatable && !wasSurelyNotDone(failure, method)) return null;
  const backoff = Math.min(longestWaitMs, firstWaitMs * 2 ** (attempts - 1)) * (0.5 + random / 2);
  const asked = failure.kind === "answer" ? retryAfterMs(failure.headers.get("retry-after"), now) : null;
  const wait = Math.max(backoff, asked ?? 0);
  return wait > maxWaitMs ? null : wait;
}

/** Answers of proxies and of a service that restarts, limits, and a first attempt that still runs. */
const passing: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);

function isWorthRepeating(failure: Failure): boolean {
  if (failure.kind === "connection") return true;
  return passing.has(failure.status) || failure.code === "idempotency_in_progress";
}

function wasSurelyNotDone(failure: Failure, method: string): boolean {
  if (failure.kind === "connection") return !failure.wasSent;
  if (failure.status === 429) return true;
  return failure.status === 503 && failure.headers.has("retry-after") && method !== "POST";
}

/** `Retry-After` in milliseconds: seconds, or a date (RFC 9110). Null if it is absent or neither. */
export function retryAfterMs(header: string | null, now: number): number | null {
  if (header === null) return null;
  if (/^\d+$/.test(header.trim())) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? null : Math.max(0, date - now);
}
