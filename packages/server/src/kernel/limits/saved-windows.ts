/**
 * Long windows (an hour, a day) have to outlive the process. The time of each counted request is saved in a small SQLite
 * file in the data folder. It is written when the request is counted and read once at the start. A killed process loses
 * nothing, because the operating system has the data. A power cut can lose the last few, so that a subject gets them
 * again; no customer's data depends on it.
 *
 * Addresses and text from a body are personal data: the file has only a keyed hash of them.
 */

import { renameSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { errorFields, type Log } from "../log.ts";
import type { Secrets } from "../secrets.ts";
import type { Policies, PolicyName } from "./policies.ts";
import type { LimitCounter } from "./store.ts";

/** A shorter window is over soon after a restart; writing each of its requests would cost more than it saves. */
const longWindowMs = 10 * 60_000;

/** Limits the file to some tens of megabytes, however many addresses send requests. */
const maxMoments = 500_000;

/** How often expired rows are deleted. */
const writesBetweenSweeps = 5_000;

export interface SavedWindows {
  /** The key under which a counter is saved. */
  keyOf(counter: Pick<LimitCounter, "policy" | "key" | "rate">): string;
  /** The times that still count. */
  read(now: number): readonly { policy: PolicyName; key: string; moments: readonly number[] }[];
  write(counter: Pick<LimitCounter, "policy" | "rate">, key: string, at: number): void;
  close(): void;
}

export interface SavedWindowsOptions {
  readonly file: string;
  readonly policies: Policies;
  readonly secrets: Secrets;
  readonly log: Log;
}

export function openSavedWindows({ file, policies, secrets, log }: SavedWindowsOptions): SavedWindows {
  const database = openDatabase(file, log);
  const insert = database.prepare("insert into moments (policy, key, at, until) values (?, ?, ?, ?)");
  const deleteExpired = database.prepare("delete from moments where until <= ?");
  const trim = database.prepare(
    "delete from moments where rowid in (select rowid from moments order by until desc limit -1 offset ?)",
  );
  let writes = 0;
  const clear = (now: number) => {
    deleteExpired.run(now);
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
        // For example a full disk. The process still counts in memory; only a restart would start empty.
        log.warn("limit_windows_not_saved", errorFields(error));
      }
    },
    close: () => database.close(),
  };
}

/** A damaged file does not stop the start: it is renamed, and a new one is made. */
function openDatabase(file: string, log: Log): DatabaseSync {
  try {
    return prepared(new DatabaseSync(file));
  } catch (error) {
    if (!isDamage(error)) throw error;
    log.warn("limit_windows_unreadable", errorFields(error));
    for (const end of ["-wal", "-shm"]) rmSync(`${file}${end}`, { force: true });
    renameSync(file, `${file}.damaged`);
    return prepared(new DatabaseSync(file));
  }
}

/** SQLite's codes for "malformed" and "not a database". After other errors (a full disk) the file is kept. */
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
