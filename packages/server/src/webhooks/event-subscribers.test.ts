import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { sql } from "kysely";
import { systemRandom } from "../kernel/clock.ts";
import { listenForChanges } from "../kernel/database/change-notices.ts";
import { createTransactions } from "../kernel/tx.ts";
import { inReverse } from "../testing/cleanup.ts";
import { silentLog } from "../testing/database.ts";
import { storedRows } from "../testing/rows.ts";
import { loadDue } from "./delivery-store.ts";
import { webhookTest } from "./testing/webhook-test.ts";

const cleanup = inReverse({ after });
const { service, receiver, account, until } = await webhookTest(cleanup);

const received = () => receiver.requests.map(({ body }) => JSON.parse(body.toString()).sequence as number);

describe("an account's events", () => {
  test("go to its webhooks from the first one on, and to none after the last one is deleted", async () => {
    const office = await account();
    await office.emit(2);
    const first = await office.webhook();
    await office.emit(1);
    await office.emit(3, { inOneCommit: true });
    await until(async () => received().length >= 4);
    const second = await office.webhook();
    assert.equal((await office.call("DELETE", `/v1/webhooks/${first.id}`)).status, 204);
    await office.emit(1);
    await until(async () => received().length >= 5);
    assert.equal((await office.call("DELETE", `/v1/webhooks/${second.id}`)).status, 204);
    await office.emit(2);
    const third = await office.webhook();
    await office.emit(1);
    await until(async () => received().length >= 6);
    assert.deepEqual(received(), [3, 4, 5, 6, 7, 10]);
    assert.deepEqual(
      (await office.deliveries(third.id)).map(({ sequence }) => sequence),
      [10],
    );
  });

  test("an event that is appended while the first webhook is made is before it or reaches it", async () => {
    for (let round = 0; round < 5; round += 1) {
      const office = await account();
      const [hook] = await Promise.all([office.webhook(), office.emit(6)]);
      const [row] = await storedRows<{ sequence: number; is_followed: boolean }>(
        service.database,
        "select sequence, has_subscribers as is_followed from emanet.event_heads where account_id = $1",
        [office.accountId],
      );
      assert.deepEqual({ ...row }, { sequence: 6, is_followed: true });
      await office.emit(1);
      const sequences = (await office.deliveries(hook.id)).map(({ sequence }) => sequence);
      const first = sequences[0] ?? 0;
      assert.deepEqual(
        sequences,
        Array.from({ length: 8 - first }, (_, at) => first + at),
      );
    }
  });
});

describe("what a worker loads", () => {
  test("is in the order of the stream, however PostgreSQL joins", async () => {
    const office = await account();
    const { id } = await office.webhook();
    // No worker takes it.
    await storedRows(
      service.database,
      "update emanet.webhook_queues set worker = webhook_id, leased_until = now() + interval '1 day' where webhook_id = $1",
      [id],
    );
    await office.emit(1_000, { inOneCommit: true });
    const transactions = createTransactions(service.database.app, service.clock, systemRandom, silentLog);
    const context = { actor: { kind: "system" }, context: {}, signal: new AbortController().signal } as const;
    const due = await transactions.run(context, { kind: "system" }, async (tx) => {
      for (const name of ["enable_nestloop", "enable_mergejoin", "enable_sort", "enable_memoize"]) {
        await sql`select set_config(${name}, 'off', true)`.execute(tx.db);
      }
      await sql`select set_config('work_mem', '64kB', true)`.execute(tx.db);
      return loadDue(tx, [{ id, firsts: 900 }], 20);
    });
    const sequences = due.map(({ payload }) => JSON.parse(payload ?? "{}").sequence);
    assert.deepEqual(
      sequences,
      Array.from({ length: 900 }, (_, at) => at + 1),
    );
  });
});

describe("workers of other processes", () => {
  test("are told that there is something to send, once for a commit, and again later", async () => {
    const notices: string[] = [];
    const listener = await listenForChanges({
      ...{ target: service.database.target, log: silentLog, onMissed: () => assert.fail("nothing was missed") },
      onNotice: ({ what }) => notices.push(what),
    });
    cleanup.after(() => listener.close());
    const told = () => notices.filter((what) => what === "delivery").length;
    const forget = () => storedRows(service.database, "update emanet.webhook_wakeups set notified_at = 'epoch'");
    const office = await account();
    await office.webhook();
    await office.webhook();
    for (const times of [1, 2]) {
      await until(async () => {
        const held = "select from emanet.webhook_queues where account_id = $1 and due_at is not null";
        return (await storedRows(service.database, held, [office.accountId])).length === 0;
      });
      await forget();
      await office.emit(1);
      await until(async () => told() >= times);
      assert.equal(told(), times);
    }
  });
});
