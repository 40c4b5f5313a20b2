/** The job that writes the records of changed accounts, and the one that raises the beat. */

import type { ObjectStore } from "@emanet/engine/object-store";
import type { ServicePorts } from "../kernel/domain-services.ts";
import { noPayload, retryAfter, task } from "../kernel/jobs/index.ts";
import type { Secrets } from "../kernel/secrets.ts";
import type { Transactions } from "../kernel/tx.ts";
import { listRecords, writeRecord } from "./account-record.ts";
import { raiseBeat } from "./beat.ts";
import { beginRecord, type ChangedAccount, changedAccounts, changesOf, forgetChanges } from "./record-store.ts";

interface Parts {
  readonly transactions: Transactions;
  readonly secrets: Secrets;
  readonly openStore: () => Promise<ObjectStore>;
}

type Ports = ServicePorts & { readonly transactions: Transactions; readonly secrets: Secrets };

/** Of one run: a record takes some ten milliseconds, and the next run is a minute later. */
const recordsPerRun = 500;
/** So many records, each of a large office, over a slow connection. */
const timeoutMs = 10 * 60_000;

/** Writes what changed since the last run. A run that ended in between is continued by the next one. */
export const writeRecords = task<Readonly<Record<string, never>>, Ports>("recovery.write_records", {
  parse: noPayload,
  retry: retryAfter(),
  timeoutMs,
  async run(_payload, { ports, signal }) {
    const context = { actor: { kind: "system" }, context: {}, signal } as const;
    const changed = await ports.transactions.read(context, { kind: "system" }, (tx) =>
      changedAccounts(tx, recordsPerRun),
    );
    for (const each of changed) {
      signal.throwIfAborted();
      await writeOne(partsOf(ports), each, signal);
    }
  },
});

/** Writes the record of an account now: what follows must not be undone by a rebuild. */
export async function writeRecordOf(ports: Ports, accountId: string, signal: AbortSignal): Promise<void> {
  // What changed meanwhile is written again by the job.
  await writeOne(partsOf(ports), { accountId, changes: [] }, signal);
}

function partsOf({ transactions, secrets, services }: Ports): Parts {
  return { transactions, secrets, openStore: services.recovery.openStore };
}

/** Writes what the records of an account (null: none) and of the platform lack. Several calls at once for an account share a run that begins after them. */
export function recordChanges(parts: Parts): (accountId: string | null) => Promise<void> {
  const signal = new AbortController().signal;
  const context = { actor: { kind: "system" }, context: {}, signal } as const;
  const write = async (accountId: string | null): Promise<void> => {
    const lacking = await parts.transactions.read(context, { kind: "system" }, (tx) => changesOf(tx, accountId));
    for (const each of lacking) await writeOne(parts, each, signal);
    // A dump of before this change is older than the store, also if it was made within the same minute.
    if (lacking.length > 0) await raiseBeat(parts, await parts.openStore());
  };
  const running = new Map<string | null, Promise<void>>();
  const waiting = new Map<string | null, Promise<void>>();
  const begin = (accountId: string | null): Promise<void> => {
    waiting.delete(accountId);
    const run = write(accountId).finally(() => {
      if (running.get(accountId) === run) running.delete(accountId);
    });
    running.set(accountId, run);
    return run;
  };
  return (accountId) => {
    const before = running.get(accountId);
    if (before === undefined) return begin(accountId);
    const next = waiting.get(accountId) ?? before.catch(() => undefined).then(() => begin(accountId));
    waiting.set(accountId, next);
    return next;
  };
}

async function writeOne(
  { transactions, secrets, openStore }: Parts,
  { accountId, changes }: ChangedAccount,
  signal: AbortSignal,
): Promise<void> {
  const context = { actor: { kind: "system" }, context: {}, signal } as const;
  const store = await openStore();
  const record = await transactions.run(context, { kind: "system" }, (tx) => beginRecord(tx, accountId));
  await writeRecord(store, secrets, { accountId, ...record });
  await transactions.run(context, { kind: "system" }, (tx) => forgetChanges(tx, changes));
  const places = (await listRecords(store, accountId)).get(accountId) ?? [];
  for (const place of places) if (place.generation < record.generation) await store.delete(place.name);
}

/** Says in the store that a database of this minute exists. */
export const beatStore = task<Readonly<Record<string, never>>, Ports>("recovery.beat", {
  parse: noPayload,
  retry: retryAfter(),
  run: async (_payload, { ports }) => raiseBeat(ports, await ports.services.recovery.openStore()),
});
