/**
 * Transactions of one vault's catalog. Each chooses the vault (row-level security, migration 0018) and takes the *lock of the
 * vault*, an advisory lock, before its first statement.
 *
 * - `shared`: steps of uploads, and everything else that changes rows. They run beside each other.
 * - `exclusive`: what decides that nothing uses a pack (condemn, beginDelete, moveFrames), and what changes items or frames
 *   that uploads hold (replaced recipes, damage marks, clear). Nothing else changes the vault meanwhile.
 *
 * PostgreSQL serves waiters in their order: a step that waits for `exclusive` behind a slow step makes all later ones wait
 * too. So it waits for a short time only, lets the others pass and tries again.
 *
 * The lock is a statement of its own: a statement sees what was committed when it began, so one that waited for the lock
 * itself would decide by a state from before it had the lock.
 *
 * Within `shared` rows are locked in one order, so that no two steps wait for each other: the upload, a snapshot, owners, a
 * session's header, frames, items (by ordinal), hooks (by hook), packs (by name), the row of the catalog last.
 */

import { setTimeout as delay } from "node:timers/promises";
import type { CompiledQuery, RawBuilder } from "kysely";
import { sql } from "kysely";
import type { Statement } from "../kernel/database/batch.ts";
import type { RowAccess } from "../kernel/principal.ts";
import { isLockTimeout, type Transactions, type Tx, type TxContext } from "../kernel/tx.ts";

export type VaultLock = "shared" | "exclusive";

/** A transaction of one vault. */
export interface VaultTx {
  readonly tx: Tx;
  readonly db: Tx["db"];
  /** The number that rows of the vault have. */
  readonly vault: number;
}

export interface WriteOptions {
  /**
   * False for a step that a power cut may undo: pins and leases. An upload whose pins are lost has lost what it holds too,
   * so its commit is refused.
   */
  readonly durable?: boolean | undefined;
  /** For a step that may take longer than statements of requests may. */
  readonly timeoutMs?: number | undefined;
}

export interface VaultOfAccount {
  readonly transactions: Transactions;
  readonly accountId: string;
  readonly vaultId: string;
  readonly context: TxContext;
  /** The vault's number, where it is known. The catalogs of one vault that a process opens share it. */
  readonly known?: KnownVault | undefined;
}

export interface KnownVault {
  number: number | null;
}

/** The first number of the advisory locks of vaults; the second is the vault. */
const lockClass = 7701;

/** How long a step waits for the exclusive lock at a time. Others wait so much longer at most. */
const exclusiveWaitMs = 1_000;

/** How long it leaves the lock to the others then: much longer than a step of an upload takes. */
const exclusivePauseMs = 200;

/** A minute in all. What needs this lock is upkeep, which runs again later. */
const exclusiveAttempts = 50;

export class VaultDatabase {
  readonly #of: VaultOfAccount;
  readonly #access: RowAccess;
  readonly #known: KnownVault;
  #waiting: WaitingQuery[] = [];

  constructor(of: VaultOfAccount) {
    this.#of = of;
    this.#known = of.known ?? { number: null };
    this.#access = { kind: "account", accountId: of.accountId };
  }

  get vaultId(): string {
    return this.#of.vaultId;
  }

