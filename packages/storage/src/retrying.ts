/**
 * Repeats calls that failed with a temporary error, a limited number of times, with growing delays.
 *
 * A failed call may have been done, with only its answer lost:
 * - `get`, `stat`, `delete` and a replacing `put` are the same when done twice.
 * - `list` goes on behind the last name it gave, so no name is given twice.
 * - an `ifAbsent` put that gets "exists" *after* an attempt without an answer compares the stored object with what it
 *   sent: the same bytes mean that its own put succeeded. Two writers of the same bytes under the same name cannot be
 *   distinguished, so writers that use `ifAbsent` to elect one of them write different bytes.
 * - a body that can be read only once is tried only once.
 */

import { createHash } from "node:crypto";
import {
  type CallOptions,
  type GetOptions,
  isObjectStoreError,
  type ListOptions,
  type ObjectBody,
  type ObjectEntry,
  type ObjectStat,
  type ObjectStore,
  type PutOptions,
} from "@emanet/engine/object-store";
import { isReplayable, readBody, throwIfAborted } from "./body.ts";

export interface RetryOptions {
  /** A number from 0 to below 1. */
  readonly random: () => number;
  /** Waits; may reject early when the signal fires. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<unknown>;
  /** All attempts of one call, the first included (default 7). */
  readonly attempts?: number | undefined;
}

/** With the delays below 8 to 16 seconds of waiting in all: enough for a restart of a server, not for an outage. */
const defaultAttempts = 7;

/** Where the waits start: a lost connection or a "slow down" is often over by then. */
const firstDelayMs = 250;

/** After a longer wait the caller gets the error; it can retry later by other means. */
const longestDelayMs = 10_000;

/** How much of a stored object is held in memory while it is compared. */
const compareStepBytes = 8 * 1024 * 1024;

/** An object store that repeats failed calls of another one. */
export class RetryingStore implements ObjectStore {
  readonly #inner: ObjectStore;
  readonly #options: RetryOptions;

  constructor(inner: ObjectStore, options: RetryOptions) {
    this.#inner = inner;
    this.#options = options;
  }

  async put(name: string, body: ObjectBody, options: PutOptions = {}): Promise<void> {
    if (!isReplayable(body)) return this.#inner.put(name, body, options);
    let mayHaveHappened = false;
    await this.#repeat(options.signal, async () => {
      try {
        await this.#inner.put(name, body, options);
      } catch (error) {
        const ours = mayHaveHappened && isObjectStoreError(error, "exists") && (await this.#holds(name, body, options));
        mayHaveHappened ||= isObjectStoreError(error, "unavailable");
        if (!ours) throw error;
      }
    });
  }

  async get(name: string, options: GetOptions = {}): Promise<Uint8Array> {
    return this.#repeat(options.signal, () => this.#inner.get(name, options));
  }

  async stat(name: string, options: CallOptions = {}): Promise<ObjectStat | null> {
    return this.#repeat(options.signal, () => this.#inner.stat(name, options));
  }

  async *list(prefix: string, options: ListOptions = {}): AsyncGenerator<ObjectEntry, void> {
    let after = options.after;
    for (let failures = 0; ; ) {
      try {
        for await (const entry of this.#inner.list(prefix, { ...options, after })) {
          failures = 0;
          after = entry.name;
          yield entry;
        }
        return;
      } catch (error) {
        failures += 1;
        await waitOrThrow(this.#options, error, failures, options.signal);
      }
    }
  }

  async delete(name: string, options: CallOptions = {}): Promise<void> {
    return this.#repeat(options.signal, () => this.#inner.delete(name, options));
  }

  #repeat<T>(signal: AbortSignal | undefined, attempt: () => Promise<T>): Promise<T> {
    return repeatCall(this.#options, attempt, signal);
  }

  /** Whether the store holds exactly these bytes under this name. */
  async #holds(name: string, body: ObjectBody, options: PutOptions): Promise<boolean> {
    const sent = createHash("sha256");
    let size = 0;
    for await (const chunk of readBody(body, options)) {
      sent.update(chunk);
      size += chunk.byteLength;
    }
    const found = await this.stat(name, options);
    if (found?.size !== size) return false;
    const stored = createHash("sha256");
    for (let offset = 0; offset < size; offset += compareStepBytes) {
      const range = { offset, length: Math.min(compareStepBytes, size - offset) };
      stored.update(await this.get(name, { range, signal: options.signal }));
    }
    return sent.digest().equals(stored.digest());
  }
}

/** Calls until it succeeds, or fails with an error that is not temporary, or has failed too often. */
export async function repeatCall<T>(
  options: RetryOptions,
  attempt: () => Promise<T>,
  signal?: AbortSignal | undefined,
): Promise<T> {
  for (let failures = 0; ; ) {
    try {
      return await attempt();
    } catch (error) {
      failures += 1;
      await waitOrThrow(options, error, failures, signal);
    }
  }
}

async function waitOrThrow(
  { attempts = defaultAttempts, random, sleep }: RetryOptions,
  error: unknown,
  failures: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (!isObjectStoreError(error) || !error.retryable || failures >= attempts) throw error;
  const longest = Math.min(longestDelayMs, firstDelayMs * 2 ** (failures - 1));
  // Half of it at random: clients that failed together must not retry together.
  const delay = longest / 2 + (longest / 2) * random();
  try {
    await sleep(delay, signal);
  } finally {
    throwIfAborted(signal);
  }
}
