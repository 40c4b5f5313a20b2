/**
 * Transactions: the only way to change data. A transaction has a *row access*, which says whose rows it sees. What it
 * changes, audits, emits and enqueues commits together or not at all. Audit records and events are collected while the
 * work runs and written with the commit, events first, so that their two locks are short and taken in one order.
 *
 * A transaction whose signal has aborted does not commit: its caller already got an error. The server itself refuses a commit
 * after the deadline of the request, because the last statements can wait for locks.
 */

import { CompiledQuery, type Kysely } from "kysely";
import type { Pool, PoolClient } from "pg";
import {
  type AuditContext,
  type AuditEntry,
  type AuditOrigin,
  appendRecord,
  chainOf,
  type PendingAudit,
} from "./audit.ts";
import type { Clock, Random } from "./clock.ts";
import { ConnectionLender, holdingConnection, type Lent, NoConnectionError } from "./database/background.ts";
import { forgetPrepared, isStalePlan, type Statement, sendBatch } from "./database/batch.ts";
import { type ChangeNotice, parseNotices } from "./database/change-notices.ts";
import {
  type DelayedStatement,
  PipelinedConnection,
  queryBuilder,
  type SendStatements,
} from "./database/pipelined-connection.ts";
import type { Database } from "./database/rows.generated.ts";
import { appendEvents, type EventFields, type EventPlace, type EventType, type PendingEvent } from "./events.ts";
import type { EndState } from "./http/request-signal.ts";
import { enqueueJob, type JobRequest, type JobSources, jobStatement } from "./jobs/enqueue.ts";
import type { Task } from "./jobs/task.ts";
import { errorFields, type Log } from "./log.ts";
import type { RowAccess } from "./principal.ts";
import { Problem } from "./problems.ts";
import type { Secrets } from "./secrets.ts";

/** What reads get: statements that see the rows of one row access. */
export interface ReadTx {
  /** All queries of the transaction use this. Queries that are issued at the same time travel together. */
  readonly db: Kysely<Database>;
  /** The time of the transaction. It does not change while the transaction runs. */
  readonly now: Date;
}

export interface Tx extends ReadTx {
  audit(entry: AuditEntry): void;
  /** Returns the id of the event. Only with row access to an account, because an event belongs to one. */
  emit<T extends EventType>(type: T, fields: EventFields<T>, ...place: EventPlace<T>): string;
  /** Returns the id of the job, or undefined when an unfinished one has its key. */
  job<Payload>(request: JobRequest<Payload>): Promise<string | undefined>;
  /** Sends a statement with the commit, when nothing waits for its result. */
  atCommit(statement: Statement): void;
  /** Sends a statement before the next one, together with it. It is not sent if no other statement is. */
  withNext(statement: Statement): void;
  /** What the audit records of this transaction say about the request, for records that a job writes later. */
  readonly auditOrigin: AuditOrigin;
  /** Runs work with another row access in the same commit. When the work throws, only what it did is undone. */
  readonly within: RunTx;
}

export type RunTx = <T>(access: RowAccess, work: (tx: Tx) => Promise<T>) => Promise<T>;

/** Runs reads. Each statement is a read-only transaction of its own and carries its row access. */
export type RunRead = <T>(access: RowAccess, work: (tx: ReadTx) => Promise<T>) => Promise<T>;

/** Gets the account whose rows changed; null: any. */
export type ChangeListener = (accountId: string | null) => unknown;

/** For whom a transaction runs, and the signal that ends it. */
export interface TxContext extends AuditContext {
  readonly signal: EndState;
}

export interface Transactions {
  run<T>(context: TxContext, access: RowAccess, work: (tx: Tx) => Promise<T>): Promise<T>;
  read<T>(context: Pick<TxContext, "signal">, access: RowAccess, work: (tx: ReadTx) => Promise<T>): Promise<T>;
  /**
   * Calls the listener for notices with this first word (`database/change-notices.ts`): for a commit of this process
   * before `run` returns, for a commit of another process when its notice arrives. It must not throw.
   */
  onChange(what: string, listener: ChangeListener): void;
  /** Calls the listeners for a notice of another process. Without a notice it calls all of them: anything may have changed. */
  announce(notice?: ChangeNotice): void;
  /** Transactions and reads of the background that wait for a connection. */
  backgroundWaiting(): number;
  /** From now on this task makes the checkpoints of acts that need one (`AuditContext.needsCheckpoint`). */
  checkpointBy(task: CheckpointTask): void;
}

/** Its jobs are enqueued in the transaction of the act. */
export type CheckpointTask = Task<{ readonly chain: string }, never>;

