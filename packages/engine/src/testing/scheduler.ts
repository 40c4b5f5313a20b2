/**
 * A random scheduler for tests. An actor runs until it calls a gated object and waits there for its turn. A seeded random
 * generator chooses the call that runs next, so the same seed gives the same interleaving.
 *
 * A gated object may represent a process. Then a call is not the smallest step: `intrude` runs a waiting call of another
 * process in the middle of one.
 */

import { SeededRandom } from "./random-tree.ts";

/** After so many turns without a waiting call the actors count as stuck. */
const maxIdleTurns = 100_000;

interface WaitingCall {
  /** Null if the turn only lets a stream continue. */
  readonly of: object | null;
  readonly go: () => void;
}

/** The chance, in percent, that another process takes a step in the middle of a call. */
const intrusionPercent = 30;

export class Scheduler {
  readonly #random: SeededRandom;
  readonly #waiting: WaitingCall[] = [];
  /** Called between any two steps. */
  readonly #between: () => void;
  #isIntruded = false;
  steps = 0;

  constructor(seed: number, between: () => void = () => {}) {
    this.#random = new SeededRandom(seed);
    this.#between = between;
  }

  /** A proxy of the object. Each of its method calls waits for its turn. */
  gated<T extends object>(target: T): T {
    return new Proxy(target, {
      get: (object, name) => {
        const value: unknown = Reflect.get(object, name, object);
        if (typeof value !== "function") return value;
        if (String(name).startsWith("all") || name === "list")
          return (...args: unknown[]) => this.#stream(value, object, args);
        return (...args: unknown[]) => this.#turn(object, () => Reflect.apply(value, object, args) as unknown);
      },
    });
  }

  /** With some chance, runs a waiting call of another gated object up to its first await. */
  intrude(target: object): void {
    if (this.#isIntruded) return;
    const others = this.#waiting.filter(({ of }) => of !== null && of !== target);
    if (others.length === 0 || !this.#random.chance(intrusionPercent)) return;
    this.#isIntruded = true;
    this.#go(others[this.#random.below(others.length)]);
    this.#isIntruded = false;
  }

  /** Runs the actors to their ends. Rejects with the first error. */
  async run(actors: readonly (() => Promise<unknown>)[]): Promise<void> {
    let running = actors.length;
    let failure: { error: unknown } | null = null;
    for (const actor of actors) {
      actor()
        .catch((error: unknown) => {
          failure ??= { error };
        })
        .finally(() => running--);
    }
    for (let idle = 0; running > 0 && idle < maxIdleTurns; ) {
      await settled();
      this.#between();
      if (this.#waiting.length === 0) {
        idle++;
        await new Promise((resolve) => setImmediate(resolve));
        continue;
      }
      idle = 0;
      this.#go(this.#waiting[this.#random.below(this.#waiting.length)]);
    }
    if (failure !== null) throw (failure as { error: unknown }).error;
    if (running > 0) throw new Error("the actors are stuck");
  }

  #go(next: WaitingCall | undefined): void {
    if (next === undefined) return;
    this.steps++;
    this.#waiting.splice(this.#waiting.indexOf(next), 1);
    next.go();
  }

  /** Waits for a turn, in which `call` begins. */
  #turn<T>(of: object | null, call: () => T): Promise<Awaited<T>> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const go = () => {
      try {
        resolve(call());
      } catch (error) {
        reject(error);
      }
    };
    this.#waiting.push({ of, go });
    return promise as Promise<Awaited<T>>;
  }

  async *#stream(method: unknown, object: object, args: unknown[]): AsyncGenerator<unknown> {
    await this.#turn(null, () => {});
    yield* Reflect.apply(method as (...given: unknown[]) => AsyncIterable<unknown>, object, args);
  }
}

/** Runs the microtasks that are due. A few rounds are enough for chains of awaits. */
async function settled(): Promise<void> {
  for (let i = 0; i < 24; i++) await null;
}
