/**
 * Time and chance, as dependencies. Nothing else in the service reads the wall clock or draws random bytes, so that
 * a test can move time and repeat a run. What is due is always decided by a {@link Clock}, never by the database.
 */

import { randomBytes, randomUUIDv7 } from "node:crypto";

export interface Clock {
  /** The current moment, to the millisecond. */
  now(): Date;
}

export interface Random {
  /** Cryptographically strong bytes. */
  bytes(size: number): Buffer;
  /** A UUIDv7: sorts by creation time, which keeps index inserts at one end. */
  uuid(): string;
}

export const systemClock: Clock = { now: () => new Date() };

export const systemRandom: Random = { bytes: (size) => randomBytes(size), uuid: () => randomUUIDv7() };
