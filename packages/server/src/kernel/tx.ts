/**
 * Transactions: the only way to change data. A transaction has a *row access*, which says whose rows it sees. What it
 * changes, audits, emits and enqueues commits together or not at all. Audit records and events are collected while the
 * work runs and written just before the commit, events first, so that their two locks are short and taken in one order.
 *
 * A transaction whose signal has aborted does not commit: its caller already got an error.
 */

import { CompiledQuery, type ControlledTransaction, Kysely, PostgresDialect, sql } from "kysely";
import type { Pool } from "pg";
import { type AuditContext, type AuditEntry, type AuditOrigin, appendAudit, type PendingAudit } from "./audit.ts";
import type { Clock, Random } from "./clock.ts";
import type { Database } from "./database/rows.generated.ts";
import { appendEvents, type EventFields, type EventType, type PendingEvent } from "./events.ts";
import { enqueueJob, type JobRequest, type JobSources } from "./jobs/enqueue.ts";
import { errorFields, type Log } from "./log.ts";
import type { RowAccess } from "./principal.ts";
import { Problem } from "./problems.ts";
import type { Secrets } from "./secrets.ts";

export interface Tx {
  /** All queries of the transaction use this. */
  readonly db: Kysely<Database>;
  /** The time of the transaction. It does not change while the transaction runs. */
  readonly now: Date;
  audit(entry: AuditEntry): void;
  /** Only with row access to an account, because an event belongs to one. */
  emit<T extends EventType>(type: T, fields: EventFields<T>): void;
  /** Returns the id of the job, or undefined when an unfinished one has its key. */
  job<Payload>(request: JobRequest<Payload>): Promise<string | undefined>;
  /** Says that something changed of which this process keeps a copy in memory; see {@link Transactions.onChange}. */
  changed(what: string): void;
  /** What the audit records of this transaction say about the request, for records that a job writes later. */
  readonly auditOrigin: AuditOrigin;
  /** Runs work with another row access in the same commit. When the work throws, only what it did is undone. */
  readonly within: RunTx;
}

export type RunTx = <T>(access: RowAccess, work: (tx: Tx) => Promise<T>) => Promise<T>;

/** On whose behalf, and until when. */
export interface TxContext extends AuditContext {
  readonly signal: AbortSignal;
}

export interface Transactions {
  run<T>(context: TxContext, access: RowAccess, work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Calls the listener after each commit in this process that changed `what`; `run` waits for it. It must not throw. */
  onChange(what: string, listener: () => Promise<void>): void;
}

/** `secrets` seals the payloads of jobs that ask for it. */
export function createTransactions(
  pool: Pool,
  clock: Clock,
  random: Random,
  log: Log,
  secrets?: Secrets,
): Transactions {
  const kysely = new Kysely<Database>({ dialect: new PostgresDialect({ pool }) });
  const listeners = new Map<string, () => Promise<void>>();
  return {
    onChange(what, listener) {
      listeners.set(what, listener);
    },
    async run(context, access, work) {
      if (context.signal.aborted) throw asProblem(context.signal.reason, context.signal);
      // Staff see every account and change none. What they do to an account runs with row access to that account.
      const mode = access.kind === "staff" ? "read only" : "read write";
      const trx = await kysely
        .startTransaction()
        .setAccessMode(mode)
        .execute()
        .catch((error: unknown) => {
          throw asProblem(error, context.signal);
        });
      const records = new Records(trx, clock.now(), context, { clock, random, secrets });
      let result: Awaited<ReturnType<typeof work>>;
      try {
        await setRowAccess(trx, access);
        result = await work(records.txFor(access));
        await records.write();
        // Checked last: a caller that gave up must not find the change made after all.
        context.signal.throwIfAborted();
        await trx.commit().execute();
      } catch (error) {
        // A lost connection is rolled back by the server. The first error is the one to show.
        await trx
          .rollback()
          .execute()
          .catch((second: unknown) => log.warn("rollback_failed", errorFields(second)));
        throw asProblem(error, context.signal);
      }
      await Promise.all(records.changes().map((what) => listeners.get(what)?.()));
      return result;
    },
  };
}

/** What a transaction has collected for its commit, each item with its row access. */
class Records {
  readonly #trx: ControlledTransaction<Database>;
  readonly #now: Date;
  readonly #context: AuditContext;
  readonly #sources: JobSources;
  #audits: { access: RowAccess; entry: PendingAudit }[] = [];
  #events: { accountId: string; event: PendingEvent }[] = [];
  #changes: string[] = [];
  #savepoints = 0;

