import assert from "node:assert/strict";
import { after, test } from "node:test";
import { endRestores } from "../restores/jobs.ts";
import { auditOf, eventsOf, runTask, tarOf } from "../snapshots/testing.ts";
import { listIn } from "../testing/lists.ts";
import { settledMessages } from "../testing/sent-messages.ts";
import { makeVault } from "../vaults/testing.ts";
import { applyRetention } from "./apply.ts";
import { recordAct } from "./chain.ts";
import { dayMs, hourMs, retentionTest } from "./testing.ts";

const env = await retentionTest({ after });
const { accountId, vaultId, service } = env;

const sourceOf = async (id: string) => {
  const [row] = await env.rows<{ id: string }>("select source_id as id from emanet.snapshots where id = $1", [id]);
  return row?.id ?? "";
};
const stateOf = async (act: string) =>
  (await env.rows<{ state: string }>("select state from emanet.pending_acts where id = $1", [act]))[0]?.state;
const vault = async () => (await service.running.services?.vaults.open(accountId, vaultId)) ?? assert.fail("no vault");
/** Orders a deletion and returns the id of its act. */
async function order(path: string): Promise<string> {
  const answer = await env.call("DELETE", path);
  assert.equal(answer.status, 202, answer.body.toString());
  return String(answer.json?.id);
}
const refusal = async (path: string) => (await env.call("DELETE", path)).json?.code;

test("a source is deleted after 72 hours, not a minute before; its snapshots, uploads and restores end and its bytes are freed", async () => {
  const first = await env.backUp("silinecek", { f: "x".repeat(10_000) });
  const other = await env.backUp("kalan", { f: "y" });
  const source = await sourceOf(first);
  const act = await order(`/v1/sources/${source}`);
  assert.equal(await order(`/v1/sources/${source}`), act, "a repetition does not begin the time again");
  const mails = (await settledMessages(service)).filter(({ text }) => text.includes(act));
  assert.ok(mails.length > 0 && mails.every(({ text }) => text.includes(source)));
  const waiting = listIn<{ id: string; kind: string }>(await env.call("GET", "/v1/pending-acts?state=waiting"), "data");
  assert.deepEqual(
    waiting.map(({ id, kind }) => [id, kind]),
    [[act, "source_deletion"]],
  );
  env.wait(72 * hourMs - 60_000);
  await env.apply();
  // Backups go on until then.
  const last = await env.backUp("silinecek", { f: "x".repeat(20_000) });
  const target = { kind: "download", format: "tar" };
  const restore = await env.call("POST", "/v1/restore", { snapshot_id: last, target });
  assert.equal(restore.status, 202, restore.body.toString());
  const open = await env.call("POST", "/v1/snapshots", { source, vault_id: vaultId }, await env.client());
  assert.equal(open.status, 201, open.body.toString());
  const before = await env.storedBytes();
  env.wait(60_000);
  await env.apply();
  assert.equal(await stateOf(act), "done");
  assert.deepEqual([await env.status(first), await env.status(last)], ["expired", "expired"]);
  assert.equal(await env.status(other), "completed");
  assert.equal((await env.call("GET", `/v1/sources/${source}`)).status, 404);
  assert.equal(await env.status(String(open.json?.id)), "canceled");
  await runTask(env, endRestores, {});
  assert.match(String((await env.call("GET", `/v1/restore/${restore.json?.id}`)).json?.status), /failed|completed/);
  const download = await env.call("GET", `/v1/restore/${restore.json?.id}/download`);
  assert.match(String(download.json?.code), /download_expired|state_conflict/);
  assert.ok((await env.storedBytes()) < before);
  const events = (await eventsOf(env)).map(({ event }) => event).filter((name) => String(name).startsWith("deletion."));
  assert.deepEqual(events, ["deletion.scheduled", "deletion.completed"]);
  const actions = (await auditOf(env)).map((each) => each.split(" ")[0]);
  for (const action of ["act.scheduled", "act.done", "snapshot.expired", "snapshot.removed"])
    assert.ok(actions.includes(action), action);
  // The name is free; the id is not.
  assert.notEqual(await sourceOf(await env.backUp("silinecek", { f: "z" })), source);
  const byId = { ...(await env.client()), "content-type": "application/x-tar" };
  const again = await service.send("POST", `/v1/snapshots?source=${source}`, {
    body: tarOf({ f: "1" }),
    headers: byId,
  });
  assert.equal(again.status, 422);
});

