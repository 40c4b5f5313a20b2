/**
 * What long windows (an hour, a day) must not forget when the process ends: the moments that were counted, in a small
 * database file in the data folder. Written when a request is counted, read once at the start. A process that was
 * killed loses nothing: what SQLite was told is with the operating system. Losing power may lose the last moments,
 * which then count again; no customer's data depends on it.
 *
 * Addresses and what came in a body are personal: of them only a keyed hash is kept.
 */

import { renameSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { errorFields, type Log } from "../log.ts";
import type { Secrets } from "../secrets.ts";
import type { Policies, PolicyName } from "./policies.ts";
import type { Want } from "./store.ts";

/** Shorter windows are over before a restart is noticed; writing each of their requests would cost more than it saves. */
const longWindowMs = 10 * 60_000;

/** Moments kept at most: bounds the file to some tens of megabytes, whatever addresses requests come from. */
const maxMoments = 500_000;

/** Between two clearings of what is over. */
const writesBetweenSweeps = 5_000;

export interface LimitJournal {
  /** What a want is kept under. */
  keyOf(want: Pick<Want, "policy" | "key" | "rate">): string;
  /** The moments that still count. */
  read(now: number): readonly { policy: PolicyName; key: string; moments: readonly number[] }[];
  write(want: Pick<Want, "policy" | "rate">, key: string, at: number): void;
  close(): void;
}

export interface LimitJournalOptions {
  readonly file: string;
  readonly policies: Policies;
  readonly secrets: Secrets;
  readonly log: Log;
}

export function openLimitJournal({ file, policies, secrets, log }: LimitJournalOptions): LimitJournal {
  const database = openDatabase(file, log);
  const insert = database.prepare("insert into moments (policy, key, at, until) values (?, ?, ?, ?)");
  const sweep = database.prepare("delete from moments where until <= ?");
  const trim = database.prepare(
    "delete from moments where rowid in (select rowid from moments order by until desc limit -1 offset ?)",
  );
  let writes = 0;
  const clear = (now: number) => {
    sweep.run(now);
    trim.run(maxMoments);
  };
  return {
    keyOf({ policy, key, rate }) {
      if (rate.windowMs < longWindowMs || policies[policy].subject === "account") return key;
      return secrets.digest("limit-key", `${policy}\n${key}`).toString("base64url");
    },
    read(now) {
      clear(now);
      const rows = database.prepare("select policy, key, at from moments order by at").all();
      const found = new Map<string, { policy: PolicyName; key: string; moments: number[] }>();
      for (const row of rows as { policy: string; key: string; at: number }[]) {
        if (!Object.hasOwn(policies, row.policy)) continue;
        const id = `${row.policy}\n${row.key}`;
        const entry = found.get(id) ?? { policy: row.policy as PolicyName, key: row.key, moments: [] };
        entry.moments.push(row.at);
        found.set(id, entry);
      }
      return [...found.values()];
    },
    write({ policy, rate }, key, at) {
      if (rate.windowMs < longWindowMs || policies[policy].kind !== "window") return;
      try {
        insert.run(policy, key, at, at + rate.windowMs);
        writes++;
        if (writes % writesBetweenSweeps === 0) clear(at);
      } catch (error) {
        // A full disk: the process goes on counting by itself, only a restart would forget.
        log.warn("limit_journal_failed", errorFields(error));
      }
    },
    close: () => database.close(),
  };
}

/** A file that SQLite cannot read holds nothing that must stop a start: it is put aside and begun anew. */
function openDatabase(file: string, log: Log): DatabaseSync {
  try {
    return prepared(new DatabaseSync(file));
  } catch (error) {
    if (!isDamage(error)) throw error;
    log.warn("limit_journal_unreadable", errorFields(error));
    for (const end of ["-wal", "-shm"]) rmSync(`${file}${end}`, { force: true });
    renameSync(file, `${file}.damaged`);
    return prepared(new DatabaseSync(file));
  }
}

/** SQLite's codes for "malformed" and "not a database"; anything else (a full disk) is no reason to forget. */
const damageCodes = [11, 26];

function isDamage(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && damageCodes.includes(Number(error.errcode));
}

function prepared(database: DatabaseSync): DatabaseSync {
  try {
    database.exec(`
      pragma journal_mode = wal;
      pragma synchronous = normal;
      create table if not exists moments (
        policy text not null, key text not null, at integer not null, until integer not null);
      create index if not exists moments_until on moments (until);`);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}
