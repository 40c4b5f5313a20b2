import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, describe, test } from "node:test";
import { tokenFor } from "../testing/accounts.ts";
import { storedRows } from "../testing/rows.ts";
import { settledMessages } from "../testing/sent-messages.ts";
import { isSignatureValid, startReceiver } from "./testing/receiver.ts";
import { webhookTest } from "./testing/webhook-test.ts";

const minuteMs = 60_000;
const env = await webhookTest({ after }, { settings: { EMANET_WEBHOOK_ALLOW: "127.0.0.1/32,localhost" } });

/** Templates of the mails that were sent to people of this account. */
async function mailsTo(personIds: readonly (string | null)[]): Promise<readonly string[]> {
  const mails = await settledMessages(env.service);
  return mails
    .filter(({ to }) => personIds.some((id) => id !== null && to.startsWith(id)))
    .map(({ template }) => template);
}

describe("deliveries", () => {
  test("each event is sent once to each webhook that wants it, in the order of the stream, with the stored bytes", async () => {
    await env.reset();
    const account = await env.account();
    const [one, two, none] = [
      await account.webhook({ url: `${env.receiver.url}/one` }),
      await account.webhook({ url: `${env.receiver.url}/two`, events: ["snapshot.completed", "snapshot.failed"] }),
      await account.webhook({ url: `${env.receiver.url}/none`, events: ["snapshot.failed"] }),
    ];
    await account.emit(20);
    await account.emit(20, { inOneCommit: true });
    await env.receiver.has(80);
    const stored = await storedRows<{ payload: string }>(
      env.service.database,
      "select payload from emanet.events where account_id = $1 order by sequence",
      [account.accountId],
    );
    for (const name of ["one", "two"]) {
      const bodies = env.receiver.requests.filter(({ path }) => path === `/${name}`).map(({ body }) => body.toString());
      assert.deepEqual(
        bodies,
        stored.map(({ payload }) => payload),
        name,
      );
    }
    assert.deepEqual(await account.deliveries(none.id), []);
    for (const { path, ...request } of env.receiver.requests) {
      const { secret } = path === "/one" ? one : two;
      assert.ok(isSignatureValid(secret, { path, ...request }, env.service.clock.now().getTime() / 1000));
      assert.equal(request.headers["webhook-id"], JSON.parse(request.body.toString()).event_id);
      assert.equal(request.headers["content-type"], "application/json");
    }
  });

  test("a webhook of a client that is held to vaults gets the events of these alone", async () => {
    await env.reset();
    const vaultId = randomUUID();
    const owner = await env.account();
    const held = await env.account({ accountId: owner.accountId, vaultIds: [vaultId] });
    await held.webhook();
    await owner.emit(2);
    await owner.emit(1, { vaultId });
    await owner.emit(1);
    await owner.emit(1, { vaultId });
    await env.receiver.has(2);
    const sequences = env.receiver.requests.map(({ body }) => JSON.parse(body.toString()).sequence);
    assert.deepEqual(sequences, [3, 5]);
  });

  test("a receiver that hangs delays no other, on its own host neither", async () => {
    await env.reset();
    const [stuck, well] = [await env.account(), await env.account()];
    env.receiver.answer = ({ path }) => (path === "/stuck" ? "hang" : 200);
    await stuck.webhook({ url: `${env.receiver.url}/stuck` });
    const { id } = await well.webhook({ url: `${env.receiver.url}/well` });
    await stuck.emit(3);
    await env.receiver.has(1);
    await well.emit(10);
    await env.until(async () => (await well.deliveries(id, "&status=delivered")).length === 10);
    assert.equal(env.receiver.requests.filter(({ path }) => path === "/stuck").length, 1);
  });

  test("a connection is used again, and one that the receiver closed costs no attempt", async () => {
    await env.reset();
    const account = await env.account();
    const { id } = await account.webhook();
    const before = env.receiver.connections();
    await account.emit(10);
    await env.receiver.has(10);
    assert.ok(env.receiver.connections() <= before + 2);
    env.receiver.answer = () => ({ status: 200, headers: { connection: "close" } });
    await account.emit(3);
    await env.until(async () => (await account.deliveries(id, "&status=delivered")).length === 13);
    assert.equal(env.receiver.requests.length, 13);
  });
});

