import assert from "node:assert/strict";
import { once } from "node:events";
import https from "node:https";
import { after, test } from "node:test";
import { systemRandom } from "../../kernel/clock.ts";
import { recheckMs } from "../../kernel/http/reply-stream.ts";
import { createTransactions } from "../../kernel/tx.ts";
import { tokenFor } from "../../testing/accounts.ts";
import { silentLog } from "../../testing/database.ts";
import { listIn } from "../../testing/lists.ts";
import { auditTest } from "../testing.ts";

const env = await auditTest({ after });
const revoke = async (id: string, headers?: { readonly authorization: string }) =>
  env.service.send("DELETE", `/v1/audit/shares/${id}`, { headers: headers ?? (await env.signIn()) });

test("204: the next read is 410; it is in the chain and in the stream of events once, however often it is revoked", async () => {
  const { id, read } = await env.share();
  assert.equal((await read("events")).status, 200);
  for (let count = 0; count < 2; count += 1) assert.equal((await revoke(id)).status, 204);
  for (const target of ["events", "export"]) {
    const refused = await read(target);
    assert.deepEqual([refused.status, refused.json?.code], [410, "share_revoked"]);
  }
  const records = listIn(await env.get("/v1/audit/events?action=audit.share_revoked"), "data");
  assert.equal(records.length, 1);
  const events = listIn<{ event: string; share_id: string; reason: string }>(await env.get("/v1/events"), "data");
  assert.deepEqual(
    events.filter(({ event }) => event === "audit.share_revoked").map(({ share_id, reason }) => [share_id, reason]),
    [[id, "revoked"]],
  );
});

test("a suspended account can revoke; another account and an auditor cannot", async () => {
  const { id, read } = await env.share();
  assert.equal((await revoke(id, (await tokenFor(env.service)).auth)).status, 404);
  const auditor = await tokenFor(env.service, { accountId: env.accountId, role: "auditor" });
  assert.equal((await revoke(id, auditor.auth)).status, 403);
  const staff = await tokenFor(env.service, { as: "staff" });
  const change = (what: string, json: object) =>
    env.service.send("POST", `/v1/admin/accounts/${env.accountId}/${what}`, { json, headers: staff.auth });
  assert.equal((await change("suspend", { cause: "unpaid", reason: "ödenmedi" })).status, 200);
  assert.equal((await read("events")).status, 200, "a suspended account can still be read");
  assert.equal((await revoke(id)).status, 204);
  assert.equal((await change("resume", { reason: "ödendi" })).status, 200);
});

test("an export that is being sent is cut, also when another process revoked the share", async () => {
  // More than the buffers of two sockets take.
  const transactions = createTransactions(env.service.database.app, env.service.clock, systemRandom, silentLog);
  const context = { actor: { kind: "system" }, context: {}, signal: new AbortController().signal } as const;
  const text = "x".repeat(100_000);
  for (let made = 0; made < 30; made += 1)
    await transactions.run(context, { kind: "account", accountId: env.accountId }, async (tx) => {
      for (let i = 0; i < 10; i += 1) tx.audit({ action: "test.written", targets: [], metadata: { code: text } });
    });
  const { id, token } = await env.share();
  const request = https.get(`${env.service.url}/v1/audit/shared/export`, {
    ca: env.service.ca,
    headers: { authorization: `Bearer ${token}` },
  });
  const [response] = await once(request, "response");
  assert.equal(response.statusCode, 200);
  await env.rows("update emanet.audit_shares set revoked_at = now(), revoked_by = created_by where id = $1", [id]);
  env.service.clock.advance(recheckMs);
  const ended = Promise.withResolvers<string>();
  response.on("end", () => ended.resolve("whole"));
  response.on("error", () => ended.resolve("cut"));
  response.on("close", () => ended.resolve("cut"));
  setImmediate(() => response.resume());
  assert.equal(await ended.promise, "cut");
});
