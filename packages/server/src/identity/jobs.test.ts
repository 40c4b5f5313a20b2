import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { systemRandom } from "../kernel/clock.ts";
import { silentLog } from "../kernel/log.ts";
import { createTransactions } from "../kernel/tx.ts";
import { makeBearer } from "../testing/accounts.ts";
import { storedRows } from "../testing/rows.ts";
import { startTestService } from "../testing/running.ts";
import { purgeIdentity } from "./jobs.ts";

const service = await startTestService({ after });
const { clock, database } = service;

test("the purge runs to its end as the service's own role, and deletes from each table what is over and nothing else", async () => {
  const day = (days: number) => new Date(clock.now().getTime() + days * 24 * 60 * 60 * 1000);
  const { accountId, sessionId } = await makeBearer(service);
  const old = await makeBearer(service);
  const run = (text: string, values: readonly unknown[]) => storedRows<{ n: number }>(database, text, values);
  await run("update emanet.sessions set idle_expires_at = $2 where id = $1", [old.sessionId, day(-31)]);
  for (const at of [day(-40), day(1)]) {
    await run(
      `insert into emanet.otp_challenges (id, purpose, code_hash, tries_left, created_at, expires_at)
       values ($1, 'sign_in', sha256('a'), 5, $2, $2)`,
      [randomUUID(), at],
    );
    await run(
      "insert into emanet.links (id, purpose, token_hash, created_at, expires_at) values ($1, 'enrolment', sha256($2), $3, $3)",
      [randomUUID(), Buffer.from(at.toISOString()), at],
    );
    await run(
      "insert into emanet.attempts (id, consecutive, day_started_at, day_count, updated_at) values (sha256($1), 1, $2, 1, $2)",
      [Buffer.from(at.toISOString()), at],
    );
    await run(
      "insert into emanet.invitations (id, account_id, address, again, sent_at) values ($1, $2, sha256('a'), false, $3)",
      [randomUUID(), accountId, at],
    );
    await run("insert into emanet.phone_messages (id, sent_at) values (sha256('a'), $1)", [at]);
  }
  const tables = ["otp_challenges", "links", "attempts", "invitations", "phone_messages"];
  const counts = async () =>
    Promise.all(tables.map(async (table) => (await run(`select count(*)::int as n from emanet.${table}`, []))[0]?.n));
  assert.deepEqual(await counts(), [2, 2, 2, 2, 2]);
  const transactions = createTransactions(database.app, clock, systemRandom, silentLog);
  const { signal } = new AbortController();
  await purgeIdentity.execute(
    {},
    { jobId: "1", attempt: 1, progress: () => {}, signal, clock, log: silentLog, ports: { transactions } },
  );
  assert.deepEqual(await counts(), [1, 1, 1, 1, 1]);
  const left = await storedRows<{ id: string }>(database, "select id from emanet.sessions where id = any($1)", [
    [sessionId, old.sessionId],
  ]);
  assert.deepEqual(left, [{ id: sessionId }]);
});
