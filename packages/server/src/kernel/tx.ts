/**
 * The one way to change anything. A *transaction* belongs to a scope (whose rows it sees), and what it changes, audits,
 * emits and enqueues commits together or not at all. Audit records and events are gathered while the work runs and
 * written just before the commit, events first, so that the two locks they take are short and always in one order.
 *
 * A transaction whose signal has ended does not commit: whoever waited for it has been told that it failed.
 */

import { CompiledQuery, type ControlledTransaction, Kysely, PostgresDialect, sql } from "kysely";
import type { Pool } from "pg";
import { type AuditContext, type AuditEntry, type AuditOrigin, appendAudit, type PendingAudit } from "./audit.ts";
import type { Clock, Random } from "./clock.ts";
import type { Database } from "./database/rows.generated.ts";
import { appendEvents, type EventFields, type EventType, type PendingEvent } from "./events.ts";
import { enqueueJob, type JobRequest, type JobSources } from "./jobs/enqueue.ts";
import { errorFields, type Log } from "./log.ts";
import type { Scope } from "./principal.ts";
import { Problem } from "./problems.ts";
import type { Secrets } from "./secrets.ts";

export interface Tx {
  /** Every query of the transaction goes through this. */
  readonly db: Kysely<Database>;
  /** The moment of the transaction, the same throughout. */
  readonly now: Date;
  audit(entry: AuditEntry): void;
  /** Only in the scope of an account: events belong to one. */
  emit<T extends EventType>(type: T, fields: EventFields<T>): void;
  job<Payload>(request: JobRequest<Payload>): Promise<void>;
  /** Says that something changed of which this process keeps a copy in memory; see {@link Transactions.onChange}. */
  changed(what: string): void;
  /** What the audit records of this transaction say about the request, for records that a job writes later. */
  readonly auditOrigin: AuditOrigin;
  /** Runs work in another scope, inside the same commit; when it throws, what it did is undone and nothing else. */
  readonly within: RunTx;
}

export type RunTx = <T>(scope: Scope, work: (tx: Tx) => Promise<T>) => Promise<T>;

/** On whose behalf, and until when. */
export interface TxContext extends AuditContext {
  readonly signal: AbortSignal;
}

