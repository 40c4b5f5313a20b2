/**
 * Time and chance, as dependencies. Nothing else in the service reads the wall clock or draws random bytes, so that
 * a test can move time and repeat a run. What is due is always decided by a {@link Clock}, never by the database.
 */

import { randomBytes, randomUUIDv7 } from "node:crypto";
import { performance } from "node:perf_hooks";

export interface Clock {
  /** The current moment, to the millisecond. */
  now(): Date;
  /** Brings a clock that several processes share (profile `sandbox`) up to date; others have nothing to do. */
  sync?(): Promise<void>;
  /** How far such a clock is ahead of the machines' own. */
  offsetMs?(): number;
  /** Calls the listener each time the clock was moved, until the returned function is called; only of a clock that can be. */
  onMove?(listener: () => void): () => void;
}

export interface Random {
  /** Cryptographically strong bytes. */
  bytes(size: number): Buffer;
  /** A UUIDv7: sorts by creation time, which keeps index inserts at one end. */
  uuid(): string;
}

export const systemClock: Clock = { now: () => new Date() };

export const systemRandom: Random = { bytes: (size) => randomBytes(size), uuid: () => randomUUIDv7() };

/**
 * Milliseconds that only ever grow, for measuring how long something took or has been waited for. It says nothing about
 * what is due, so it need not be moved by tests and is not part of {@link Clock}.
 */
export function monotonicMs(): number {
  return performance.now();
}
