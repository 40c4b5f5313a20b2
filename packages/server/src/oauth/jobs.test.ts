import assert from "node:assert/strict";
import { after, test } from "node:test";
import { systemRandom } from "../kernel/clock.ts";
import { silentLog } from "../kernel/log.ts";
import { createTransactions } from "../kernel/tx.ts";
import { testClock } from "../testing/clock.ts";
import { testDatabase } from "../testing/database.ts";
import { purgeOauth } from "./jobs.ts";
import { asSystem } from "./testing.ts";

const database = await testDatabase({ after });
const clock = testClock();

test("the purge deletes what expired a day ago, however much it is, and nothing else", async () => {
  const at = (hours: number) => new Date(clock.now().getTime() + hours * 60 * 60 * 1000);
  await asSystem({ database }, [
    `insert into emanet.oauth_artifacts (kind, id_hash, sealed_payload, created_at, expires_at)
     select 'Session', sha256(('old' || n)::bytea), '', $1, $1 from generate_series(1, 2500) n`,
    [at(-25)],
  ]);
  await asSystem({ database }, [
    `insert into emanet.oauth_artifacts (kind, id_hash, sealed_payload, created_at, expires_at)
     values ('DeviceCode', sha256('late'), '', $1, $1), ('DeviceCode', sha256('live'), '', $1, $2)`,
    [at(-23), at(1)],
  ]);
  await asSystem({ database }, [
    "insert into emanet.oauth_user_code_tries (id, failures, started_at) values (sha256('a'), 5, $1), (sha256('b'), 5, $2)",
    [at(-1), at(0)],
  ]);
  const transactions = createTransactions(database.app, clock, systemRandom, silentLog);
  const { signal } = new AbortController();
  await purgeOauth.execute(
    {},
    { jobId: "1", attempt: 1, progress: () => {}, signal, clock, log: silentLog, ports: { transactions } },
  );
  const left = await asSystem({ database }, ["select kind from emanet.oauth_artifacts", []]);
  assert.deepEqual(left, [{ kind: "DeviceCode" }, { kind: "DeviceCode" }]);
  assert.equal((await asSystem({ database }, ["select from emanet.oauth_user_code_tries", []])).length, 1);
});
