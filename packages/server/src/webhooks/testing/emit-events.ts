/** Events for tests, emitted by real transactions on the database of a service. */

import { randomUUID } from "node:crypto";
import { systemRandom } from "../../kernel/clock.ts";
import { createTransactions, type Tx } from "../../kernel/tx.ts";
import { snapshotEvents } from "../../snapshots/index.ts";
import { silentLog, type TestDatabase } from "../../testing/database.ts";
import type { TestService } from "../../testing/running.ts";

const [, snapshotCompleted] = snapshotEvents;

/** Runs a transaction of the account on the service's database. */
export function inAccount<T>(
  service: Pick<TestService, "clock"> & { readonly database: Pick<TestDatabase, "app"> },
  accountId: string | null,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  const transactions = createTransactions(service.database.app, service.clock, systemRandom, silentLog);
  const context = { actor: { kind: "system" }, context: {}, signal: new AbortController().signal } as const;
  return transactions.run(context, { kind: "account", accountId: accountId ?? "" }, work);
}

/** Emits so many `snapshot.completed`, each in a commit of its own, or all in one. */
export async function emitEvents(
  service: Parameters<typeof inAccount>[0],
  accountId: string | null,
  count: number,
  { vaultId = randomUUID(), inOneCommit = false }: { readonly vaultId?: string; readonly inOneCommit?: boolean } = {},
): Promise<void> {
  const emit = (tx: Tx) => {
    if (snapshotCompleted === undefined) throw new Error("there is no such event");
    tx.emit(snapshotCompleted, { snapshot_id: randomUUID(), size_bytes: 1 }, { vaultId });
  };
  const commits = inOneCommit ? 1 : count;
  for (let made = 0; made < commits; made += 1) {
    await inAccount(service, accountId, async (tx) => {
      for (let index = 0; index < count / commits; index += 1) emit(tx);
    });
  }
}
