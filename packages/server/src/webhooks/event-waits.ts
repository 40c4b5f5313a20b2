/**
 * Requests that wait for events (long polling). While some wait, one statement a few times a second reads the heads of
 * their streams, however many they are. NOTIFY is not used: commits that notify wait for each other in PostgreSQL, and
 * every event would be such a commit (decision 0580).
 */

import { errorFields, type Log } from "../kernel/log.ts";
import type { Transactions } from "../kernel/tx.ts";
import { readHeads } from "./event-store.ts";

/** Between two looks: an event is seen this much later at most. */
const lookMs = 200;

/** Of one account in one process. A browser has one, an office a handful of programs. */
const maxWaitsPerAccount = 50;

interface Wait {
  readonly accountId: string;
  readonly after: number;
  readonly end: () => void;
}

export class EventWaits {
  readonly #transactions: Transactions;
  readonly #log: Log;
  readonly #waits = new Set<Wait>();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(transactions: Transactions, log: Log) {
    this.#transactions = transactions;
    this.#log = log;
  }

  /**
   * Resolves when the account has an event after this number, when the time has passed, when the client has left, or when
   * the service stops. Returns at once when too many of the account wait already.
   */
  async wait(accountId: string, after: number, ms: number, signal: AbortSignal): Promise<void> {
    if (this.#isClosed || signal.aborted || this.#countOf(accountId) >= maxWaitsPerAccount) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const end = () => resolve();
    const wait = { accountId, after, end };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end, { once: true });
    this.#waits.add(wait);
    this.#lookLater();
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      this.#waits.delete(wait);
    }
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Ends all waits, and begins no more. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const { end } of this.#waits) end();
  }

  #countOf(accountId: string): number {
    let count = 0;
    for (const wait of this.#waits) if (wait.accountId === accountId) count += 1;
    return count;
  }

  #lookLater(): void {
    if (this.#timer !== undefined || this.#isClosed || this.#waits.size === 0) return;
    this.#timer = setTimeout(() => {
      this.#look()
        .catch((error: unknown) => this.#log.warn("events_unread", errorFields(error)))
        .finally(() => {
          this.#timer = undefined;
          this.#lookLater();
        });
    }, lookMs);
  }

  async #look(): Promise<void> {
    const accounts = [...new Set(Array.from(this.#waits, ({ accountId }) => accountId))];
    if (accounts.length === 0) return;
    const rows = await this.#transactions.read({ signal: neverEnds }, { kind: "system" }, (tx) =>
      readHeads(tx, accounts),
    );
    const heads = new Map(rows.map((row) => [row.account_id, row.sequence]));
    for (const { accountId, after, end } of this.#waits) if ((heads.get(accountId) ?? 0) > after) end();
  }
}

const neverEnds = new AbortController().signal;
