/**
 * Work in the background: operations that take content, and jobs. It comes in large numbers at night, and its callers are programs that wait. It has a share
 * of the connections and a queue of its own, so that other requests find a free connection however much is in that queue (docs/decisions/0646).
 */

import { AsyncLocalStorage } from "node:async_hooks";
import type { Pool, PoolClient } from "pg";

/** "holds": inside of a transaction, which has a connection of the share already. */
type Place = "waits" | "holds";

const place = new AsyncLocalStorage<Place>();

/** Marks all that the work does as background. */
export function inBackground<T>(work: () => T): T {
  return place.run("waits", work);
}

/** A connection and the return of it. */
export interface Lent {
  readonly client: PoolClient;
  release(destroy?: boolean): void;
}

/** Lends the connections of a pool: at most half of them to the background, first come first served. */
export class ConnectionLender {
  readonly #pool: Pool;
  /** Of the share, not lent. */
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(pool: Pool) {
    this.#pool = pool;
    this.#free = Math.max(1, Math.floor(pool.options.max / 2));
  }

  /** Work of the background that waits for one of the share. */
  get waitingCount(): number {
    return this.#waiting.size;
  }

  async lend(): Promise<Lent> {
    // What already holds a connection must get its second one: all of the share could be held by such work.
    if (place.getStore() !== "waits") return this.#fromPool(() => undefined);
    await this.#take();
    const giveBack = () => this.#giveBack();
    try {
      return await this.#fromPool(giveBack);
    } catch (error) {
      giveBack();
      throw error;
    }
  }

  async #fromPool(after: () => void): Promise<Lent> {
    const client = await this.#pool.connect();
    return {
      client,
      release: (destroy) => {
        client.release(destroy);
        after();
      },
    };
  }

  /** Waits as long as the pool lets callers wait. */
  async #take(): Promise<void> {
    if (this.#free > 0) {
      this.#free--;
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.add(resolve);
    const giveUp = () => {
      if (this.#waiting.delete(resolve)) reject(new NoConnectionError());
    };
    const timer = setTimeout(giveUp, this.#pool.options.connectionTimeoutMillis ?? noLimit);
    try {
      await promise;
    } finally {
      clearTimeout(timer);
    }
  }

  #giveBack(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free++;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}

/** The longest time that a timer has; pools of tests have no limit. */
const noLimit = 2 ** 31 - 1;

export class NoConnectionError extends Error {
  constructor() {
    super("no connection of the background became free in time");
  }
}

/** Runs the work of a transaction whose connection is lent already. */
export function holdingConnection<T>(work: () => T): T {
  return place.getStore() === "waits" ? place.run("holds", work) : work();
}