  constructor(trx: ControlledTransaction<Database>, now: Date, context: AuditContext, sources: JobSources) {
    this.#trx = trx;
    this.#now = now;
    this.#context = context;
    this.#sources = sources;
  }

  txFor(access: RowAccess): Tx {
    const { random } = this.#sources;
    return {
      db: this.#trx,
      now: this.#now,
      audit: (entry) => {
        this.#audits.push({ access, entry: { ...entry, id: entry.id ?? random.uuid() } });
      },
      emit: (type, fields) => {
        if (access.kind !== "account") throw new Error(`event ${type.name} emitted without row access to an account`);
        const event = { id: random.uuid(), type: type.name, fields };
        this.#events.push({ accountId: access.accountId, event });
      },
      changed: (what) => {
        this.#changes.push(what);
      },
      auditOrigin: this.#context.context,
      within: (inner, work) => this.#within(access, inner, work),
      job: (request) => {
        const query = (text: string, values: unknown[]) => this.#trx.executeQuery(CompiledQuery.raw(text, values));
        return enqueueJob({ query }, this.#sources, request);
      },
    };
  }

  changes(): readonly string[] {
    return [...new Set(this.#changes)];
  }

  async #within<T>(outer: RowAccess, inner: RowAccess, work: (tx: Tx) => Promise<T>): Promise<T> {
    const name = `nested_${this.#savepoints++}`;
    const gathered = { audits: this.#audits.length, events: this.#events.length, changes: this.#changes.length };
    const savepoint = await this.#trx.savepoint(name).execute();
    await setRowAccess(this.#trx, inner);
    // Staff only read, as in a separate transaction. The setting ends with the savepoint.
    if (inner.kind === "staff") await sql`set transaction read only`.execute(this.#trx);
    try {
      const result = await work(this.txFor(inner));
      await setRowAccess(this.#trx, outer);
      await savepoint.releaseSavepoint(name).execute();
      return result;
    } catch (error) {
      // The rollback also restores the row access, which is a setting of the transaction.
      await savepoint.rollbackToSavepoint(name).execute();
      this.#audits.length = gathered.audits;
      this.#events.length = gathered.events;
      this.#changes.length = gathered.changes;
      throw error;
    }
  }

  async write(): Promise<void> {
    for (const [accountId, events] of grouped(this.#events, (item) => item.accountId)) {
      await setRowAccess(this.#trx, { kind: "account", accountId });
      await appendEvents(
        this.#trx,
        accountId,
        this.#now,
        events.map((item) => item.event),
      );
    }
    for (const [, audits] of grouped(this.#audits, (item) => chainKey(item.access))) {
      const access = audits[0]?.access;
      if (access === undefined) continue;
      // Records without an account are in the platform's chain, also those of upkeep.
      await setRowAccess(this.#trx, access.kind === "account" ? access : { kind: "platform" });
      await appendAudit(
        this.#trx,
        access,
        this.#now,
        this.#context,
        audits.map((item) => item.entry),
      );
    }
  }
}

async function setRowAccess(db: Kysely<Database>, access: RowAccess): Promise<void> {
  const account = access.kind === "account" ? access.accountId : "";
  await sql`select set_config('emanet.scope', ${access.kind}, true), set_config('emanet.account_id', ${account}, true)`.execute(
    db,
  );
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
  return passing || driverGaveUp ? new Problem("unavailable", extras) : error;
}
