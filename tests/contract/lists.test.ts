/**
 * Every list of the OpenAPI document: its form, its pages and its sort orders. A new list that is not in the table here
 * fails.
 */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, describe, test } from "node:test";
import { makeAgent } from "../../packages/server/src/agents/testing.ts";
import { newTaxId } from "../../packages/server/src/taxpayers/testing.ts";
import { tokenFor } from "../../packages/server/src/testing/accounts.ts";
import { listIn } from "../../packages/server/src/testing/lists.ts";
import { noSignInLimits } from "../../packages/server/src/testing/people.ts";
import { storedRows } from "../../packages/server/src/testing/rows.ts";
import { startTestService } from "../../packages/server/src/testing/running.ts";
import { readOperations } from "./operations.ts";

type Caller = Awaited<ReturnType<typeof tokenFor>>;

const settings = { ...noSignInLimits, EMANET_LIMIT_APPLICATIONS: "1000/60" };
const service = await startTestService({ after }, { settings });
const owner = await tokenFor(service);
const staff = await tokenFor(service, { as: "staff" });

async function made(target: string, json: object, by: Caller | null): Promise<void> {
  const answer = await service.send("POST", target, { json, ...(by && { headers: by.auth }) });
  assert.ok(answer.status < 300, `${target}: ${answer.body}`);
}

/** A change of a policy waits. */
async function pendingAct(at: number): Promise<void> {
  const call = { json: { name: `Saklama ${at}` }, headers: owner.auth };
  const vault = await service.send("POST", "/v1/vaults", call);
  const change = { json: { keep_last: 1 }, headers: { ...owner.auth, "if-match": "*" } };
  assert.equal((await service.send("PUT", `/v1/vaults/${vault.json?.id}/retention`, change)).status, 202);
}

async function recoveryKit(at: number): Promise<void> {
  const vault = await service.send("POST", "/v1/vaults", { json: { name: `Kit ${at}` }, headers: owner.auth });
  const path = `/v1/vaults/${vault.json?.id}/recovery-kits`;
  assert.equal((await service.send("POST", path, { headers: owner.auth })).status, 202);
}

/** Rows for every list. The clock does not move, so all have the same time. */
const policies = ["snapshots_create", "snapshots_list", "package"];
for (const [at, policy] of policies.entries()) {
  await tokenFor(service, { accountId: owner.accountId ?? "", role: "viewer" });
  await makeAgent(service, owner.accountId ?? "", { seed: at + 1 });
  await made("/v1/oauth-clients", { name: `Defter ${at}`, scopes: ["account:read"] }, owner);
  await tokenFor(service, { accountId: owner.accountId ?? "", as: "grant" });
  await made("/v1/vaults", { name: `Kasa ${at}` }, owner);
  await made("/v1/audit/shares", { label: `Denetim ${at}` }, owner);
  await pendingAct(at);
  await recoveryKit(at);
  await made("/v1/taxpayers", { name: `Deniz ${at}`, tax_id: newTaxId() }, owner);
  await made("/v1/sources", { name: `sunucu ${at}` }, owner);
  await made("/v1/snapshots", { source: `sunucu ${at}` }, owner);
  await made("/v1/webhooks", { url: `https://hooks.example.com/${at}`, events: ["*"] }, owner);
  const file = { body: Buffer.from("merhaba"), headers: owner.auth };
  const snapshot = await service.send("POST", `/v1/snapshots?source=sunucu+${at}&path=a`, file);
  const target = { kind: "download", format: "tar" };
  await made("/v1/restore", { snapshot_id: snapshot.json?.id, target }, owner);
  await made("/v1/rate-limits/requests", { policy, limit: 50, window_s: 60, reason: "test gerekçesi" }, owner);
  const { sessionId } = await tokenFor(service);
  await made("/v1/admin/bans", { kind: "session", subject: sessionId, hours: 1, reason: "test gerekçesi" }, staff);
  const application = {
    ...{ kind: "company", full_name: "Deniz Örnek", email: `kisi-${at}@ornek.example`, phone: "05321112233" },
    ...{ company_name: "Örnek AŞ", tax_id: "1234567808", package: "starter", consents: { terms: true, privacy: true } },
  };
  await made("/applications", application, null);
  await storedRows(
    service.database,
    `insert into emanet.sessions (id, account_id, person_id, kind, amr, auth_time, created_at, last_used_at, idle_expires_at)
     values ($1, $2, $3, 'api', '{pwd,otp}', $4, $4, $4, $5)`,
    [randomUUID(), owner.accountId, owner.personId, service.clock.now(), new Date(service.clock.now().getTime() + 1e9)],
  );
}

