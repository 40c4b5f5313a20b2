import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { systemRandom } from "../../packages/server/src/kernel/clock.ts";
import { createTransactions } from "../../packages/server/src/kernel/tx.ts";
import { firstBadRecord, readChain } from "../../packages/server/src/testing/audit-chain.ts";
import { testClock } from "../../packages/server/src/testing/clock.ts";
import { silentLog, testDatabase } from "../../packages/server/src/testing/database.ts";
import { scaled } from "../../packages/server/src/testing/scale.ts";

const database = await testDatabase({ after });
const transactions = createTransactions(database.app, testClock(), systemRandom, silentLog);

test("64 writers in one account leave one chain without a gap, and each act is in it once", async () => {
  const [writers, acts] = [64, scaled(20, 1000)];
  const accountId = randomUUID();
  const signal = new AbortController().signal;
  await Promise.all(
    Array.from({ length: writers }, async (_, writer) => {
      const context = { actor: { kind: "client", id: `writer-${writer}` }, context: {}, signal } as const;
      for (let act = 0; act < acts; act++) {
        const entry = { action: "test.acted", targets: [], metadata: { writer, act } };
        await transactions.run(context, { kind: "account", accountId }, async (tx) => tx.audit(entry));
      }
    }),
  );
  const rows = await readChain(database.app, accountId);
  assert.deepEqual([rows.length, firstBadRecord(rows)], [writers * acts, null]);
  const done = new Set(rows.map(({ metadata }) => JSON.stringify(metadata)));
  assert.equal(done.size, writers * acts);
});
