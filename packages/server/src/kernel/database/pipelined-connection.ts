/**
 * A connection on which statements wait for each other as little as they can. Statements that are issued at the same time
 * travel in one batch, and so do statements whose answer is not awaited (BEGIN, row access, savepoints): they are sent with
 * the next statement.
 */

import {
  type CompiledQuery,
  type DatabaseConnection,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from "kysely";
import type { PoolClient } from "pg";
import { type Statement, type StatementResult, sendBatch } from "./batch.ts";
import type { Database } from "./rows.generated.ts";

/** Sends statements together; resolves with one result for each. */
export type SendStatements = (statements: readonly Statement[]) => Promise<readonly StatementResult[]>;

interface Waiting {
  readonly statement: Statement;
  readonly resolve: (result: StatementResult) => void;
  readonly reject: (error: unknown) => void;
}

/** Collects the statements that are issued at the same time. */
export class StatementQueue implements DatabaseConnection {
  readonly #send: SendStatements;
  #waiting: Waiting[] = [];

  constructor(send: SendStatements) {
    this.#send = send;
  }

  async executeQuery<R>({ sql: text, parameters: values }: CompiledQuery): Promise<QueryResult<R>> {
    const { promise, resolve, reject } = Promise.withResolvers<StatementResult>();
    // Called from a promise, so the tick comes after everything that is ready to run now.
    if (this.#waiting.length === 0) process.nextTick(() => void this.#flush());
    this.#waiting.push({ statement: { text, values }, resolve, reject });
    const { rows, command, count } = await promise;
    const changes = command === "INSERT" || command === "UPDATE" || command === "DELETE" || command === "MERGE";
    return { rows: rows as R[], ...(changes && { numAffectedRows: BigInt(count ?? 0) }) };
  }

  // biome-ignore lint/correctness/useYield: the interface asks for a generator
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error("results are not streamed");
  }

  async #flush(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    try {
      const results = await this.#send(waiting.map(({ statement }) => statement));
      for (const [at, { resolve, reject }] of waiting.entries()) {
        const result = results[at];
        if (result === undefined) reject(new Error("PostgreSQL answered fewer statements than were sent"));
        else resolve(result);
      }
    } catch (error) {
      for (const { reject } of waiting) reject(error);
    }
  }
}

/** A statement that is sent with the next one. */
export interface DelayedStatement {
  /** Removes it, with all after it. False when it was sent already. */
  cancel(): boolean;
  /** Whether it is not sent, and nothing was added after it. */
  isNext(): boolean;
}

/** One connection in one transaction. */
export class PipelinedConnection {
  readonly #client: PoolClient;
  #pending: Statement[] = [];
  #used = false;

  constructor(client: PoolClient) {
    this.#client = client;
  }

  /** Whether anything was sent. */
  get isUsed(): boolean {
    return this.#used;
  }

  /** Sends a statement with the next one. */
  sendLater(statement: Statement): DelayedStatement {
    const at = this.#pending.push(statement) - 1;
    const list = this.#pending;
    return {
      cancel: () => {
        if (this.#pending !== list) return false;
        list.length = at;
        return true;
      },
      isNext: () => this.#pending === list && list.length === at + 1 && list[at] === statement,
    };
  }

  async send(statements: readonly Statement[]): Promise<readonly StatementResult[]> {
    const pending = this.#pending;
    this.#pending = [];
    this.#used = true;
    const results = await sendBatch(this.#client, [...pending, ...statements]);
    return results.slice(pending.length);
  }
}

/** Makes and runs no connections: each database handle below has its own. */
const dialect = {
  createAdapter: () => new PostgresAdapter(),
  createDriver: () => ({
    init: async () => undefined,
    acquireConnection: () => Promise.reject(new Error("a query outside a transaction")),
    beginTransaction: () => Promise.reject(new Error("transactions are begun by kernel/tx.ts")),
    commitTransaction: async () => undefined,
    rollbackTransaction: async () => undefined,
    releaseConnection: async () => undefined,
    destroy: async () => undefined,
  }),
  createIntrospector: (db: Kysely<never>) => new PostgresIntrospector(db),
  createQueryCompiler: () => new PostgresQueryCompiler(),
};

const base = new Kysely<Database>({ dialect });
const baseProps = { config: { dialect }, dialect, driver: dialect.createDriver() };

/** A query builder whose statements go through `send`. */
export function queryBuilder(send: SendStatements): Kysely<Database> {
  const queue = new StatementQueue(send);
  const executor = base.getExecutor().withConnectionProvider({ provideConnection: (consumer) => consumer(queue) });
  return new Kysely<Database>({ ...baseProps, executor });
}
