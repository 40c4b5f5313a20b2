/**
 * Locks between processes of one machine: a SQLite file per name. SQLite takes the lock of the operating system, which ends
 * with the process, so a killed run leaves no lock behind.
 */

import { createHash } from "node:crypto";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";

/** How often a lock is tried again. */
const pollMs = 50;

/** Runs the work while no other run has work of this name. Returns null at once, or after `waitMs`, where one has. */
export async function withLock<T>(
  folder: string,
  name: string,
  work: () => Promise<T>,
  { waitMs = 0 }: { readonly waitMs?: number } = {},
): Promise<{ readonly value: T } | null> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const file = path.join(folder, `${createHash("sha256").update(name).digest("hex").slice(0, 32)}.lock`);
  for (let waited = 0; ; waited += pollMs) {
    const lock = take(file);
    if (lock !== null) {
      try {
        return { value: await work() };
      } finally {
        lock.close();
      }
    }
    if (waited >= waitMs) return null;
    await delay(pollMs);
  }
}

/** The lock; null if somebody has it. */
function take(file: string): DatabaseSync | null {
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    database.exec("pragma locking_mode = exclusive; begin exclusive");
    return database;
  } catch (error) {
    database.close();
    if (error instanceof Error && /locked|busy/i.test(error.message)) return null;
    throw error;
  }
}