/** Every attempt of one event, by the clock of the test. */
describe("the schedule", () => {
  test("six retries at their announced times, a mail at the third failure, then disabled, mailed, enabled and replayed", async () => {
    await env.reset();
    const { service, receiver } = env;
    const account = await env.account();
    const owner = await tokenFor(service, { accountId: account.accountId, role: "owner" });
    assert.ok(owner.personId);
    const { id } = await account.webhook();
    receiver.answer = () => 503;
    await account.emit(1);
    const steps = [1, 5, 30, 120, 360, 1440];
    for (const [at, minutes] of steps.entries()) {
      const attempt = at + 1;
      const row = await env.until(async () => {
        const [found] = await account.deliveries(id);
        return found?.attempt_count === attempt && found;
      });
      assert.equal(receiver.requests.length, attempt, "no attempt came early");
      const announced = Date.parse(row.next_attempt_at ?? "");
      const waitMs = announced - service.clock.now().getTime();
      assert.ok(waitMs >= minutes * minuteMs && waitMs <= minutes * minuteMs * 1.1 + 1000, `${waitMs} for ${minutes}`);
      assert.deepEqual(await mailsTo([owner.personId]), attempt >= 3 ? ["webhook_warning"] : []);
      service.clock.advance(waitMs - 1);
      // The worker has looked at this time when it has sent another event.
      const probe = await account.webhook({ url: `${receiver.url}/probe` });
      const before = receiver.requests.length;
      receiver.answer = ({ path }) => (path === "/probe" ? 200 : 503);
      await account.call("POST", `/v1/webhooks/${probe.id}/test`);
      await receiver.has(before + 1);
      assert.equal(receiver.requests.pop()?.path, "/probe", "a millisecond early nothing is sent");
      await account.call("DELETE", `/v1/webhooks/${probe.id}`);
      service.clock.advance(1);
    }
    await receiver.has(7);
    const disabled = await env.until(async () => {
      const { json } = await account.call("GET", `/v1/webhooks/${id}`);
      return json?.status === "disabled" && json;
    });
    assert.equal(disabled.disabled_reason, "delivery_failed");
    assert.equal((await account.deliveries(id))[0]?.status, "failed");
    assert.deepEqual(await mailsTo([owner.personId]), ["webhook_warning", "webhook_disabled"]);
    assert.equal(new Set(receiver.requests.map(({ body }) => body.toString())).size, 1, "the body never changes");
    const times = receiver.requests.map(({ headers }) => Number(headers["webhook-timestamp"]));
    assert.equal(new Set(times).size, 7, "t is the time of the attempt");
    receiver.answer = () => 200;
    await account.emit(1);
    await account.call("POST", `/v1/webhooks/${id}/enable`);
    const replayed = await account.call("POST", `/v1/webhooks/${id}/replay`, { from: "2026-11-01T00:00:00Z" });
    assert.deepEqual(replayed.json, { queued: 2 });
    await receiver.has(9);
  });

  test("a person is mailed once about many failing events, and again after a success in between", async () => {
    await env.reset();
    const account = await env.account();
    const owner = await tokenFor(env.service, { accountId: account.accountId, role: "owner" });
    const { id } = await account.webhook();
    env.receiver.answer = () => 503;
    await account.emit(5);
    const failed = (count: number) =>
      env.until(async () => (await account.deliveries(id)).every(({ attempt_count }) => attempt_count === count));
    await failed(1);
    env.service.clock.advance(2 * minuteMs);
    await failed(2);
    env.service.clock.advance(6 * minuteMs);
    await failed(3);
    assert.deepEqual(await mailsTo([owner.personId]), ["webhook_warning"]);
  });
});