test("any owner cancels; then nothing happens, and a second owner's cancel is 409", async () => {
  const id = await env.backUp("iptal", { f: "1" });
  const act = await order(`/v1/sources/${await sourceOf(id)}`);
  const owners = [await env.as({ role: "owner" }), await env.as({ role: "owner" })];
  const answers = await Promise.all(
    owners.map((by) => env.call("POST", `/v1/pending-acts/${act}/cancel`, undefined, by)),
  );
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409]);
  env.wait(73 * hourMs);
  await env.apply();
  assert.deepEqual([await stateOf(act), await env.status(id)], ["canceled", "completed"]);
  assert.ok((await eventsOf(env)).some(({ event, act_id }) => event === "deletion.canceled" && act_id === act));
});

test("a cancel and the execution at the same time: one of them wins, and rows and chain agree", async () => {
  for (let round = 0; round < 4; round++) {
    const id = await env.backUp(`yaris-${round}`, { f: `${round}` });
    const source = await sourceOf(id);
    const act = await order(`/v1/sources/${source}`);
    env.wait(72 * hourMs);
    const by = await env.owner();
    const [canceled] = await Promise.all([
      env.call("POST", `/v1/pending-acts/${act}/cancel`, undefined, by),
      runTask(env, applyRetention, { accountId, vaultId }),
    ]);
    const isCanceled = canceled.status === 200;
    assert.equal(await stateOf(act), isCanceled ? "canceled" : "done");
    assert.equal(await env.status(id), isCanceled ? "completed" : "expired");
    assert.equal((await env.call("GET", `/v1/sources/${source}`)).status, isCanceled ? 200 : 404);
  }
});

test("held, locked and young snapshots refuse a deletion, when it is ordered and when its time has come", async () => {
  const id = await env.backUp("tutulan", { f: "1" });
  const path = `/v1/sources/${await sourceOf(id)}`;
  assert.equal((await env.call("PUT", `/v1/snapshots/${id}/hold`, { reason: "inceleme" })).status, 200);
  assert.equal(await refusal(path), "legal_hold");
  const locked = await env.backUp("kilitli", { f: "1" });
  const act = await order(`/v1/sources/${await sourceOf(locked)}`);
  const until = new Date(service.clock.now().getTime() + 30 * dayMs).toISOString();
  assert.equal((await env.call("PUT", `/v1/snapshots/${locked}/lock`, { locked_until: until })).status, 200);
  env.wait(72 * hourMs);
  await env.apply();
  assert.deepEqual([await stateOf(act), await env.status(locked)], ["refused", "completed"]);
  assert.equal(await refusal(`/v1/sources/${await sourceOf(locked)}`), "retention_locked");
  const young = await env.backUp("taban", { f: "1" });
  const ofYoung = `/v1/sources/${await sourceOf(young)}`;
  assert.equal((await env.putPolicy(`${ofYoung}/retention`, { floor_days: 10 })).status, 200);
  assert.equal(await refusal(ofYoung), "retention_locked");
  env.wait(11 * dayMs);
  await order(ofYoung);
});

test("the database alone deletes nothing: a changed row, a forged act and a lifted lock", async () => {
  const id = await env.backUp("sahte", { f: "1" });
  const source = await sourceOf(id);
  await env.rows("update emanet.sources set deleted_at = now() where id = $1", [source]);
  await env.apply();
  await env.rows("update emanet.sources set deleted_at = null where id = $1", [source]);
  assert.equal(await env.status(id), "completed");
  await env.rows(
    `insert into emanet.pending_acts (id, account_id, vault_id, kind, source_id, state, created_by, created_at, due_at)
     values (gen_random_uuid(), $1, $2, 'source_deletion', $3, 'waiting', gen_random_uuid(), $4, $4)`,
    [accountId, vaultId, source, service.clock.now()],
  );
  await env.apply();
  assert.equal(await env.status(id), "completed");
  const act = await order(`/v1/sources/${source}`);
  assert.equal((await env.call("PUT", `/v1/snapshots/${id}/hold`, { reason: "inceleme" })).status, 200);
  await env.rows("update emanet.snapshots set legal_hold = false where id = $1", [id]);
  env.wait(72 * hourMs);
  await env.apply();
  assert.deepEqual([await stateOf(act), await env.status(id)], ["refused", "completed"]);
});

