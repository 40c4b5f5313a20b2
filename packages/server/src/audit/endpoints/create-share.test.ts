import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { listIn } from "../../testing/lists.ts";
import { auditTest } from "../testing.ts";

const env = await auditTest({ after });
const dayMs = 24 * 60 * 60_000;
const create = async (json: object, headers?: { readonly authorization: string }) =>
  env.service.send("POST", "/v1/audit/shares", { json, headers: headers ?? (await env.signIn()) });

test("201: the token is in this answer alone; without more words it lasts 30 days and shows neither people nor paths", async () => {
  const made = await create({ label: "Denetim 2026", filter: { action: "member.*" } });
  assert.equal(made.status, 201);
  const { token, ...share } = made.json as Record<string, unknown>;
  assert.match(String(token), /^shr_[A-Za-z0-9_-]{43}$/);
  const { filter, show_persons, show_paths, status, created_at, expires_at } = share;
  assert.deepEqual([filter, show_persons, show_paths, status], [{ action: "member.*" }, false, false, "active"]);
  assert.equal(Date.parse(String(expires_at)) - Date.parse(String(created_at)), 30 * dayMs);
  assert.deepEqual((await env.get(`/v1/audit/shares/${share.id}`)).json, share);
});

test("the token is in no table, record, event or log line", async () => {
  const { token } = await env.share();
  for (const table of ["audit_shares", "audit_records", "idempotency_keys", "events", "jobs"]) {
    const rows = await env.rows(`select t::text as text from emanet.${table} t`);
    assert.ok(!JSON.stringify(rows).includes(token.slice(4, 30)), table);
  }
  assert.ok(!env.service.logLines.join("").includes(token.slice(4, 30)));
});

test("it is in the chain and in the stream of events", async () => {
  const { id } = await env.share({ days: 90 });
  const [record] = listIn<{ targets: unknown; metadata: unknown }>(
    await env.get("/v1/audit/events?action=audit.share_created&limit=1"),
    "data",
  );
  assert.deepEqual(record?.targets, [{ type: "audit_share", id }]);
  assert.deepEqual(record?.metadata, { days: 90, show_persons: false, show_paths: false });
  const events = listIn<{ event: string; share_id: string }>(await env.get("/v1/events"), "data");
  assert.deepEqual([events.at(-1)?.event, events.at(-1)?.share_id], ["audit.share_created", id]);
});

test("422: more than 90 days, none, no label, a filter that is none", async () => {
  const bad = [
    { label: "x", days: 91 },
    { label: "x", days: 0 },
    { label: "" },
    {},
    { label: "x", filter: { chain: "platform" } },
    { label: "x", filter: { action: "a' or true--" } },
    { label: "x", expires_at: "2099-01-01T00:00:00Z" },
  ];
  for (const json of bad) assert.equal((await create(json)).status, 422, JSON.stringify(json));
});

test("403: auditors and programs make none, nor does a person whose second factor is old", async () => {
  const { accountId } = env;
  const auditor = await tokenFor(env.service, { accountId, role: "auditor" });
  assert.equal((await create({ label: "x" }, auditor.auth)).json?.code, "insufficient_role");
  const program = await tokenFor(env.service, { accountId, as: "client" });
  assert.equal((await create({ label: "x" }, program.auth)).json?.code, "insufficient_scope");
  const old = await tokenFor(env.service, { accountId, factorAgeMs: 601_000 });
  assert.equal((await create({ label: "x" }, old.auth)).json?.code, "step_up_required");
});

test("409: a fifty-first that can be read, also when many are made at the same time; ended ones do not count", async () => {
  const owner = await tokenFor(env.service);
  const make = () => create({ label: "x", days: 1 }, owner.auth);
  for (let made = 0; made < 48; made += 1) assert.equal((await make()).status, 201);
  const answers = await Promise.all(Array.from({ length: 6 }, make));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 201, 409, 409, 409, 409]);
  env.service.clock.advance(dayMs);
  const again = await tokenFor(env.service, { accountId: owner.accountId ?? "" });
  assert.equal((await create({ label: "x" }, again.auth)).status, 201);
});
