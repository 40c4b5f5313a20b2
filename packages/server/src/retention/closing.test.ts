import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setRetention } from "@emanet/engine";
import { engineId } from "../snapshots/index.ts";
import { auditOf, eventsOf, tarOf } from "../snapshots/testing.ts";
import { settledMessages } from "../testing/sent-messages.ts";
import { recordAct } from "./chain.ts";
import { readableMs } from "./closing.ts";
import { dayMs, hourMs, type RetentionTest, retentionTest } from "./testing.ts";

/** Each test has a service of its own: a closed account is closed for ever. */
async function closingTest() {
  const env = await retentionTest({ after });
  const { accountId, service } = env;
  const [standard] = await env.rows<{ id: string }>(
    "select id from emanet.vaults where account_id = $1 and kind = 'default'",
    [accountId],
  );
  const defaultVault = standard?.id ?? "";
  return {
    ...env,
    defaultVault,
    vault: async (id: string) =>
      (await service.running.services?.vaults.open(accountId, id)) ?? assert.fail("no vault"),
    close: () => env.call("POST", "/v1/account/close"),
    /** Runs what is due for the default vault, which has the act. */
    applyClosing: () => env.applyTo(defaultVault),
    account: async () => (await env.call("GET", "/v1/account")).json ?? {},
    stateOf: async (act: unknown) =>
      (await env.rows<{ state: string }>("select state from emanet.pending_acts where id = $1", [act]))[0]?.state,
  };
}

const upload = async (env: RetentionTest) =>
  env.service.send("POST", `/v1/snapshots?source=yeni&vault_id=${env.vaultId}`, {
    body: tarOf({ f: "1" }),
    headers: { ...(await env.client()), "content-type": "application/x-tar" },
  });

test("an account is closed after 72 hours, not a minute before; then it reads and restores, and nobody writes", async () => {
  const env = await closingTest();
  const id = await env.backUp("defter", { "a.txt": "merhaba" });
  const ordered = await env.close();
  assert.equal(ordered.status, 202, ordered.body.toString());
  const mails = (await settledMessages(env.service)).filter(({ text }) => text.includes(String(ordered.json?.id)));
  assert.ok(mails.length > 0 && mails.every(({ text }) => text.includes(env.accountId)));
  env.wait(72 * hourMs - 60_000);
  await env.applyClosing();
  assert.equal((await env.account()).state, "active");
  assert.equal((await upload(env)).status, 201, "backups go on until then");
  const open = await env.call("POST", "/v1/snapshots", { source: "yarim", vault_id: env.vaultId }, await env.client());
  assert.equal(open.status, 201, open.body.toString());
  env.wait(60_000);
  await env.applyClosing();
  const closed = await env.account();
  const eraseAfter = new Date(env.service.clock.now().getTime() + readableMs).toISOString();
  assert.deepEqual([closed.state, closed.erase_after], ["closed", eraseAfter]);
  assert.equal(await env.status(String(open.json?.id)), "canceled");
  assert.ok((await settledMessages(env.service)).some(({ text }) => text.includes(eraseAfter)));

  const events = (await eventsOf(env)).map(({ event, kind }) => `${event} ${kind}`);
  for (const name of ["deletion.scheduled account_closing", "deletion.completed account_closing"])
    assert.ok(events.includes(name), name);
  // Writing is refused to everybody, one way as the other.
  assert.equal((await upload(env)).json?.code, "account_suspended");
  for (const [method, path, json] of [
    ["POST", "/v1/snapshots", { source: "yeni", vault_id: env.vaultId }],
    ["DELETE", `/v1/snapshots/${id}`, undefined],
    ["POST", "/v1/vaults", { name: "Yeni" }],
    ["PUT", `/v1/vaults/${env.vaultId}/retention`, { keep_last: 1 }],
    ["PATCH", "/v1/account", { name: "Başka" }],
  ] as const)
    assert.equal((await env.call(method, path, json)).json?.code, "account_suspended", path);

  env.wait(89 * dayMs);
  const file = await env.call("GET", `/v1/snapshots/${id}/files/a.txt`);
  assert.equal(file.body.toString(), "merhaba");
  const target = { kind: "download", format: "tar" };
  assert.equal((await env.call("POST", "/v1/restore", { snapshot_id: id, target })).status, 202);
  assert.ok((await auditOf(env)).some((each) => each.startsWith("account.closed")));
  assert.equal((await env.close()).json?.code, "state_conflict");
});