  /** Runs a step that changes the vault. What it returns is committed. Work that needs the vault alone may be repeated. */
  async write<T>(lock: VaultLock, work: (to: VaultTx) => Promise<T>, options: WriteOptions = {}): Promise<T> {
    if (lock === "shared") return this.#attempt(lock, work, options);
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#attempt(lock, work, options);
      } catch (error) {
        if (!isLockTimeout(error) || attempt === exclusiveAttempts) throw error;
      }
      await delay(exclusivePauseMs);
    }
  }

  async #attempt<T>(lock: VaultLock, work: (to: VaultTx) => Promise<T>, options: WriteOptions): Promise<T> {
    const vault = await this.#number();
    const { transactions, context } = this.#of;
    return transactions.run(context, this.#access, async (tx) => {
      for (const first of [this.#choose(settingsOf(lock, options)), lockVault(lock, vault)])
        tx.withNext(statementOf(tx, first));
      return work({ tx, db: tx.db, vault });
    });
  }

  /** The rows of one query, which sees one state of the vault. Queries that are issued at the same time travel together. */
  async rows<T>(query: (vault: number) => RawBuilder<T>): Promise<T[]> {
    const vault = await this.#number();
    const { promise, resolve, reject } = Promise.withResolvers<readonly unknown[]>();
    // Called from a promise, so the tick comes after everything that is ready to run now.
    if (this.#waiting.length === 0) process.nextTick(() => void this.#readWaiting());
    this.#waiting.push({ query: query(vault), resolve, reject });
    return (await promise) as T[];
  }

  async #readWaiting(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    const { transactions, context } = this.#of;
    try {
      const [, ...results] = await transactions.read(context, this.#access, ({ db }) =>
        Promise.all([this.#choose([]), ...waiting.map(({ query }) => query)].map((query) => query.execute(db))),
      );
      for (const [at, { resolve }] of waiting.entries()) resolve(results[at]?.rows ?? []);
    } catch (error) {
      for (const { reject } of waiting) reject(error);
    }
  }

  /** Chooses the vault, with settings of the transaction. */
  #choose(settings: readonly Setting[]): RawBuilder<unknown> {
    const { vaultId } = this.#of;
    const set = settings.map(([name, value]) => sql`, set_config(${sql.lit(name)}, ${sql.lit(value)}, true)`);
    return sql`select use_vault(${vaultId})${sql.join(set, sql``)}`;
  }

  /** Never changes, so it is read once. */
  async #number(): Promise<number> {
    if (this.#known.number !== null) return this.#known.number;
    const { transactions, context, vaultId } = this.#of;
    const { rows } = await transactions.read(context, this.#access, ({ db }) =>
      sql<{ vault: number }>`select use_vault(${vaultId}) as vault`.execute(db),
    );
    const number = rows[0]?.vault ?? null;
    if (number === null) throw new Error("a vault has no number");
    this.#known.number = number;
    return number;
  }
}

interface WaitingQuery {
  readonly query: RawBuilder<unknown>;
  readonly resolve: (rows: readonly unknown[]) => void;
  readonly reject: (error: unknown) => void;
}

type Setting = readonly [name: string, value: string];

function settingsOf(lock: VaultLock, { durable = true, timeoutMs }: WriteOptions): readonly Setting[] {
  const settings: Setting[] = [];
  if (!durable) settings.push(["synchronous_commit", "off"]);
  if (timeoutMs !== undefined) settings.push(["statement_timeout", String(timeoutMs)]);
  if (lock === "exclusive") settings.push(["lock_timeout", String(exclusiveWaitMs)]);
  return settings;
}

function lockVault(lock: VaultLock, vault: number): RawBuilder<unknown> {
  return lock === "exclusive"
    ? sql`select pg_advisory_xact_lock(${lockClass}::integer, ${vault}::integer)`
    : sql`select pg_advisory_xact_lock_shared(${lockClass}::integer, ${vault}::integer)`;
}

/** Runs a statement and returns its rows. */
export async function rowsOf<T>({ db }: Pick<VaultTx, "db">, query: RawBuilder<T>): Promise<T[]> {
  return (await query.execute(db)).rows;
}

/** Sends a statement with the commit, where nothing waits for its result. */
export function atCommit({ tx }: Pick<VaultTx, "tx">, query: RawBuilder<unknown>): void {
  tx.atCommit(statementOf(tx, query));
}

function statementOf({ db }: Pick<Tx, "db">, query: RawBuilder<unknown>): Statement {
  const { sql: text, parameters: values }: CompiledQuery = query.compile(db);
  return { text, values };
}

/** Whatever makes a marking wrong raises the revision. */
export function raiseRevision(to: VaultTx): void {
  atCommit(to, sql`update catalogs set revision = revision + 1 where vault = ${to.vault}`);
}

/** Makes the row of a new vault's catalog. */
export async function insertCatalog(
  { db }: Pick<Tx, "db">,
  catalog: { readonly accountId: string; readonly vaultId: string; readonly catalogId: number },
): Promise<void> {
  const { accountId, vaultId, catalogId } = catalog;
  await db.insertInto("catalogs").values({ account_id: accountId, vault_id: vaultId, catalog_id: catalogId }).execute();
}
