/**
 * The rows that the rights of sessions depend on, kept in the memory of this process for a moment. A change of such a row
 * reaches a process by a notice (`kernel/database/change-notices.ts`), in this process before the change is answered. No row is
 * used for longer than {@link maxAgeMs} after its read began, whatever happens to the notices: this bound, and not the
 * notices, is what keeps the contract's second.
 */

import type { Pool } from "pg";
import { monotonicMs } from "../../kernel/clock.ts";
import type { Transactions } from "../../kernel/tx.ts";
import { readTokenSubject, type SubjectRow } from "./subject-store.ts";

/** The contract gives a revocation one second to reach every process. The rest is for the request itself. */
export const maxAgeMs = 750;

/** About 20 MB. Each entry lives for less than a second, so more sessions than this are not busy at once. */
const maxEntries = 10_000;

/** The word of the triggers for a change of what the row of a session depends on. */
const subjectChanged = "subject";

/** A cache of the database's rows that follows their changes. */
export function createSubjectCache(app: Pool, transactions: Pick<Transactions, "onChange">): SubjectCache {
  const cache = new SubjectCache({ read: (sessionId) => readTokenSubject(app, sessionId) });
  transactions.onChange(subjectChanged, (accountId) => cache.forget(accountId));
  return cache;
}

export interface SubjectCacheOptions {
  readonly read: (sessionId: string) => Promise<SubjectRow | undefined>;
  /** Milliseconds that only grow. */
  readonly monotonic?: () => number;
}

interface Entry {
  readonly readAt: number;
  readonly row: Promise<SubjectRow | undefined>;
  /** Known once the row was read. */
  accountId: string | null | undefined;
}

export class SubjectCache {
  readonly #read: SubjectCacheOptions["read"];
  readonly #monotonic: () => number;
  readonly #entries = new Map<string, Entry>();

  constructor({ read, monotonic = monotonicMs }: SubjectCacheOptions) {
    this.#read = read;
    this.#monotonic = monotonic;
  }

  /** The row of a session. Requests of one session that come at the same time share one read. */
  find(sessionId: string): Promise<SubjectRow | undefined> {
    const now = this.#monotonic();
    const known = this.#entries.get(sessionId);
    if (known !== undefined && now - known.readAt < maxAgeMs) return known.row;
    // Deleted first: the map is ordered by insertion, so its first entry is the oldest.
    this.#entries.delete(sessionId);
    const entry: Entry = { readAt: now, row: this.#read(sessionId), accountId: undefined };
    this.#entries.set(sessionId, entry);
    const forget = () => {
      if (this.#entries.get(sessionId) === entry) this.#entries.delete(sessionId);
    };
    entry.row.then((row) => {
      // A session that does not exist yet may exist at the next request.
      if (row === undefined) forget();
      else entry.accountId = row.account_id;
    }, forget);
    this.#dropOldest(now);
    return entry.row;
  }

  /** Reads the sessions of an account again, or of all accounts. A read that is under way may have come too early. */
  forget(accountId: string | null): void {
    for (const [sessionId, entry] of this.#entries) {
      const concerns = accountId === null || entry.accountId === undefined || entry.accountId === accountId;
      if (concerns) this.#entries.delete(sessionId);
    }
  }

  #dropOldest(now: number): void {
    for (const [sessionId, { readAt }] of this.#entries) {
      if (now - readAt < maxAgeMs && this.#entries.size <= maxEntries) return;
      this.#entries.delete(sessionId);
    }
  }
}
