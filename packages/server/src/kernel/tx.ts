/**
 * Transactions: the only way to change data. A transaction has a *row access*, which says whose rows it sees. What it
 * changes, audits, emits and enqueues commits together or not at all. Audit records and events are collected while the
 * work runs and written just before the commit, events first, so that their two locks are short and taken in one order.
 *
 * A transaction whose signal has aborted does not commit: its caller already got an error.
 */

import { CompiledQuery, type Kysely } from "kysely";
import type { Pool, PoolClient } from "pg";
import {
  type AuditContext,
  type AuditEntry,
  type AuditOrigin,
  auditStatements,
  lockChain,
  type PendingAudit,
} from "./audit.ts";
import type { Clock, Random } from "./clock.ts";
import { forgetPrepared, isStalePlan, type Statement, sendBatch } from "./database/batch.ts";
import { type ChangeNotice, parseNotices } from "./database/change-notices.ts";
import { PipelinedConnection, queryBuilder, type SendStatements } from "./database/pipelined-connection.ts";
import type { Database } from "./database/rows.generated.ts";
import { type EventFields, type EventType, eventStatements, lockStream, type PendingEvent } from "./events.ts";
import { enqueueJob, type JobRequest, type JobSources } from "./jobs/enqueue.ts";
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
  /** Only with row access to an account, because an event belongs to one. */
  emit<T extends EventType>(type: T, fields: EventFields<T>): void;
  /** Returns the id of the job, or undefined when an unfinished one has its key. */
  job<Payload>(request: JobRequest<Payload>): Promise<string | undefined>;
  /** Sends a statement with the commit, when nothing waits for its result. */
  atCommit(query: { compile(): CompiledQuery }): void;
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

/** On whose behalf, and until when. */
export interface TxContext extends AuditContext {
  readonly signal: AbortSignal;
}

export interface Transactions {
  run<T>(context: TxContext, access: RowAccess, work: (tx: Tx) => Promise<T>): Promise<T>;
  read<T>(context: Pick<TxContext, "signal">, access: RowAccess, work: (tx: ReadTx) => Promise<T>): Promise<T>;
  /**
   * Calls the listener when rows of the given word were changed (`database/change-notices.ts`): by a commit of this
   * process, before `run` returns, or when another process announced it. It must not throw.
   */
  onChange(what: string, listener: ChangeListener): void;
  /** Passes on what other processes announced; without a notice anything may have changed. */
  announce(notice?: ChangeNotice): void;
}

