/**
 * A random scheduler for tests: actors run until they call a gated object, and wait there for their turn. Which waiting
 * call goes on is decided by dice, so a seed is an interleaving that can be run again.
 */

import { Dice } from "./tree-maker.ts";

/** Turns without anybody waiting after which the actors must be stuck. */
const maxIdleTurns = 100_000;

export class Scheduler {
  readonly #dice: Dice;
  readonly #waiting: (() => void)[] = [];
  /** Called between any two steps. */
  readonly #between: () => void;
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
        return async (...args: unknown[]) => {
          await this.turn();
          return Reflect.apply(value, object, args) as unknown;
        };
      },
    });
  }

  async turn(): Promise<void> {
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
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
      this.steps++;
      this.#waiting.splice(this.#dice.below(this.#waiting.length), 1)[0]?.();
    }
    if (failure !== null) throw (failure as { error: unknown }).error;
    if (running > 0) throw new Error("the actors are stuck");
  }

  async *#stream(method: unknown, object: object, args: unknown[]): AsyncGenerator<unknown> {
    await this.turn();
    yield* Reflect.apply(method as (...given: unknown[]) => AsyncIterable<unknown>, object, args);
  }
}

/** Lets every microtask that is due run: a few rounds are enough for chains of awaits, and cheap. */
async function settled(): Promise<void> {
  for (let i = 0; i < 24; i++) await null;
}