test("any owner cancels; then the account stays open", async () => {
  const env = await closingTest();
  const ordered = await env.close();
  const other = await env.as({ role: "owner" });
  const path = `/v1/pending-acts/${ordered.json?.id}/cancel`;
  assert.equal((await env.call("POST", path, undefined, await env.as({ role: "manager" }))).status, 403);
  assert.equal((await env.call("POST", path, undefined, other)).status, 200);
  env.wait(73 * hourMs);
  await env.applyClosing();
  assert.deepEqual([(await env.account()).state, await env.stateOf(ordered.json?.id)], ["active", "canceled"]);
});

test("a hold or a lock of any vault refuses the closing, when it is ordered and when its time has come, by rows and by the chain", async () => {
  const env = await closingTest();
  const { json: act } = await env.close();
  const id = await env.backUp("kilitli", { f: "1" });
  const until = new Date(env.service.clock.now().getTime() + 30 * dayMs);
  const lock = { locked_until: until.toISOString() };
  assert.equal((await env.call("PUT", `/v1/snapshots/${id}/lock`, lock)).status, 200);
  // Somebody with the database lifts it there.
  await env.rows("update emanet.snapshots set locked_until = null where id = $1", [id]);
  env.wait(72 * hourMs);
  await env.applyClosing();
  assert.deepEqual([(await env.account()).state, await env.stateOf(act?.id)], ["active", "refused"]);
  await env.rows("update emanet.snapshots set locked_until = $2 where id = $1", [id, until]);
  assert.equal((await env.close()).json?.code, "retention_locked");
  const held = await env.backUp("tutulan", { f: "1" });
  assert.equal((await env.call("PUT", `/v1/snapshots/${held}/hold`, { reason: "inceleme" })).status, 200);
  assert.equal((await env.close()).json?.code, "legal_hold");
});

test("the database alone closes nothing: an act that the chain does not have is refused", async () => {
  const env = await closingTest();
  await env.rows(
    `insert into emanet.pending_acts (id, account_id, vault_id, kind, state, created_by, created_at, due_at)
     values (gen_random_uuid(), $1, $2, 'account_closing', 'waiting', gen_random_uuid(), $3, $3)`,
    [env.accountId, env.defaultVault, env.service.clock.now()],
  );
  await env.applyClosing();
  assert.equal((await env.account()).state, "active");
});

test("a process that ends between chain and commit: the next run closes the account with the same end", async () => {
  const env = await closingTest();
  const { json: act } = await env.close();
  env.wait(72 * hourMs);
  const due = env.service.clock.now().getTime();
  const nothing = { source: null, snapshot: null, policy: null };
  const known = { kind: "account_closing", ...nothing, due, done: true, until: due + readableMs } as const;
  await recordAct(await env.vault(env.defaultVault), String(act?.id), known, "test");
  const cancel = await env.call("POST", `/v1/pending-acts/${act?.id}/cancel`);
  assert.equal(cancel.json?.code, "state_conflict");
  env.wait(hourMs);
  await env.applyClosing();
  const { state, erase_after: end } = await env.account();
  assert.deepEqual([state, end], ["closed", new Date(due + readableMs).toISOString()]);
});

test("while an account is closed no rule removes a snapshot, and an owner can still hold and lock", async () => {
  const env = await closingTest();
  assert.equal((await env.putPolicy(`/v1/vaults/${env.vaultId}/retention`, { keep_last: 1 })).status, 202);
  const old = await env.backUp("defter", { f: "1" });
  env.wait(72 * hourMs);
  await env.apply();
  await env.close();
  env.wait(24 * hourMs);
  const newest = await env.backUp("defter", { f: "2" });
  env.wait(72 * hourMs);
  await env.applyClosing();
  assert.equal((await env.account()).state, "closed");
  env.wait(60 * dayMs);
  await env.apply();
  assert.deepEqual([await env.status(old), await env.status(newest)], ["completed", "completed"]);
  assert.equal((await env.call("PUT", `/v1/snapshots/${old}/hold`, { reason: "inceleme" })).status, 200);
  const until = new Date(env.service.clock.now().getTime() + 30 * dayMs).toISOString();
  assert.equal((await env.call("PUT", `/v1/snapshots/${newest}/lock`, { locked_until: until })).status, 200);
  // What holds is the chain's: the row alone does not lift it.
  const vault = await env.vault(env.vaultId);
  await assert.rejects(
    setRetention(vault, engineId(newest), (before) => ({ ...before, lockedUntil: null }), { reason: "x", by: "x" }),
  );
});
