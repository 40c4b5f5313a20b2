/**
 * A random scheduler of statements. Statements of an actor wait for their turn, and a seeded generator chooses whose
 * are sent next, so that another actor's step runs between any two statements of a transaction. An actor whose
 * statement waits for a lock in PostgreSQL is left waiting, and the others go on.
 */

import { setTimeout as delay } from "node:timers/promises";
import { SeededRandom } from "@emanet/engine/testing";
import { CompiledQuery } from "kysely";
import type { Statement, StatementResult } from "../../kernel/database/batch.ts";
import { queryBuilder, type SendStatements } from "../../kernel/database/pipelined-connection.ts";
import type { Transactions, Tx } from "../../kernel/tx.ts";

/** A statement that takes longer may be waiting for a lock. */
const lockSuspicionMs = 3;

/** How often it is looked again whether actors still wait for locks. */
const pollMs = 5;

/** The chance, in percent, that two statements which are issued together are sent apart. */
const cutPercent = 30;

/** Says how many connections wait for locks in PostgreSQL. */
export type CountBlocked = () => Promise<number>;

export class StatementScheduler {
  readonly #random: SeededRandom;
  readonly #countBlocked: CountBlocked;
  readonly #waiting: (() => void)[] = [];
  /** Actors that run: neither ended nor waiting for a turn. */
  #running = 0;
  /** Those of them that wait for locks, as far as is known. */
  #blocked = 0;
  #isActive = false;
  #wake: () => void = () => undefined;
  /** Statements that had a turn. */
  turns = 0;

  constructor(seed: number, countBlocked: CountBlocked) {
    this.#random = new SeededRandom(seed);
    this.#countBlocked = countBlocked;
  }

  /** Waits for a turn, while actors run. */
  async turn(): Promise<void> {
    if (!this.#isActive) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    this.#rest();
    await promise;
  }

  together(statements: readonly Statement[]): Statement[][] {
    return cutAtRandom(statements, this.#random);
  }

  /** Runs the actors to their ends. Rejects with the first error. */
  async run(actors: readonly (() => Promise<unknown>)[]): Promise<void> {
    let unfinished = actors.length;
    let failure: { readonly error: unknown } | null = null;
    this.#running = actors.length;
    this.#isActive = true;
    for (const actor of actors) {
      actor()
        .catch((error: unknown) => {
          failure ??= { error };
        })
        .finally(() => {
          unfinished--;
          this.#rest();
        });
    }
    while (unfinished > 0) {
      await this.#quiet();
      const [next] = this.#waiting.splice(this.#random.below(Math.max(1, this.#waiting.length)), 1);
      // All wait for locks: PostgreSQL ends a deadlock with an error.
      if (next === undefined) {
        await delay(pollMs);
        continue;
      }
      this.turns++;
      this.#running++;
      next();
    }
    this.#isActive = false;
    if (failure !== null) throw (failure as { readonly error: unknown }).error;
  }

  /** Waits until every actor waits for a turn or for a lock, or has ended. */
  async #quiet(): Promise<void> {
    while (this.#running > this.#blocked) {
      const before = this.#running;
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      const timer = setTimeout(resolve, lockSuspicionMs);
      await promise;
      clearTimeout(timer);
      if (this.#running === before) this.#blocked = Math.min(this.#running, await this.#countBlocked());
    }
  }

  #rest(): void {
    this.#running--;
    this.#blocked = Math.min(this.#blocked, this.#running);
    this.#wake();
  }
}

/** Cuts statements that are issued together into groups. Those of a group travel together, so that a run takes less time. */
export function cutAtRandom(statements: readonly Statement[], random: SeededRandom): Statement[][] {
  const groups: Statement[][] = [];
  for (const statement of statements) {
    const last = groups.at(-1);
    if (last === undefined || random.chance(cutPercent)) groups.push([statement]);
    else last.push(statement);
  }
  return groups;
}

/** Changes a statement before it is sent, for bugs that are planted; null: it is not sent. */
export type Rewrite = (text: string) => string | null;

/** Decides when statements are sent, and which travel together. */
export type Turns = Pick<StatementScheduler, "turn" | "together">;

/** Transactions whose statements wait for turns; also those that would travel with the commit. */
export function gatedTransactions(
  inner: Transactions,
  scheduler: Turns,
  rewrite: Rewrite = (text) => text,
): Transactions {
  const sendOne = async (tx: Tx, { text, values = [] }: Statement): Promise<StatementResult> => {
    const rewritten = rewrite(text);
    if (rewritten === null) return { rows: [], command: "SELECT", count: null };
    const { rows, numAffectedRows } = await tx.db.executeQuery<Record<string, unknown>>(
      CompiledQuery.raw(rewritten, [...values]),
    );
    const changed = numAffectedRows === undefined ? null : Number(numAffectedRows);
    return { rows, command: changed === null ? "SELECT" : "UPDATE", count: changed };
  };
  /** `first` are sent before the next ones. */
  const sender =
    (tx: Tx, first: Statement[]): SendStatements =>
    async (statements) => {
      const results: StatementResult[] = [];
      const before = statements.length === 0 ? [] : first.splice(0);
      for (const group of scheduler.together([...before, ...statements])) {
        await scheduler.turn();
        results.push(...(await Promise.all(group.map((statement) => sendOne(tx, statement)))));
      }
      return results.slice(before.length);
    };
  return {
    ...inner,
    run: (context, access, work) =>
      inner.run(context, access, async (tx) => {
        const [first, later]: [Statement[], Statement[]] = [[], []];
        const send = sender(tx, first);
        const atCommit = (statement: Statement) => void later.push(statement);
        const withNext = (statement: Statement) => void first.push(statement);
        const result = await work({ ...tx, db: queryBuilder(send), atCommit, withNext });
        await send(later);
        await scheduler.turn();
        return result;
      }),
    read: async (context, access, work) => {
      await scheduler.turn();
      return inner.read(context, access, work);
    },
  };
}