// Erasures end days after a deletion.
await storedRows(
  service.database,
  `insert into emanet.erasures (id, account_id, vault_id, cause, act_id, ordered_by, due_at, state, key_objects, objects, bytes, snapshots,
     created_at, keys_destroyed_at, erased_at, proof)
   select gen_random_uuid(), account_id, id, 'vault_deletion', id, id, $2, 'erased', 2, 9, 9, 1, $2, $2, $2, 'a.b.c'
   from emanet.vaults where account_id = $1 and name like 'Kasa %'`,
  [owner.accountId, service.clock.now()],
);

// Every webhook has a delivery.
await made("/v1/snapshots", { source: "sunucu 0" }, owner);
const queued = await service.send("GET", "/v1/snapshots?limit=1", { headers: owner.auth });
const [{ id: queuedId }] = listIn<{ id: string }>(queued, "data") as [{ id: string }];
await service.send("POST", `/v1/snapshots/${queuedId}/cancel`, { headers: owner.auth });

/** Pages that have one order, and tests of their own. */
const searches = ["files.search", "files.list_history", "nights.list", "usage.list"];

/** Lists of resources. What is below one resource has tests of its own. */
const lists = readOperations().filter(
  ({ method, path, parameters, operationId }) =>
    method === "GET" &&
    !path.includes("{") &&
    !searches.includes(operationId) &&
    parameters.some((one) => one.in === "query" && one.name === "cursor"),
);

/** Allowed sort orders by operation, the default first. */
const orders: Readonly<Record<string, readonly string[]>> = {
  "members.list": ["created_at", "-created_at"],
  "agents.list": ["-created_at", "created_at"],
  "oauth_clients.list": ["-created_at", "created_at"],
  "oauth_grants.list": ["-created_at", "created_at"],
  "vaults.list": ["-created_at", "created_at", "name", "-name"],
  "sources.list": ["-created_at", "created_at", "name", "-name", "freshness"],
  "taxpayers.list": ["-created_at", "created_at", "name", "-name", "freshness"],
  "snapshots.list": ["-created_at", "created_at"],
  "webhooks.list": ["-created_at", "created_at"],
  "restores.list": ["-created_at", "created_at"],
  "pending_acts.list": ["-created_at", "created_at"],
  "sessions.list": ["-created_at", "created_at"],
  "rate_limits.list_requests": ["-created_at", "created_at"],
  "admin.list_accounts": ["-created_at", "created_at"],
  "admin.list_members": ["-created_at", "created_at"],
  "admin.list_applications": ["-created_at", "created_at"],
  "admin.list_bans": ["-created_at", "created_at"],
  "admin.list_limit_requests": ["-created_at", "created_at"],
  "admin.list_webhooks": ["-created_at", "created_at"],
  "admin.list_webhook_deliveries": ["-created_at", "created_at"],
  "admin.list_snapshots": ["-created_at", "created_at"],
  "admin.list_erasures": ["-created_at", "created_at"],
  "recovery_kits.list": ["-created_at", "created_at"],
  "erasures.list": ["-created_at", "created_at"],
  "audit.list_events": ["-occurred_at", "occurred_at"],
  "audit_shared.list_events": ["-occurred_at", "occurred_at"],
  "audit_shares.list": ["-created_at", "created_at"],
  "admin.list_restores": ["-created_at", "created_at"],
  "admin.list_audit": ["-occurred_at", "occurred_at"],
  // Its rows come from a database function that has only this order.
  "admin.list_jobs": ["-created_at"],
};