/** `secrets` seals the payloads of jobs that ask for it. */
export function createTransactions(
  pool: Pool,
  clock: Clock,
  random: Random,
  log: Log,
  secrets?: Secrets,
): Transactions {
  const listeners: { readonly what: string; readonly listener: ChangeListener }[] = [];
  const tell = ({ what, accountId }: ChangeNotice) =>
    Promise.all(listeners.filter((one) => one.what === what).map(({ listener }) => listener(accountId)));
  return {
    onChange(what, listener) {
      listeners.push({ what, listener });
    },
    announce(notice) {
      if (notice !== undefined) void tell(notice);
      else for (const { listener } of listeners) void listener(null);
    },
    async run({ signal, ...who }, access, work) {
      const client = await connect(pool, signal);
      const transaction = new Transaction(client, access);
      const records = new Records(transaction, clock.now(), who, { clock, random, secrets });
      let result: Awaited<ReturnType<typeof work>>;
      let changes: readonly ChangeNotice[];
      try {
        result = await work(records.txFor(access));
        const last = await records.write();
        // Checked last: a caller that gave up must not find the change made after all.
        signal.throwIfAborted();
        changes = await transaction.commit(last);
      } catch (error) {
        if (isStalePlan(error)) forgetPrepared(client);
        // A lost connection is rolled back by the server. The first error is the one to show.
        await transaction.rollback().catch((second: unknown) => log.warn("rollback_failed", errorFields(second)));
        throw asProblem(error, signal);
      } finally {
        // A connection whose transaction did not end would carry its row access to the next request.
        client.release(!transaction.isOver);
      }
      if (changes.length > 0) await Promise.all(changes.map(tell));
      return result;
    },
    async read({ signal }, access, work) {
      const scope = { text: setReadOnlyRowAccess, values: accessValues(access) };
      const send: SendStatements = async (statements) => {
        const client = await connect(pool, signal);
        try {
          return (await sendReads(client, [scope, ...statements])).slice(1);
        } finally {
          client.release();
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

async function connect(pool: Pool, signal: AbortSignal): Promise<PoolClient> {
  if (signal.aborted) throw asProblem(signal.reason, signal);
  try {
    return await pool.connect();
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

/** What the triggers of this transaction collected. */
const readChanges = "select current_setting('emanet.changed', true) as changed";

function accessValues(access: RowAccess): readonly string[] {
  return [access.kind, access.kind === "account" ? access.accountId : ""];
}

/**
 * A transaction on one connection: *unsent* until its first statement, with which it begins; then *open*; *over* after
 * its commit or rollback. One that stays unsent costs the server nothing.
 */
class Transaction {
  readonly #connection: PipelinedConnection;
  readonly db: Kysely<Database>;
  #access: RowAccess;
  #savepoints = 0;
  #isOver = false;

  constructor(client: PoolClient, access: RowAccess) {
    this.#connection = new PipelinedConnection(client);
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
    return this.#connection.send(statements);
  };

  /** From the next statement on; sent with it. */
  setAccess(access: RowAccess): void {
    for (const statement of this.accessStatements(access)) this.#connection.sendLater(statement);
  }

  /** The statement that changes the row access, to be sent next; none when it is the present one. */
  accessStatements(access: RowAccess): readonly Statement[] {
    const [kind, account] = accessValues(access);
    const [currentKind, currentAccount] = accessValues(this.#access);
    this.#access = access;
    return kind === currentKind && account === currentAccount ? [] : [{ text: setRowAccess, values: [kind, account] }];
  }

  /** Runs work that can be undone alone. */
  async within<T>(inner: RowAccess, work: () => Promise<T>): Promise<T> {
    const outer = this.#access;
    const name = `nested_${this.#savepoints++}`;
    const takeBack = this.#connection.sendLater({ text: `savepoint ${name}` });
    this.setAccess(inner);
    // Staff only read, as in a separate transaction. The setting ends with the savepoint.
    if (inner.kind === "staff") this.#connection.sendLater({ text: "set transaction read only" });
    try {
      const result = await work();
      if (takeBack()) this.#access = outer;
      else {
        this.setAccess(outer);
        this.#connection.sendLater({ text: `release savepoint ${name}` });
      }
      return result;
    } catch (error) {
      // The rollback also restores the row access, which is a setting of the transaction.
      if (!takeBack()) this.#connection.sendLater({ text: `rollback to savepoint ${name}` });
      this.#access = outer;
      throw error;
    }
  }

  /** Returns the notices of what it changed. */
  async commit(last: readonly Statement[]): Promise<readonly ChangeNotice[]> {
    if (!this.#connection.isUsed && last.length === 0) return [];
    const results = await this.send([...last, { text: readChanges }, { text: "commit" }]);
    this.#isOver = true;
    // PostgreSQL answers the COMMIT of a failed transaction without an error.
    const { command } = results.at(-1) ?? {};
    if (command !== "COMMIT") throw new Error(`a transaction was not committed: ${command}`);
    return parseNotices(String(results.at(-2)?.rows[0]?.changed ?? ""));
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
      emit: (type, fields) => {
        if (access.kind !== "account") throw new Error(`event ${type.name} emitted without row access to an account`);
        const event = { id: random.uuid(), type: type.name, fields };
        this.#events.push({ accountId: access.accountId, event });
      },
      atCommit: (query) => {
        this.#statements.push({ access, statement: statementOf(query.compile()) });
      },
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

  /** Locks the heads of the streams and chains. Returns the statements that are left, to be sent with the commit. */
  async write(): Promise<readonly Statement[]> {
    const streams = grouped(this.#events, (item) => item.accountId);
    const chains = grouped(this.#audits, (item) => chainKey(item.access));
    const heads = new ScopedStatements(this.#transaction);
    for (const [accountId, events] of streams) {
      heads.add({ kind: "account", accountId }, [lockStream(accountId, events.length)]);
    }
    for (const [, audits] of chains) heads.add(chainAccess(audits), [lockChain(chainAccess(audits))]);
    const found = await heads.send();
    const left = new ScopedStatements(this.#transaction);
    for (const { access, statement } of this.#statements) left.add(access, [statement]);
    for (const [at, [accountId, items]] of streams.entries()) {
      const list = items.map(({ event }) => event);
      left.add({ kind: "account", accountId }, eventStatements(accountId, this.#now, list, found[at]));
    }
    for (const [at, [, items]] of chains.entries()) {
      const list = items.map(({ entry }) => entry);
      const head = found[streams.length + at];
      left.add(chainAccess(items), auditStatements(chainAccess(items), this.#now, this.#context, list, head));
    }
    return left.statements;
  }
}

/** Statements with row accesses that change between them. */
class ScopedStatements {
  readonly #transaction: Transaction;
  readonly statements: Statement[] = [];
  /** Where the statements are that are no changes of the row access. */
  readonly #places: number[] = [];

  constructor(transaction: Transaction) {
    this.#transaction = transaction;
  }

  add(access: RowAccess, statements: readonly Statement[]): void {
    this.statements.push(...this.#transaction.accessStatements(access));
    for (const statement of statements) this.#places.push(this.statements.push(statement) - 1);
  }

  /** The first row of each statement. */
  async send(): Promise<(Readonly<Record<string, unknown>> | undefined)[]> {
    if (this.statements.length === 0) return [];
    const results = await this.#transaction.send(this.statements);
    return this.#places.map((at) => results[at]?.rows[0]);
  }
}

function statementOf({ sql: text, parameters: values }: CompiledQuery): Statement {
  return { text, values };
}

/** Records without an account are in the platform's chain, also those of upkeep. */
function chainAccess(audits: readonly { readonly access: RowAccess }[]): RowAccess {
  const access = audits[0]?.access;
  return access?.kind === "account" ? access : { kind: "platform" };
}

function chainKey(access: RowAccess): string {
  return access.kind === "account" ? access.accountId : "platform";
}

/** Groups sorted by key: two transactions that write to the same streams lock them in the same order. */
function grouped<T>(items: readonly T[], key: (item: T) => string): [string, T[]][] {
  return Object.entries(Object.groupBy(items, key) as Record<string, T[]>).sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Database errors that end by themselves: SQLSTATE classes and codes, and those of the driver. */
const passingErrors = /^(08|53|57P0|ECONN|EPIPE|ENOENT|ETIMEDOUT)/;
const diskFull = "53100";
const statementCanceled = "57014";
const lockNotAvailable = "55P03";
const deadlock = "40P01";

/** Seconds after which the database is likely to answer again. */
const retryAfterFaultSeconds = 5;

function asProblem(error: unknown, signal: AbortSignal): unknown {
  if (error instanceof Problem) return error;
  const extras = { headers: { "Retry-After": String(retryAfterFaultSeconds) }, cause: error };
  if (signal.aborted) return new Problem("unavailable", extras);
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code === diskFull) return new Problem("storage_full", extras);
  const passing = passingErrors.test(code) || [statementCanceled, lockNotAvailable, deadlock].includes(code);
  // Errors of the driver have no code: no connection became free in time, or the connection was lost.
  const driverGaveUp =
    error instanceof Error && /timeout exceeded when trying|Connection terminated|not queryable/.test(error.message);
  return passing || driverGaveUp || isStalePlan(error) ? new Problem("unavailable", extras) : error;
}
