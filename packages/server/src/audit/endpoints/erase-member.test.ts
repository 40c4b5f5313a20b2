import assert from "node:assert/strict";
import { after, test } from "node:test";
import { readKeys, verifyExport } from "../../../../../docs/audit/verify-audit.mjs";
import { tokenFor } from "../../testing/accounts.ts";
import { auditTest } from "../testing.ts";

const env = await auditTest({ after });
const name = "Zeliha Örnekgil";
const email = "zeliha.ornekgil@firma.example";
const phone = "+905551234567";

/** A manager with these data, who changed something and whose name was exported. */
async function formerMember(): Promise<string> {
  const { personId, auth } = await tokenFor(env.service, { accountId: env.accountId, role: "manager" });
  const id = personId ?? assert.fail("no person");
  await env.rows(
    "update emanet.people set full_name = $2, email = $3, email_key = $3, phone = $4, phone_verified_at = now() where id = $1",
    [id, name, `${id}.${email}`, phone],
  );
  await env.service.send("POST", "/v1/vaults", { json: { name: "Kasa" }, headers: auth });
  assert.ok((await env.get("/v1/audit/export")).body.includes(name));
  const removed = await env.service.send("DELETE", `/v1/members/${id}`, { headers: await env.signIn() });
  assert.equal(removed.status, 204);
  return id;
}

const erase = async (id: string, headers?: { readonly authorization: string }) =>
  env.service.send("POST", `/v1/members/${id}/erase`, { headers: headers ?? (await env.signIn()) });

test("204: no table has name, address or phone; the trail says erased, the chain and earlier exports are good", async () => {
  const id = await formerMember();
  const keys = readKeys((await env.service.send("GET", "/.well-known/emanet-keys.json")).body.toString());
  const before = await env.get("/v1/audit/export");
  assert.equal((await erase(id)).status, 204);
  const tables = await env.rows<{ name: string }>(
    "select table_name as name from information_schema.tables where table_schema = 'emanet' and table_type = 'BASE TABLE'",
  );
  for (const table of tables) {
    const rows = await env.rows<{ text: string }>(`select t::text as text from emanet.${table.name} t`);
    // Mails about the removal, which are deleted when they were sent.
    if (table.name === "jobs") continue;
    for (const { text } of rows)
      for (const part of [name, email, phone]) assert.ok(!text.includes(part), `${table.name} has ${part}`);
  }
  for (const format of ["ndjson", "csv", "cef", "json"]) {
    const { body } = await env.get(`/v1/audit/export?format=${format}`);
    await verifyExport([body], keys);
    assert.ok(body.includes("erased") && !body.includes(name), format);
  }
  await verifyExport([before.body], keys);
  const events = await env.get(`/v1/audit/events?actor_id=${id}`);
  assert.deepEqual(
    (events.json as unknown as { data: { person: string }[] }).data.map(({ person }) => person),
    ["erased"],
  );
  const share = await env.share({ show_persons: true, show_paths: true });
  assert.ok(!(await share.read("export")).body.includes(name));
});

test("an export that began before is made again without the name, with another ETag", async () => {
  const id = await formerMember();
  const whole = await env.get("/v1/audit/export");
  assert.equal((await erase(id)).status, 204);
  const again = await env.get(`/v1/audit/export/${whole.headers["x-export-id"]}`);
  assert.equal(again.status, 200);
  assert.notEqual(again.headers.etag, whole.headers.etag);
  assert.ok(!again.body.includes(name));
});

test("it is recorded once, and nothing is stored of the person again", async () => {
  const id = await formerMember();
  for (let count = 0; count < 2; count += 1) assert.equal((await erase(id)).status, 204);
  const records = await env.rows(
    "select from emanet.audit_records where action = 'member.erased' and targets->0->>'id' = $1",
    [id],
  );
  assert.equal(records.length, 1);
  await env.get("/v1/audit/export");
  const [row] = await env.rows<{ sealed_key: null; sealed_identity: null }>(
    "select sealed_key, sealed_identity from emanet.audit_identities where person_id = $1",
    [id],
  );
  assert.deepEqual([row?.sealed_key, row?.sealed_identity], [null, null]);
});

test("409 for a member; 404 for one of another account; only an owner with a fresh second factor", async () => {
  const member = await tokenFor(env.service, { accountId: env.accountId, role: "viewer" });
  assert.equal((await erase(member.personId ?? "")).json?.code, "state_conflict");
  const id = await formerMember();
  assert.equal((await erase(id, (await tokenFor(env.service)).auth)).status, 404);
  const manager = await tokenFor(env.service, { accountId: env.accountId, role: "manager" });
  assert.equal((await erase(id, manager.auth)).json?.code, "insufficient_role");
  const old = await tokenFor(env.service, { accountId: env.accountId, factorAgeMs: 601_000 });
  assert.equal((await erase(id, old.auth)).json?.code, "step_up_required");
});