/** Its reads are records of the chain, so it shows others alone. */
const share = await service.send("POST", "/v1/audit/shares", {
  json: { label: "Listeler", filter: { action: "vault.*" } },
  headers: owner.auth,
});

async function read(target: string, query: string) {
  const own = target.startsWith("/v1/admin/") ? staff.auth : owner.auth;
  const headers = target.startsWith("/v1/audit/shared/") ? { authorization: `Bearer ${share.json?.token}` } : own;
  return service.send("GET", `${target}?${query}`, { headers });
}

/** The ids of all pages. */
async function readAll(target: string, query: string): Promise<string[]> {
  const ids: string[] = [];
  let cursor: unknown = null;
  do {
    const answer = await read(target, `${query}${cursor === null ? "" : `&cursor=${cursor}`}`);
    const { status, json } = answer;
    assert.equal(status, 200, JSON.stringify(json));
    assert.deepEqual(Object.keys(json ?? {}).sort(), ["data", "has_more", "next_cursor"]);
    assert.equal(json?.has_more, json?.next_cursor !== null);
    ids.push(...listIn<{ id: string }>(answer, "data").map(({ id }) => id));
    cursor = json?.next_cursor ?? null;
  } while (cursor !== null);
  return ids;
}

describe("a list", () => {
  test("has its sort orders here, and no entry is without an operation", () => {
    assert.deepEqual(lists.map(({ operationId }) => operationId).sort(), Object.keys(orders).sort());
    for (const { operationId, parameters } of lists) {
      const { schema } = (parameters.find(({ name }) => name === "sort") ?? assert.fail(operationId)) as unknown as {
        schema: { enum: string[] };
      };
      assert.deepEqual(schema.enum, orders[operationId], operationId);
    }
  });

  for (const { operationId, path } of lists) {
    const [own = "", other] = orders[operationId] ?? [];

    test(`${operationId}: pages of two contain each row once, in each order, and descending is the reverse of ascending`, async () => {
      const whole = await readAll(path, "limit=100");
      // Jobs are added and deleted while the list is read.
      if (operationId === "admin.list_jobs") return;
      assert.ok(whole.length >= 3, `${whole.length} rows`);
      assert.deepEqual(await readAll(path, "limit=2"), whole);
      assert.deepEqual(await readAll(path, `limit=2&sort=${own}`), whole, "the default order, by name");
      if (other !== undefined) assert.deepEqual(await readAll(path, `limit=2&sort=${other}`), whole.toReversed());
      for (const sort of orders[operationId]?.slice(2) ?? []) {
        const sorted = await readAll(path, `limit=2&sort=${sort}`);
        assert.deepEqual(sorted, await readAll(path, `limit=100&sort=${sort}`), sort);
        assert.deepEqual(sorted.toSorted(), whole.toSorted(), sort);
      }
    });

    test(`${operationId}: 422 for an unknown sort order, 400 for a cursor of another order`, async () => {
      for (const sort of ["nonsense", "id", ""]) {
        assert.equal((await read(path, `sort=${sort}`)).json?.code, "validation_failed", sort);
      }
      const { next_cursor: cursor } = (await read(path, "limit=1")).json ?? {};
      if (other === undefined || typeof cursor !== "string") return;
      assert.equal((await read(path, `limit=1&sort=${own}&cursor=${cursor}`)).status, 200);
      assert.equal((await read(path, `limit=1&sort=${other}&cursor=${cursor}`)).json?.code, "invalid_cursor");
    });
  }
});