describe("what a receiver answers", () => {
  test("redirects and errors are failures, 204 is a success, 410 disables at once", async () => {
    await env.reset();
    const elsewhere = await startReceiver({ after });
    const account = await env.account();
    const owner = await tokenFor(env.service, { accountId: account.accountId, role: "owner" });
    const { id } = await account.webhook();
    const answers = [204, { status: 302, headers: { location: `${elsewhere.url}/` } }, 404, 410];
    env.receiver.answer = ({ body }) => answers[JSON.parse(body.toString()).sequence - 1] ?? 200;
    await account.emit(5);
    const rows = await env.until(async () => {
      const found = await account.deliveries(id);
      return found[3]?.status === "failed" && found;
    });
    assert.deepEqual(
      rows.map(({ status, last_attempt }) => [status, last_attempt?.error ?? null]),
      [
        ["delivered", null],
        ["retrying", "redirect"],
        ["retrying", "status"],
        ["failed", "status"],
        ["pending", null],
      ],
    );
    const { json } = await account.call("GET", `/v1/webhooks/${id}`);
    assert.deepEqual([json?.status, json?.disabled_reason], ["disabled", "gone"]);
    assert.equal(elsewhere.connections(), 0);
    assert.deepEqual(await mailsTo([owner.personId]), ["webhook_disabled"]);
  });

  test("Retry-After is honoured, at most twice the step, never less than the step", async () => {
    await env.reset();
    const account = await env.account();
    const { id } = await account.webhook();
    const asked = ["90", "3600", "1", new Date(env.service.clock.now().getTime() + 100_000).toUTCString(), "soon"];
    env.receiver.answer = ({ body }) => ({
      status: 503,
      headers: { "retry-after": asked[JSON.parse(body.toString()).sequence - 1] ?? "" },
    });
    await account.emit(asked.length);
    const rows = await env.until(async () => {
      const found = await account.deliveries(id, "&status=retrying");
      return found.length === asked.length && found;
    });
    const waits = rows.map(
      ({ next_attempt_at: at }) => (Date.parse(at ?? "") - env.service.clock.now().getTime()) / 1000,
    );
    const within = (at: number, least: number, most: number) =>
      assert.ok((waits[at] ?? 0) >= least && (waits[at] ?? 0) <= most, `${asked[at]}: ${waits[at]}`);
    within(0, 90, 91);
    within(1, 120, 121);
    within(2, 60, 67);
    within(3, 99, 101);
    within(4, 60, 67);
  });

  test("an answer without end is dropped after 1 MiB, and a success all the same", async () => {
    await env.reset();
    const account = await env.account();
    const { id } = await account.webhook();
    env.receiver.answer = () => ({ status: 200, headers: {}, body: Buffer.alloc(8 * 1024 * 1024) });
    await account.emit(1);
    await env.until(async () => (await account.deliveries(id))[0]?.status === "delivered");
  });

  test("an answer that never ends holds its webhook for less than a second, and hints and headers without measure are refused", async () => {
    await env.reset();
    const account = await env.account();
    const { id } = await account.webhook();
    env.receiver.answer = () => ({ status: 200, headers: {}, hasNoEnd: true });
    // More than the patience of the test together, if each took the whole time of an attempt.
    await account.emit(5);
    await env.until(async () => (await account.deliveries(id, "&status=delivered")).length === 5);
    const answers = [
      { headers: {}, hints: 3 },
      { headers: {}, hints: 50 },
      { headers: { "x-long": "x".repeat(17_000) } },
    ];
    const ends: unknown[] = [];
    for (const [at, answer] of answers.entries()) {
      env.receiver.answer = () => ({ status: 200, ...answer });
      await account.emit(1);
      const done = await env.until(async () => (await account.deliveries(id))[5 + at]?.last_attempt);
      ends.push(done.error);
    }
    assert.deepEqual(ends, [null, "protocol", "protocol"]);
  });

  test("nobody there, a name without an address, and a certificate of another authority have names of their own", async () => {
    await env.reset();
    const other = await startReceiver({ after });
    const account = await env.account();
    const classOf = async (url: string) => {
      const { id } = await account.webhook({ url });
      await account.call("POST", `/v1/webhooks/${id}/test`);
      const row = await env.until(async () => {
        const [found] = await account.deliveries(id);
        return found?.last_attempt && found;
      });
      return row.last_attempt?.error;
    };
    assert.equal(await classOf("https://127.0.0.1:1/"), "connection");
    assert.equal(await classOf(other.url), "tls");
    assert.equal(await classOf("https://hooks.invalid-zone-of-ours.example/"), "dns");
    assert.equal(await classOf(`https://localhost:${env.receiver.port}/`), null);
  });
});

describe("in whose name a webhook sends", () => {
  const lost = [
    ["a member who was removed", "update emanet.people set state = 'removed' where id = $1"],
    ["a member who became a viewer", "update emanet.people set role = 'viewer' where id = $1"],
    ["a client that was revoked", "update emanet.oauth_clients set revoked_at = now() where id = $1"],
    ["a client that lost the scope", "update emanet.oauth_clients set scopes = '{webhooks:read}' where id = $1"],
    ["a client that is now held to vaults", "update emanet.oauth_clients set vault_ids = '{}' where id = $1"],
  ] as const;
  for (const [name, lose] of lost) {
    test(`${name}: the webhook is disabled, owners are mailed, and nothing is sent`, async () => {
      await env.reset();
      const owner = await tokenFor(env.service, { role: "owner" });
      const accountId = owner.accountId ?? "";
      const isMember = name.includes("member");
      const by = await tokenFor(env.service, isMember ? { accountId, role: "manager" } : { accountId, as: "client" });
      const json = { url: `${env.receiver.url}/hook`, events: ["*"] };
      const made = await env.service.send("POST", "/v1/webhooks", { json, headers: by.auth });
      await storedRows(env.service.database, lose, [isMember ? by.personId : by.clientId]);
      const account = await env.account({ accountId });
      await account.emit(1);
      const webhook = await env.until(async () => {
        const { json: shown } = await account.call("GET", `/v1/webhooks/${made.json?.id}`);
        return shown?.status === "disabled" && shown;
      });
      assert.equal(webhook.disabled_reason, "creator_lost_access");
      assert.deepEqual(await mailsTo([owner.personId]), ["webhook_disabled"]);
      assert.equal(env.receiver.requests.length, 0);
      // Who enables it sends in their own name.
      await account.call("POST", `/v1/webhooks/${made.json?.id}/enable`);
      await env.receiver.has(1);
    });
  }

  test("an account in early access gets nothing, and what waited when it ends", async () => {
    await env.reset();
    const account = await env.account();
    await account.webhook();
    const set = (value: boolean) =>
      storedRows(env.service.database, "update emanet.accounts set early_access = $2 where id = $1", [
        account.accountId,
        value,
      ]);
    await set(true);
    await account.emit(1);
    const probe = await env.account();
    await probe.webhook({ url: `${env.receiver.url}/probe` });
    await probe.emit(1);
    await env.receiver.has(1);
    assert.deepEqual(
      env.receiver.requests.map(({ path }) => path),
      ["/probe"],
    );
    await set(false);
    env.service.clock.advance(minuteMs);
    await env.receiver.has(2);
  });
});
