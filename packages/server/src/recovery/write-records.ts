/** The job that writes the records of changed accounts, and the one that raises the beat. */

import type { ServicePorts } from "../kernel/domain-services.ts";
import { noPayload, retryAfter, task } from "../kernel/jobs/index.ts";
import type { Secrets } from "../kernel/secrets.ts";
import type { Transactions } from "../kernel/tx.ts";
import { listRecords, writeRecord } from "./account-record.ts";
import { raiseBeat } from "./beat.ts";
import { beginRecord, type ChangedAccount, changedAccounts, forgetChanges } from "./record-store.ts";

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
      await writeOne(ports, each, signal);
    }
  },
});

/** Writes the record of an account now: what follows must not be undone by a rebuild. */
export async function writeRecordOf(ports: Ports, accountId: string, signal: AbortSignal): Promise<void> {
  // What changed meanwhile is written again by the job.
  await writeOne(ports, { accountId, changes: [] }, signal);
}

async function writeOne(ports: Ports, { accountId, changes }: ChangedAccount, signal: AbortSignal): Promise<void> {
  const { transactions, secrets, services } = ports;
  const context = { actor: { kind: "system" }, context: {}, signal } as const;
  const store = await services.recovery.openStore();
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
