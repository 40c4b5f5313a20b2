/** What the tests of the projection share: a projector that a test runs itself, and all rows of a vault, with their names opened. */

import assert from "node:assert/strict";
import { type RawBuilder, sql } from "kysely";
import { systemRandom } from "../kernel/clock.ts";
import { createTransactions, type Tx } from "../kernel/tx.ts";
import type { SnapshotTest } from "../snapshots/testing.ts";
import { silentLog } from "../testing/database.ts";
import { PathKeys } from "./path-keys.ts";
import { Projector, type ProjectorSources } from "./projector.ts";
import { openKey } from "./sealed-key.ts";

type TestAccount = Pick<SnapshotTest, "service" | "accountId">;

const context = { actor: { kind: "system" }, context: {}, signal: new AbortController().signal } as const;

/** Runs work with row access to the account of the test. */
export async function inAccount<T>({ service, accountId }: TestAccount, work: (tx: Tx) => Promise<T>): Promise<T> {
  const { secrets } = service.running;
  const transactions = createTransactions(service.database.app, service.clock, systemRandom, silentLog, secrets);
  return transactions.run(context, { kind: "account", accountId }, work);
}

export async function accountRows<Row>(env: TestAccount, query: RawBuilder<Row>): Promise<readonly Row[]> {
  return inAccount(env, async (tx) => (await query.execute(tx.db)).rows);
}

/** A process that makes the projection of a vault. */
export async function projectorOf(
  env: TestAccount,
  vaultId: string,
  more: Partial<ProjectorSources> = {},
): Promise<Projector> {
  const { services, secrets } = env.service.running;
  assert.ok(services !== null);
  return new Projector({
    ...{ accountId: env.accountId, vaultId, secrets, random: systemRandom, signal: context.signal },
    ...{ vault: await services.vaults.open(env.accountId, vaultId), onStep: () => undefined },
    onDamage: () => undefined,
    run: (work) => inAccount(env, work),
    read: (work) => inAccount(env, work),
    ...more,
  });
}

interface VersionRow {
  readonly source_id: string;
  readonly key: Buffer;
  readonly sealed: Buffer;
  readonly line: string;
}

/** Every version of a vault as a line of text, sorted. */
export async function allVersions(env: TestAccount, vaultId: string): Promise<string[]> {
  const { secrets } = env.service.running;
  const [projection] = await accountRows(
    env,
    sql<{ vault: number; sealed_key: Buffer; vault_id: string }>`select * from projections where vault_id = ${vaultId}`,
  );
  if (projection === undefined) return [];
  const keys = new PathKeys(openKey(secrets, projection));
  const rows = await accountRows(
    env,
    sql<VersionRow>`
      select p.source_id, p.key, p.sealed, concat_ws(' ', v.since, coalesce(v.until::text, 'now'), v.type, v.size_bytes,
        v.mtime_seconds, v.mode, encode(v.hash, 'hex')) as line
      from projected_paths p left join projected_versions v on v.vault = p.vault and v.path = p.path
      where p.vault = ${projection.vault}`,
  );
  return rows
    .map(({ source_id: source, key, sealed, line }) => `${source} ${keys.unseal(key, sealed)} ${line}`)
    .toSorted();
}