export interface Transactions {
  run<T>(context: TxContext, scope: Scope, work: (tx: Tx) => Promise<T>): Promise<T>;
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
    async run(context, scope, work) {
      if (context.signal.aborted) throw asProblem(context.signal.reason, context.signal);
      // Staff see every account and change none: what they do to one runs in that account's scope.
      const mode = scope.kind === "staff" ? "read only" : "read write";
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
        await enterScope(trx, scope);
        result = await work(records.txFor(scope));
        await records.write();
        // Checked last: a caller that gave up must not find the change made after all.
        context.signal.throwIfAborted();
        await trx.commit().execute();
      } catch (error) {
        // A connection that is gone has rolled back by itself; the first error is the one to show.
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

/** What a transaction has gathered for its commit, with the scope that each piece belongs to. */
class Records {
  readonly #trx: ControlledTransaction<Database>;
  readonly #now: Date;
  readonly #context: AuditContext;
  readonly #sources: JobSources;
  #audits: { scope: Scope; entry: PendingAudit }[] = [];
  #events: { accountId: string; event: PendingEvent }[] = [];
  #changes: string[] = [];
  #savepoints = 0;

  constructor(trx: ControlledTransaction<Database>, now: Date, context: AuditContext, sources: JobSources) {
    this.#trx = trx;
    this.#now = now;
    this.#context = context;
    this.#sources = sources;
  }

  txFor(scope: Scope): Tx {
    const { random } = this.#sources;
    return {
      db: this.#trx,
      now: this.#now,
      audit: (entry) => {
        this.#audits.push({ scope, entry: { ...entry, id: entry.id ?? random.uuid() } });
      },
      emit: (type, fields) => {
        if (scope.kind !== "account") throw new Error(`event ${type.name} emitted outside an account's scope`);
        const event = { id: random.uuid(), type: type.name, fields };
        this.#events.push({ accountId: scope.accountId, event });
      },
      changed: (what) => {
        this.#changes.push(what);
      },
      auditOrigin: this.#context.context,
      within: (inner, work) => this.#within(scope, inner, work),
      job: async (request) => {
        const query = (text: string, values: unknown[]) => this.#trx.executeQuery(CompiledQuery.raw(text, values));
        await enqueueJob({ query }, this.#sources, request);
      },
    };
  }

  changes(): readonly string[] {
    return [...new Set(this.#changes)];
  }

  async #within<T>(outer: Scope, inner: Scope, work: (tx: Tx) => Promise<T>): Promise<T> {
    const name = `nested_${this.#savepoints++}`;
    const gathered = { audits: this.#audits.length, events: this.#events.length, changes: this.#changes.length };
    const savepoint = await this.#trx.savepoint(name).execute();
    await enterScope(this.#trx, inner);
    // As in a transaction of its own: staff see every account and change none. It ends with the savepoint.
    if (inner.kind === "staff") await sql`set transaction read only`.execute(this.#trx);
    try {
      const result = await work(this.txFor(inner));
      await enterScope(this.#trx, outer);
      await savepoint.releaseSavepoint(name).execute();
      return result;
    } catch (error) {
      // Rolling back restores the scope too: it is a setting of the transaction.
      await savepoint.rollbackToSavepoint(name).execute();
      this.#audits.length = gathered.audits;
      this.#events.length = gathered.events;
      this.#changes.length = gathered.changes;
      throw error;
    }
  }

  async write(): Promise<void> {
    for (const [accountId, events] of grouped(this.#events, (item) => item.accountId)) {
      await enterScope(this.#trx, { kind: "account", accountId });
      await appendEvents(
        this.#trx,
        accountId,
        this.#now,
        events.map((item) => item.event),
      );
    }
    for (const [, audits] of grouped(this.#audits, (item) => scopeKey(item.scope))) {
      const scope = audits[0]?.scope;
      if (scope === undefined) continue;
      // The platform's chain belongs to no account, and upkeep writes there too.
      await enterScope(this.#trx, scope.kind === "account" ? scope : { kind: "platform" });
      await appendAudit(
        this.#trx,
        scope,
        this.#now,
        this.#context,
        audits.map((item) => item.entry),
      );
    }
  }
}

async function enterScope(db: Kysely<Database>, scope: Scope): Promise<void> {
  const account = scope.kind === "account" ? scope.accountId : "";
  await sql`select set_config('emanet.scope', ${scope.kind}, true), set_config('emanet.account_id', ${account}, true)`.execute(
    db,
  );
}

function scopeKey(scope: Scope): string {
  return scope.kind === "account" ? scope.accountId : "platform";
}

/** Groups in the order of their keys: two transactions that touch the same streams lock them in the same order. */
function grouped<T>(items: readonly T[], key: (item: T) => string): [string, T[]][] {
  return Object.entries(Object.groupBy(items, key) as Record<string, T[]>).sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Faults of the database that a client can only wait out; SQLSTATE classes and codes, and the driver's own. */
const passingFaults = /^(08|53|57P0|ECONN|EPIPE|ENOENT|ETIMEDOUT)/;
const diskFull = "53100";
const statementCanceled = "57014";
const lockNotAvailable = "55P03";
const deadlock = "40P01";

/** Seconds after which a repeated request is likely to find the database again. */
const retryAfterFaultSeconds = 5;

function asProblem(error: unknown, signal: AbortSignal): unknown {
  if (error instanceof Problem) return error;
  const extras = { headers: { "Retry-After": String(retryAfterFaultSeconds) }, cause: error };
  if (signal.aborted) return new Problem("unavailable", extras);
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code === diskFull) return new Problem("storage_full", extras);
  const passing = passingFaults.test(code) || [statementCanceled, lockNotAvailable, deadlock].includes(code);
  // The driver's own errors have no code: the pool waited in vain, or the connection died, at once or before the query.
  const driverGaveUp =
    error instanceof Error && /timeout exceeded when trying|Connection terminated|not queryable/.test(error.message);
  return passing || driverGaveUp ? new Problem("unavailable", extras) : error;
}