/** `secrets` seals the payloads of jobs that ask for it. */
export function createTransactions(
  pool: Pool,
  clock: Clock,
  random: Random,
  log: Log,
  secrets?: Secrets,
): Transactions {
  const listeners: { readonly what: string; readonly listener: ChangeListener }[] = [];
  let checkpointTask: CheckpointTask | null = null;
  const lender = new ConnectionLender(pool);
  const notify = ({ what, accountId }: ChangeNotice) =>
    Promise.all(listeners.filter((one) => one.what === what).map(({ listener }) => listener(accountId)));
  return {
    onChange(what, listener) {
      listeners.push({ what, listener });
    },
    announce(notice) {
      if (notice !== undefined) void notify(notice);
      else for (const { listener } of listeners) void listener(null);
    },
    backgroundWaiting: () => lender.waitingCount,
    checkpointBy(task) {
      checkpointTask = task;
    },
    async run({ signal, ...who }, access, work) {
      const { client, release } = await connect(lender, signal);
      const transaction = new Transaction(client, access, signal);
      const records = new Records(transaction, clock.now(), who, { clock, random, secrets });
      let result: Awaited<ReturnType<typeof work>>;
      let changes: readonly ChangeNotice[];
      try {
        result = await holdingConnection(() => work(records.txFor(access)));
        // Checked last: a caller that gave up must not find the change made after all.
        signal.throwIfAborted();
        changes = await transaction.commit(records.statements(checkpointTask));
      } catch (error) {
        if (isStalePlan(error)) forgetPrepared(client);
        // A lost connection is rolled back by the server. The first error is the one to show.
        await transaction.rollback().catch((second: unknown) => log.warn("rollback_failed", errorFields(second)));
        throw asProblem(error, signal);
      } finally {
        // A connection whose transaction did not end would carry its row access to the next request.
        release(!transaction.isOver);
      }
      if (changes.length > 0) await Promise.all(changes.map(notify));
      return result;
    },
    async read({ signal }, access, work) {
      const first = { text: setReadOnlyRowAccess, values: accessValues(access) };
      const send: SendStatements = async (statements) => {
        const { client, release } = await connect(lender, signal);
        try {
          return (await sendReads(client, [first, ...statements])).slice(1);
        } finally {
          release();
        }
      };
      try {
        return await work({ db: queryBuilder(send), now: clock.now() });
      } catch (error) {
        throw asProblem(error, signal);
      }
    },
  };
}

async function connect(lender: ConnectionLender, signal: EndState): Promise<Lent> {
  if (signal.aborted) throw asProblem(signal.reason, signal);
  try {
    return await lender.lend();
  } catch (error) {
    throw asProblem(error, signal);
  }
}

/** Reads change nothing, so those that met a plan of before a migration can be repeated. */
async function sendReads(client: PoolClient, statements: readonly Statement[]) {
  try {
    return await sendBatch(client, statements);
  } catch (error) {
    if (!isStalePlan(error)) throw error;
    forgetPrepared(client);
    return sendBatch(client, statements);
  }
}

const setRowAccess = "select set_config('emanet.scope', $1, true), set_config('emanet.account_id', $2, true)";
const setReadOnlyRowAccess = `${setRowAccess}, set_config('transaction_read_only', 'on', true)`;

/**
 * Returns what the triggers of this transaction collected, or fails when it is too old (migration 0016). The function is called
 * only to fail: a call costs several times as much as the comparison.
 */
const beforeCommit = `
  select case when clock_timestamp() > transaction_timestamp() + $1 * interval '1 millisecond'
    then emanet.before_commit($1) else current_setting('emanet.changed', true) end as changed`;

/** What a transaction has less than its caller, for the way of its BEGIN to the server. */
const marginMs = 50;

function isSameAccess(one: RowAccess, other: RowAccess): boolean {
  if (one.kind !== "account" || other.kind !== "account") return one.kind === other.kind;
  return one.accountId === other.accountId;
}

function accessValues(access: RowAccess): readonly string[] {
  return [access.kind, access.kind === "account" ? access.accountId : ""];
}

interface Savepoint {
  readonly name: string;
  readonly statement: DelayedStatement;
}

/**
 * A transaction on one connection: *unsent* until its first statement, with which it begins; then *open*; *over* after
 * its commit or rollback. One that stays unsent costs the server nothing.
 */
class Transaction {
  readonly #connection: PipelinedConnection;
  readonly db: Kysely<Database>;
  readonly #signal: EndState;
  /** The time that its caller had when it began; undefined before that, null when there is no end. */
  #leftMs: number | null | undefined;
  #access: RowAccess;
  #savepoints = 0;
  /** The last one that was taken. */
  #savepoint: Savepoint | null = null;
  #isOver = false;

