import assert from "node:assert/strict";
import { createCipheriv } from "node:crypto";
import { after, test } from "node:test";
import { auditOf, eventsOf, runTask } from "../snapshots/testing.ts";
import { listIn, objectIn } from "../testing/lists.ts";
import { settledMessages } from "../testing/sent-messages.ts";
import { applyRetention } from "./apply.ts";
import { dayMs, hourMs, retentionTest } from "./testing.ts";

const env = await retentionTest({ after });
const { accountId, vaultId } = env;
const ofVault = `/v1/vaults/${vaultId}/retention`;

/** Bytes that neither repeat nor compress. */
function bytesOf(seed: number, length = 50_000): Buffer {
  return createCipheriv("aes-128-ctr", Buffer.alloc(16, seed), Buffer.alloc(16)).update(Buffer.alloc(length));
}

const waiting = async () =>
  listIn<{ id: string; kind: string; due_at: string }>(await env.call("GET", "/v1/pending-acts?state=waiting"), "data");
const sourceOf = async (id: string) => {
  const [row] = await env.rows<{ id: string }>("select source_id as id from emanet.snapshots where id = $1", [id]);
  return row?.id ?? "";
};
const actionsOf = async () => (await auditOf(env)).map((each) => each.split(" ")[0]);

test("a policy takes effect after 72 hours, not a minute before; then the simulated snapshot goes and exactly its bytes", async () => {
  const old = await env.backUp("a", { f: bytesOf(1) });
  env.wait(20 * dayMs);
  const kept = await env.backUp("a", { f: bytesOf(2) });
  const source = await sourceOf(old);
  const path = `/v1/sources/${source}/retention`;
  const simulation = await env.call("POST", "/v1/retention/simulate", { source_id: source, policy: { keep_last: 1 } });
  assert.deepEqual([simulation.json?.removed, simulation.json?.kept], [1, 1]);
  const put = await env.putPolicy(path, { keep_last: 1 });
  assert.equal(put.status, 202, put.body.toString());
  const [act] = await waiting();
  assert.equal(act?.kind, "policy_change");
  const mails = (await settledMessages(env.service)).filter(({ text }) => text.includes(act?.id ?? "-"));
  assert.ok(mails.length > 0 && mails.every(({ text }) => text.includes(act?.due_at ?? "-")));
  env.wait(72 * hourMs - 60_000);
  await env.apply();
  assert.equal(await env.status(old), "completed");
  const before = await env.storedBytes();
  env.wait(60_000);
  await env.apply();
  assert.equal(await env.status(old), "expired");
  assert.equal((await env.call("GET", `/v1/snapshots/${old}/files/f`)).json?.code, "snapshot_expired");
  assert.equal(before - (await env.storedBytes()), simulation.json?.freed_bytes, "simulated exactly");
  assert.ok(Number(simulation.json?.freed_bytes) > 50_000);
  assert.deepEqual((await env.call("GET", `/v1/snapshots/${kept}/files/f`)).body, bytesOf(2));
  const actions = await actionsOf();
  for (const action of ["act.scheduled", "act.done", "snapshot.expired", "snapshot.removed"])
    assert.ok(actions.includes(action), action);
});

test("holds, locks and restores that can be downloaded are spared; a release waits 72 hours and an owner cancels it", async () => {
  const [held, locked, restored] = [
    await env.backUp("b", { f: "1" }),
    await env.backUp("c", { f: "2" }),
    await env.backUp("d", { f: "3" }),
  ] as [string, string, string];
  env.wait(20 * dayMs);
  for (const source of ["b", "c", "d"]) await env.backUp(source, { f: "4" });
  assert.equal((await env.call("PUT", `/v1/snapshots/${held}/hold`, { reason: "İnceleme" })).status, 200);
  const until = new Date(env.service.clock.now().getTime() + 30 * dayMs).toISOString();
  assert.equal((await env.call("PUT", `/v1/snapshots/${locked}/lock`, { locked_until: until })).status, 200);
  for (const id of [held, locked, restored])
    await env.putPolicy(`/v1/sources/${await sourceOf(id)}/retention`, { keep_last: 1 });
  env.wait(72 * hourMs);
  const order = { snapshot_id: restored, target: { kind: "download", format: "tar" } };
  assert.equal((await env.call("POST", "/v1/restore", order)).status, 202);
  for (let day = 0; day < 3; day++) {
    await env.apply();
    env.wait(dayMs);
  }
  for (const id of [held, locked, restored]) assert.equal(await env.status(id), "completed");
  const release = await env.call("DELETE", `/v1/snapshots/${held}/hold`);
  assert.equal(release.status, 202);
  assert.equal((await env.call("POST", `/v1/pending-acts/${release.json?.id}/cancel`)).json?.state, "canceled");
  env.wait(5 * dayMs);
  for (let day = 0; day < 2; day++) {
    await env.apply();
    env.wait(dayMs);
  }
  assert.deepEqual([await env.status(held), await env.status(restored)], ["completed", "expired"], "its time is over");
  await env.call("DELETE", `/v1/snapshots/${held}/hold`);
  env.wait(72 * hourMs);
  await env.apply();
  assert.equal((await env.call("GET", `/v1/snapshots/${locked}`)).json?.status, "completed", "its lock has not ended");
  env.wait(dayMs);
  await env.apply();
  assert.equal(await env.status(held), "expired");
});

