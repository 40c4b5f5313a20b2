import assert from "node:assert/strict";
import { after, test } from "node:test";
import { systemRandom } from "../kernel/clock.ts";
import { createTransactions } from "../kernel/tx.ts";
import { silentLog } from "../testing/database.ts";
import { catalogListeners } from "./catalog-listeners.ts";
import { snapshotTest } from "./testing.ts";

const env = await snapshotTest({ after });
const { clock, running, database } = env.service;
const transactions = createTransactions(database.app, clock, systemRandom, silentLog, running.secrets);

async function newSnapshot(): Promise<{ readonly id: string; readonly vault_id: string }> {
  const answer = await env.send("POST", "/v1/snapshots", { source: "a" });
  assert.equal(answer.status, 201, answer.body.toString());
  return answer.json as { id: string; vault_id: string };
}

/** A unit of so many bytes is registered for an upload of the snapshot. */
async function add({ id, vault_id: vaultId }: { id: string; vault_id: string }, storedBytes: number): Promise<void> {
  const context = { actor: { kind: "system" }, context: {}, signal: new AbortController().signal } as const;
  await transactions.run(context, { kind: "account", accountId: env.accountId }, async (tx) =>
    catalogListeners.unitAdded?.(tx, { vaultId, upload: id, storedBytes }),
  );
}

async function countedBytes({ id, vault_id: vaultId }: { id: string; vault_id: string }) {
  const [row] = await env.rows<{ snapshot: number; vault: number }>(
    `select s.stored_bytes::float8 as snapshot, v.stored_bytes::float8 as vault
     from emanet.snapshots s join emanet.vaults v on v.id = $2 where s.id = $1`,
    [id, vaultId],
  );
  return row;
}

test("the bytes of a unit count for its snapshot and its vault", async () => {
  const snapshot = await newSnapshot();
  await add(snapshot, 1000);
  await add(snapshot, 24);
  assert.deepEqual(await countedBytes(snapshot), { snapshot: 1024, vault: 1024 });
});

test("a unit of a snapshot that was canceled meanwhile is refused, and none of its bytes count", async () => {
  const snapshot = await newSnapshot();
  const before = await countedBytes(snapshot);
  assert.equal((await env.send("POST", `/v1/snapshots/${snapshot.id}/cancel`)).status, 200);
  await assert.rejects(add(snapshot, 1000), { code: "unknown_upload" });
  assert.deepEqual(await countedBytes(snapshot), before);
});
