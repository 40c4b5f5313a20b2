import assert from "node:assert/strict";
import { after, test } from "node:test";
import { auditOf, snapshotTest, tarOf } from "../../snapshots/testing.ts";
import { tokenFor } from "../../testing/accounts.ts";

const env = await snapshotTest({ after });
const { service } = env;

const linesOf = (body: Buffer) =>
  body
    .toString()
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);

const exported = (headers: Readonly<Record<string, string>>) => service.send("GET", "/v1/account/export", { headers });

test("it has every kind of row of the account, nothing of another, no secret, and an end that counts the lines", async () => {
  const owner = await env.as({ role: "owner" });
  const taxpayer = { name: "Deniz Ticaret", tax_id: "1234567808" };
  assert.equal((await service.send("POST", "/v1/taxpayers", { json: taxpayer, headers: owner })).status, 201);
  const client = {
    ...{ name: "Defter", scopes: ["account:read"], grant_types: ["client_credentials"] },
    auth_method: "client_secret",
  };
  const made = await service.send("POST", "/v1/oauth-clients", { json: client, headers: owner });
  assert.equal(made.status, 201, made.body.toString());
  const headers = { ...owner, "content-type": "application/x-tar" };
  const sent = await service.send("POST", "/v1/snapshots?source=ofis", { body: tarOf({ f: "1" }), headers });
  assert.equal(sent.status, 201, sent.body.toString());
  const stranger = await tokenFor(service, {});
  await service.send("POST", "/v1/vaults", { json: { name: "Yabancı" }, headers: stranger.auth });

  const answer = await exported(owner);
  assert.deepEqual([answer.status, answer.headers["content-type"]], [200, "application/x-ndjson"]);
  const lines = linesOf(answer.body);
  const [first, last] = [lines.at(0), lines.at(-1)];
  assert.deepEqual([first?.type, first?.account_id], ["export", env.accountId]);
  const counts: Record<string, number> = {};
  for (const { type } of lines.slice(1, -1)) counts[String(type)] = (counts[String(type)] ?? 0) + 1;
  const said = last?.counts as Record<string, number>;
  assert.equal(last?.type, "end");
  assert.deepEqual(Object.fromEntries(Object.entries(said).filter(([, count]) => count > 0)), counts);
  for (const type of ["account", "member", "oauth_client", "vault", "taxpayer", "source", "snapshot"])
    assert.ok((counts[type] ?? 0) > 0, type);
  const snapshot = lines.find(({ type, id }) => type === "snapshot" && id === sent.json?.id);
  assert.equal(snapshot?.root_hash, sent.json?.root_hash);
  const text = answer.body.toString();
  assert.ok(text.includes("Deniz Ticaret") && !text.includes("1234567808") && !text.includes("Yabancı"));
  assert.ok(!text.includes(String(made.json?.client_secret ?? made.json?.secret)));
  assert.ok(!/password|totp|hash_of|sealed/.test(text));
  assert.ok((await auditOf(env)).some((each) => each.startsWith("account.exported")));
});

test("more rows than one query reads are all in it, once", async () => {
  const owner = await tokenFor(service, {});
  await env.rows(
    `insert into emanet.vaults (id, account_id, name, name_order, kind, created_at, updated_at)
     select gen_random_uuid(), $1, 'Kasa', 'KASA', 'other', now(), now() from generate_series(1, 2500)`,
    [owner.accountId],
  );
  const ids = linesOf((await exported(owner.auth)).body).flatMap(({ type, id }) => (type === "vault" ? [id] : []));
  assert.deepEqual([ids.length, new Set(ids).size], [2501, 2501]);
});

test("403 for managers and auditors", async () => {
  for (const role of ["manager", "auditor"] as const)
    assert.equal((await exported(await env.as({ role }))).json?.code, "insufficient_role");
});