  constructor(client: PoolClient, access: RowAccess, signal: EndState) {
    this.#connection = new PipelinedConnection(client);
    this.#signal = signal;
    this.db = queryBuilder((statements) => this.send(statements));
    this.#access = access;
    // Staff see every account and change none. What they do to an account runs with row access to that account.
    this.#connection.sendLater({ text: access.kind === "staff" ? "begin read only" : "begin" });
    this.#connection.sendLater({ text: setRowAccess, values: accessValues(access) });
  }

  get isOver(): boolean {
    return this.#isOver || !this.#connection.isUsed;
  }

  send: SendStatements = (statements) => {
    // A statement after the end would run outside any transaction and without row access.
    if (this.#isOver) throw new Error("a statement was sent after the end of its transaction");
    this.#mostMs();
    return this.#connection.send(statements);
  };

  withNext(statement: Statement): void {
    this.#connection.sendLater(statement);
  }

  /** From the next statement on; sent with it. */
  setAccess(access: RowAccess): void {
    for (const statement of this.accessStatements(access)) this.#connection.sendLater(statement);
  }

  /** The statement that changes the row access, to be sent next; none when it is the present one. */
  accessStatements(access: RowAccess): readonly Statement[] {
    if (isSameAccess(access, this.#access)) return [];
    this.#access = access;
    return [{ text: setRowAccess, values: accessValues(access) }];
  }

  /** Runs work that can be undone alone. */
  async within<T>(inner: RowAccess, work: () => Promise<T>): Promise<T> {
    const outer = this.#access;
    // A savepoint with nothing after it is as good as another one. The work that made it releases it.
    const shared = this.#savepoint?.statement.isNext() && isSameAccess(inner, outer) ? this.#savepoint : null;
    const savepoint = shared ?? this.#takeSavepoint();
    this.setAccess(inner);
    // Staff only read, as in a separate transaction. The setting ends with the savepoint.
    if (inner.kind === "staff") this.#connection.sendLater({ text: "set transaction read only" });
    try {
      const result = await work();
      if (shared === null) this.#release(savepoint, outer);
      return result;
    } catch (error) {
      // The rollback also restores the row access, which is a setting of the transaction.
      const isUnsent = shared === null ? savepoint.statement.cancel() : savepoint.statement.isNext();
      if (!isUnsent) this.#connection.sendLater({ text: `rollback to savepoint ${savepoint.name}` });
      this.#access = outer;
      throw error;
    }
  }

  #takeSavepoint(): Savepoint {
    const name = `nested_${this.#savepoints++}`;
    this.#savepoint = { name, statement: this.#connection.sendLater({ text: `savepoint ${name}` }) };
    return this.#savepoint;
  }

  #release({ name, statement }: Savepoint, outer: RowAccess): void {
    if (statement.cancel()) {
      this.#access = outer;
      return;
    }
    this.setAccess(outer);
    this.#connection.sendLater({ text: `release savepoint ${name}` });
  }

  /** Returns the notices of what it changed. */
  async commit(last: readonly Statement[]): Promise<readonly ChangeNotice[]> {
    if (!this.#connection.isUsed && last.length === 0) return [];
    const results = await this.send([...last, { text: beforeCommit, values: [this.#mostMs()] }, { text: "commit" }]);
    this.#isOver = true;
    // PostgreSQL answers the COMMIT of a failed transaction without an error.
    const { command } = results.at(-1) ?? {};
    if (command !== "COMMIT") throw new Error(`a transaction was not committed: ${command}`);
    return parseNotices(String(results.at(-2)?.rows[0]?.changed ?? ""));
  }

  /** How old it may be at its commit. Called first when it begins. */
  #mostMs(): number | null {
    if (this.#leftMs === undefined) {
      const leftMs = this.#signal.leftMs?.() ?? Number.POSITIVE_INFINITY;
      this.#leftMs = Number.isFinite(leftMs) ? Math.max(0, leftMs - marginMs) : null;
    }
    return this.#leftMs;
  }

  async rollback(): Promise<void> {
    if (this.isOver) return;
    await this.send([{ text: "rollback" }]);
    this.#isOver = true;
  }
}

/** What a transaction has collected for its commit, each item with its row access. */
class Records {
  readonly #transaction: Transaction;
  readonly #now: Date;
  readonly #context: AuditContext;
  readonly #sources: JobSources;
  #audits: { access: RowAccess; entry: PendingAudit }[] = [];
  #events: { accountId: string; event: PendingEvent }[] = [];
  #statements: { access: RowAccess; statement: Statement }[] = [];

  constructor(transaction: Transaction, now: Date, context: AuditContext, sources: JobSources) {
    this.#transaction = transaction;
    this.#now = now;
    this.#context = context;
    this.#sources = sources;
  }

  txFor(access: RowAccess): Tx {
    const { random } = this.#sources;
    const { db } = this.#transaction;
    return {
      db,
      now: this.#now,
      audit: (entry) => {
        this.#audits.push({ access, entry: { ...entry, id: entry.id ?? random.uuid() } });
      },
      emit: (type, fields, ...[place]) => {
        if (access.kind !== "account") throw new Error(`event ${type.name} emitted without row access to an account`);
        const event = { id: random.uuid(), type: type.name, fields, vaultId: place?.vaultId ?? null };
        this.#events.push({ accountId: access.accountId, event });
        return event.id;
      },
      atCommit: (statement) => {
        this.#statements.push({ access, statement });
      },
      withNext: (statement) => this.#transaction.withNext(statement),
      auditOrigin: this.#context.context,
      within: (inner, work) => this.#within(inner, work),
      job: (request) => {
        const query = (text: string, values: unknown[]) => db.executeQuery(CompiledQuery.raw(text, values));
        return enqueueJob({ query }, this.#sources, request);
      },
    };
  }

  async #within<T>(inner: RowAccess, work: (tx: Tx) => Promise<T>): Promise<T> {
    const collected = [this.#audits, this.#events, this.#statements];
    const lengths = collected.map(({ length }) => length);
    try {
      return await this.#transaction.within(inner, () => work(this.txFor(inner)));
    } catch (error) {
      for (const [at, list] of collected.entries()) list.length = lengths[at] ?? 0;
      throw error;
    }
  }

  /** One job for each chain that gets a record. They have no key: a job that runs may have read the chain already. */
  #checkpointJobs(task: CheckpointTask): Statement[] {
    const chains = new Set(this.#audits.map(({ access }) => chainOf(access).chain));
    return [...chains].map((chain) =>
      jobStatement(this.#sources, { task, payload: { chain }, exclusiveKey: `audit.${chain}` }),
    );
  }

  /** What is left to be sent, with the commit. The last ones lock heads of streams and chains. */
  statements(checkpointTask: CheckpointTask | null): readonly Statement[] {
    const all: Statement[] = [];
    const add = (access: RowAccess, statement: Statement) => {
      all.push(...this.#transaction.accessStatements(access), statement);
    };
    for (const { access, statement } of this.#statements) add(access, statement);
    if (checkpointTask !== null && this.#context.needsCheckpoint === true)
      all.push(...this.#checkpointJobs(checkpointTask));
    // In one order for all transactions: two that write to the same streams or chains must not wait for each other.
    const streams = Map.groupBy(this.#events, ({ accountId }) => accountId);
    for (const [accountId, items] of sortedBy([...streams], ([id]) => id)) {
      const events = items.map(({ event }) => event);
      add({ kind: "account", accountId }, appendEvents(accountId, this.#now, events));
    }
    for (const { access, entry } of sortedBy(this.#audits, (item) => chainOf(item.access).chain)) {
      // Records without an account are in the platform's chain, also those of upkeep.
      const chain: RowAccess = access.kind === "account" ? access : { kind: "platform" };
      add(chain, appendRecord(chain, this.#now, this.#context, entry));
    }
    return all;
  }
}

/** Keeps the order of items with the same key. */
function sortedBy<T>(items: readonly T[], keyOf: (item: T) => string): readonly T[] {
  return items.length < 2 ? items : items.toSorted((a, b) => compare(keyOf(a), keyOf(b)));
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** Database errors that end by themselves: SQLSTATE classes and codes, and those of the driver. */
const passingErrors = /^(08|53|57P0|ECONN|EPIPE|ENOENT|ETIMEDOUT)/;
const diskFull = "53100";
const statementCanceled = "57014";
const lockNotAvailable = "55P03";
const deadlock = "40P01";

/** Seconds after which the database is likely to answer again. */
const retryAfterFaultSeconds = 5;

/** Whether a transaction has failed because it waited too long for a lock. It has changed nothing. */
export function isLockTimeout(error: unknown): boolean {
  return (
    error instanceof Problem &&
    error.cause instanceof Error &&
    "code" in error.cause &&
    error.cause.code === lockNotAvailable
  );
}

function asProblem(error: unknown, signal: EndState): unknown {
  if (error instanceof Problem) return error;
  const extras = { headers: { "Retry-After": String(retryAfterFaultSeconds) }, cause: error };
  if (signal.aborted) return new Problem("unavailable", extras);
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code === diskFull) return new Problem("storage_full", extras);
  const passing = passingErrors.test(code) || [statementCanceled, lockNotAvailable, deadlock].includes(code);
  // Errors of the driver have no code: no connection became free in time, or the connection was lost.
  const driverGaveUp =
    error instanceof Error && /timeout exceeded when trying|Connection terminated|not queryable/.test(error.message);
  const noneFree = driverGaveUp || error instanceof NoConnectionError;
  return passing || noneFree || isStalePlan(error) ? new Problem("unavailable", extras) : error;
}
