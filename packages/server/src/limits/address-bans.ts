/**
 * The banned addresses, kept in the memory of this process so that a request without a credential needs no query. They
 * are read again after each change: of this process, before it is answered; of another process, when its notice comes.
 */

import type { Clock } from "../kernel/clock.ts";
import type { AddressBans } from "../kernel/limits/bans.ts";
import { errorFields, type Log } from "../kernel/log.ts";
import type { RunTx, Transactions } from "../kernel/tx.ts";
import { addressBansChanged, type BanRow, holds, listAddressBans } from "./ban-store.ts";

/** Time between two reads without a notice: the connection that brings notices may be lost before the process sees it. */
const readEveryMs = 30_000;

/** Each read overlaps the last one by this time: another process's clock can be behind, and its commit can come late. */
const overlapMs = 60_000;

/** No ban of an address lasts longer, so older bans have ended. */
const longestMs = 24 * 60 * 60 * 1000;

/** Most addresses in memory, about 20 MB: more than a process needs against a flood. */
const maxAddresses = 100_000;

export interface AddressBanList extends AddressBans {
  /** Stops reading. A read that is under way may fail from now on: its rows are not needed. */
  close(): Promise<void>;
}

export async function openAddressBans(options: {
  readonly run: RunTx;
  readonly transactions: Pick<Transactions, "onChange">;
  readonly clock: Clock;
  readonly log: Log;
}): Promise<AddressBanList> {
  const { run, transactions, clock, log } = options;
  const known = new Map<string, BanRow>();
  let since = new Date(0);
  const note = (row: BanRow) => {
    known.delete(row.subject);
    if (holds(row, clock.now())) known.set(row.subject, row);
    if (known.size > maxAddresses) known.delete(known.keys().next().value ?? "");
  };
  const read = async () => {
    const now = clock.now().getTime();
    const from = new Date(Math.max(since.getTime() - overlapMs, now - longestMs - overlapMs));
    const rows = await run({ kind: "platform" }, (tx) => listAddressBans(tx, from, maxAddresses));
    // Newest first; the newest entry of an address counts.
    for (const row of rows.toReversed()) note(row);
    since = new Date(now);
  };
  await read();
  let isClosed = false;
  const reading = new Set<Promise<void>>();
  const readOrLog = () => {
    const work = read()
      .catch((error: unknown) => {
        if (!isClosed) log.warn("bans_unread", errorFields(error));
      })
      .finally(() => reading.delete(work));
    reading.add(work);
    return work;
  };
  transactions.onChange(addressBansChanged, readOrLog);
  const timer = setInterval(() => {
    if (reading.size === 0) void readOrLog();
  }, readEveryMs);
  timer.unref();
  return {
    async close() {
      isClosed = true;
      clearInterval(timer);
      await Promise.all(reading);
    },
    isBanned(addressKey) {
      const row = known.get(addressKey);
      return row !== undefined && holds(row, clock.now());
    },
  };
}