test("at most a tenth of the vault goes in a day, the oldest first", async () => {
  const ids: string[] = [];
  for (let i = 0; i < 12; i++) {
    ids.push(await env.backUp("flood", { f: `${i}` }));
    env.wait(hourMs);
  }
  env.wait(20 * dayMs);
  await env.backUp("flood", { f: "last" });
  await env.putPolicy(`/v1/sources/${await sourceOf(ids[0] ?? "")}/retention`, { keep_last: 1 });
  env.wait(72 * hourMs);
  const gone = async () => (await Promise.all(ids.map(env.status))).filter((status) => status === "expired").length;
  const [row] = await env.rows<{ count: number }>(
    "select count(*)::integer as count from emanet.snapshots where vault_id = $1 and state = 'completed'",
    [vaultId],
  );
  const share = Math.floor((row?.count ?? 0) / 10);
  assert.ok(share >= 1 && share < 12);
  await env.apply();
  await env.apply();
  assert.equal(await gone(), share, "twice on one day");
  assert.equal(await env.status(ids[0] ?? ""), "expired");
  env.wait(dayMs);
  await env.apply();
  assert.ok((await gone()) > share);
});

test("a snapshot that lost most files: event, mail, nothing of its source expires until its acceptance has waited 72 hours", async () => {
  const files = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`f${i}`, `${i}`]));
  const good = await env.backUp("e", files);
  env.wait(20 * dayMs);
  const bad = await env.backUp("e", { f0: "0" });
  const seen = (await eventsOf(env)).filter(({ event }) => event === "source.suspicious");
  assert.deepEqual(
    seen.map(({ snapshot_id, lost, changed }) => [snapshot_id, lost, changed]),
    [[bad, 59, 0]],
  );
  assert.ok((await settledMessages(env.service)).some(({ text }) => text.includes(bad) && text.includes("59")));
  await env.putPolicy(`/v1/sources/${await sourceOf(good)}/retention`, { keep_last: 1 });
  env.wait(72 * hourMs + 2 * dayMs);
  await env.backUp("e", { f0: "0" });
  await env.apply();
  assert.equal(await env.status(good), "completed");
  assert.equal((await env.call("POST", `/v1/snapshots/${bad}/accept`)).status, 202);
  assert.equal((await env.call("POST", `/v1/snapshots/${good}/accept`)).json?.code, "state_conflict");
  env.wait(72 * hourMs);
  for (let day = 0; day < 9 && (await env.status(good)) === "completed"; day++) {
    await env.apply();
    env.wait(dayMs);
  }
  assert.equal(await env.status(good), "expired");
});

test("a ceiling removes the last snapshot of a source, 30 days after every owner was mailed", async () => {
  const only = await env.backUp("g", { f: "1" });
  env.wait(60 * dayMs);
  const path = `/v1/sources/${await sourceOf(only)}/retention`;
  assert.equal((await env.putPolicy(path, { ceiling_days: 31 })).status, 202);
  env.wait(72 * hourMs);
  await env.apply();
  const { expires_at } = objectIn<{ expires_at: string }>(await env.call("GET", `/v1/snapshots/${only}`), "retention");
  const goes = Date.parse(expires_at);
  assert.ok(goes - env.service.clock.now().getTime() > 30 * dayMs, "30 whole days");
  const source = await sourceOf(only);
  const mails = (await settledMessages(env.service)).filter(
    ({ template, text }) => template === "ceiling_notice" && text.includes(source),
  );
  assert.ok(mails.length > 0);
  env.wait(29 * dayMs);
  await env.apply();
  assert.equal(await env.status(only), "completed");
  env.wait(2 * dayMs + hourMs);
  for (let day = 0; day < 9 && (await env.status(only)) === "completed"; day++) {
    await env.apply();
    env.wait(dayMs);
  }
  assert.equal(await env.status(only), "expired");
});

test("the database alone removes nothing: a forged policy stops the run, a forged act is refused", async () => {
  const old = await env.backUp("h", { f: "1" });
  env.wait(40 * dayMs);
  const newer = await env.backUp("h", { f: "2" });
  const source = await sourceOf(old);
  await env.rows(
    `insert into emanet.retention_policies (account_id, vault_id, source_id, keep_last, updated_at)
     values ($1, $2, $3, 1, now())`,
    [accountId, vaultId, source],
  );
  await assert.rejects(runTask(env, applyRetention, { accountId, vaultId }), { code: "retention_refused" });
  await env.rows("delete from emanet.retention_policies where source_id = $1", [source]);
  await env.rows(
    `insert into emanet.pending_acts (id, account_id, vault_id, kind, source_id, policy, state, created_by, created_at, due_at)
     values (gen_random_uuid(), $1, $2, 'policy_change', $3, '{"keep_last": 1}', 'waiting', gen_random_uuid(), $4, $4)`,
    [accountId, vaultId, source, env.service.clock.now()],
  );
  await env.apply();
  assert.deepEqual((await env.rows("select state from emanet.pending_acts where source_id = $1", [source]))[0], {
    state: "refused",
  });
  for (const id of [old, newer]) assert.equal(await env.status(id), "completed");
});

test("a policy that keeps more holds at once and cancels a change that waits", async () => {
  assert.equal((await env.putPolicy(ofVault, { keep_daily: 100 })).status, 202);
  const relaxed = await env.putPolicy(ofVault, { floor_days: 1 });
  assert.deepEqual([relaxed.status, relaxed.json?.floor_days, relaxed.json?.pending], [200, 1, null]);
});