test("a process that ends between chain and commit: the next run finishes, and nobody cancels any more", async () => {
  const id = await env.backUp("kesilen", { f: "1" });
  const source = await sourceOf(id);
  const act = await order(`/v1/sources/${source}`);
  env.wait(72 * hourMs);
  const due = service.clock.now().getTime();
  const kind = "source_deletion";
  await recordAct(await vault(), act, { kind, source, snapshot: null, policy: null, due, done: true }, "test");
  assert.equal((await env.call("POST", `/v1/pending-acts/${act}/cancel`)).json?.code, "state_conflict");
  assert.equal(await env.status(id), "completed");
  await env.apply();
  assert.deepEqual([await stateOf(act), await env.status(id)], ["done", "expired"]);
});

test("a clock that is far ahead in one process deletes nothing", async () => {
  const id = await env.backUp("saat", { f: "1" });
  const act = await order(`/v1/sources/${await sourceOf(id)}`);
  const ahead = { ...service.clock, now: () => new Date(service.clock.now().getTime() + 730 * dayMs) };
  await assert.rejects(runTask(env, applyRetention, { accountId, vaultId }, ahead));
  assert.deepEqual([await stateOf(act), await env.status(id)], ["waiting", "completed"]);
});

test("a taxpayer goes with its vault, and its number is free; the default vault and a taxpayer's are not deleted alone", async () => {
  const taxId = "1234567808";
  const made = await env.call("POST", "/v1/taxpayers", { name: "Deniz", tax_id: taxId });
  const { id, vault_id: ofTaxpayer } = made.json as { id: string; vault_id: string };
  assert.equal(await refusal(`/v1/vaults/${ofTaxpayer}`), "state_conflict");
  const [standard] = await env.rows<{ id: string }>(
    "select id from emanet.vaults where account_id = $1 and kind = 'default'",
    [accountId],
  );
  assert.equal(await refusal(`/v1/vaults/${standard?.id}`), "state_conflict");
  const headers = { ...(await env.client()), "content-type": "application/x-tar" };
  const sent = await service.send("POST", `/v1/snapshots?source=defter&taxpayer_id=${id}`, {
    body: tarOf({ f: "1" }),
    headers,
  });
  assert.equal(sent.status, 201, sent.body.toString());
  await order(`/v1/taxpayers/${id}`);
  env.wait(72 * hourMs);
  await env.applyTo(ofTaxpayer);
  for (const path of [`/v1/taxpayers/${id}`, `/v1/vaults/${ofTaxpayer}`])
    assert.equal((await env.call("GET", path)).status, 404);
  assert.equal(await env.status(String(sent.json?.id)), "expired");
  const again = await env.call("POST", "/v1/taxpayers", { name: "Deniz", tax_id: taxId });
  assert.equal(again.status, 201, again.body.toString());
  assert.notEqual(again.json?.vault_id, ofTaxpayer);
});

test("a vault goes with its sources, and clients held to it reach nothing", async () => {
  const other = await makeVault(service, await env.owner(), "Eski");
  const headers = { ...(await env.client()), "content-type": "application/x-tar" };
  const path = `/v1/snapshots?source=eski&vault_id=${other}`;
  const sent = await service.send("POST", path, { body: tarOf({ f: "1" }), headers });
  assert.equal(sent.status, 201, sent.body.toString());
  await order(`/v1/vaults/${other}`);
  env.wait(72 * hourMs);
  await env.applyTo(other);
  assert.equal(await env.status(String(sent.json?.id)), "expired");
  assert.equal((await env.call("GET", `/v1/vaults/${other}`)).status, 404);
  const late = await service.send("POST", path, {
    body: tarOf({ f: "1" }),
    headers: { ...(await env.client()), "content-type": "application/x-tar" },
  });
  assert.equal(late.status, 422);
  const names = listIn<{ id: string }>(await env.call("GET", "/v1/vaults"), "data").map((one) => one.id);
  assert.ok(!names.includes(other));
});
