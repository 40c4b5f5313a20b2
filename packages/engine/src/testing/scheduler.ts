/**
 * A random scheduler for tests: actors run until they call a gated object, and wait there for their turn. Which waiting
 * call goes on is decided by dice, so a seed is an interleaving that can be run again.
 *
 * A gated object may stand for a process. Its calls then are not the smallest steps: `intrude` lets a waiting call of
 * another process run in the middle of one.
 */

import { Dice } from "./random-tree.ts";

/** Turns without anybody waiting after which the actors must be stuck. */
const maxIdleTurns = 100_000;

interface WaitingCall {
  /** Null where nothing begins with the turn. */
  readonly of: object | null;
  readonly go: () => void;
}

/** How often, in a hundred, another process takes a step where it may. */
const intrusionPercent = 30;

export class Scheduler {
  readonly #dice: Dice;
  readonly #waiting: WaitingCall[] = [];
  /** Called between any two steps. */
  readonly #between: () => void;
  #isIntruded = false;
  steps = 0;

  constructor(seed: number, between: () => void = () => {}) {
    this.#dice = new Dice(seed);
    this.#between = between;
  }

  /** The same object, each of whose method calls waits for its turn. */
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

  /** Perhaps runs a waiting call of another gated object than `target`, up to its first await. */
  intrude(target: object): void {
    if (this.#isIntruded) return;
    const others = this.#waiting.filter(({ of }) => of !== null && of !== target);
    if (others.length === 0 || !this.#dice.chance(intrusionPercent)) return;
    this.#isIntruded = true;
    this.#go(others[this.#dice.below(others.length)]);
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
      this.#go(this.#waiting[this.#dice.below(this.#waiting.length)]);
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

/** Lets every microtask that is due run: a few rounds are enough for chains of awaits, and cheap. */
async function settled(): Promise<void> {
  for (let i = 0; i < 24; i++) await null;
}
