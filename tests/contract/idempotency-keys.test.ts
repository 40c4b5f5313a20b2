/**
 * Calls every operation of the OpenAPI document that accepts an `Idempotency-Key` with one. It answers as without a key, and
 * a repetition gets the first answer. A new operation without an example here fails.
 */

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { deviceGrant, keyOf, makeAgent, proofOf } from "../../packages/server/src/agents/testing.ts";
import { makeSuspicious } from "../../packages/server/src/retention/testing.ts";
import { tokenFor } from "../../packages/server/src/testing/accounts.ts";
import { objectIn } from "../../packages/server/src/testing/lists.ts";
import { noSignInLimits } from "../../packages/server/src/testing/people.ts";
import { storedRows } from "../../packages/server/src/testing/rows.ts";
import { startTestService } from "../../packages/server/src/testing/running.ts";
import { readOperations, takes } from "./operations.ts";

type Bearer = Awaited<ReturnType<typeof tokenFor>>;

/** A call that succeeds: the caller, the id in the path, and the body. */
interface Example {
  readonly by?: Bearer;
  readonly id?: string;
  readonly json?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

const settings = { ...noSignInLimits, EMANET_LIMIT_APPLICATIONS: "1000/60" };
const service = await startTestService({ after }, { settings });
/** New for each call, because the test moves the clock. */
const staff = () => tokenFor(service, { as: "staff" });
const reason = "test gerekçesi";

let serial = 0;
const newEmail = () => `kisi-${++serial}@ornek.example`;

async function made(target: string, json: object, headers: Record<string, string>): Promise<Record<string, unknown>> {
  const answer = await service.send("POST", target, { json, headers });
  assert.ok(answer.status < 300, `${target}: ${answer.body}`);
  return answer.json ?? {};
}

const application = () => ({
  ...{ kind: "company", full_name: "Deniz Örnek", email: newEmail(), phone: "05321112233", company_name: "Örnek AŞ" },
  ...{ tax_id: "1234567808", package: "starter", consents: { terms: true, privacy: true } },
});
const submitted = async () => String((await made("/applications", application(), {})).id);
const invitation = () => ({ email: newEmail(), full_name: "Kişi", role: "viewer" });
const newClient = { name: "Defter", scopes: ["account:read"], grant_types: ["client_credentials"] };
const rate = { policy: "snapshots_create", limit: 50, window_s: 60 };

async function client(by: Bearer): Promise<{ id: string; etag: string }> {
  const { client: one } = await made("/v1/oauth-clients", newClient, by.auth);
  const { id } = one as { id: string };
  const read = await service.send("GET", `/v1/oauth-clients/${id}`, { headers: by.auth });
  return { id, etag: read.headers.etag ?? assert.fail("no ETag") };
}

async function snapshotOf(by: Bearer): Promise<string> {
  const body = Buffer.from("merhaba");
  const answer = await service.send("POST", "/v1/snapshots?source=sunucu&path=a.txt", { body, headers: by.auth });
  assert.equal(answer.status, 201, answer.body.toString());
  return String(answer.json?.id);
}

/** A completed restore. */
async function restoreOf(by: Bearer): Promise<string> {
  const wanted = { snapshot_id: await snapshotOf(by), target: { kind: "download", format: "tar" } };
  const { id } = await made("/v1/restore", wanted, by.auth);
  for (;;) {
    const { json } = await service.send("GET", `/v1/restore/${id}`, { headers: by.auth });
    if (json?.status === "completed") return String(id);
  }
}

/** A recovery kit that can be fetched. */
async function kitOf() {
  const by = await tokenFor(service);
  const { id: vaultId } = await made("/v1/vaults", { name: "Kasa" }, by.auth);
  const ordered = await service.send("POST", `/v1/vaults/${vaultId}/recovery-kits`, { headers: by.auth });
  const id = String(ordered.json?.id);
  await storedRows(service.database, "update emanet.recovery_kits set ready_at = created_at where id = $1", [id]);
  return { by, id };
}

async function limitRequest(): Promise<string> {
  const { auth } = await tokenFor(service);
  return String((await made("/v1/rate-limits/requests", { ...rate, reason }, auth)).id);
}

async function memberOf(owner: Bearer): Promise<string> {
  const { personId } = await tokenFor(service, { accountId: owner.accountId ?? "", role: "viewer" });
  return personId ?? assert.fail("no person");
}

async function account(): Promise<string> {
  return (await tokenFor(service)).accountId ?? assert.fail("no account");
}

const onAccount = (json: object) => async () => ({ by: await staff(), id: await account(), json: { reason, ...json } });
const onApplication = (json: object) => async () => ({ by: await staff(), id: await submitted(), json });

const webhookUrl = { url: "https://hooks.example.com/", events: ["*"] };

/** A webhook of a new account. */
async function webhook(): Promise<{ by: Bearer; id: string }> {
  const by = await tokenFor(service);
  return { by, id: String((await made("/v1/webhooks", webhookUrl, by.auth)).id) };
}

async function delivery(): Promise<{ by: Bearer; id: string }> {
  const { by, id } = await webhook();
  await made(`/v1/webhooks/${id}/test`, {}, by.auth);
  const list = await service.send("GET", `/v1/webhooks/${id}/deliveries`, { headers: by.auth });
  return { by, id: (list.json as unknown as { data: [{ id: string }] }).data[0].id };
}

async function webhookWithEtag() {
  const { by, id } = await webhook();
  const { headers } = await service.send("GET", `/v1/webhooks/${id}`, { headers: by.auth });
  return { by, id, json: {}, headers: { "if-match": headers.etag ?? "" } };
}

/** Examples by operation. Each call makes its own objects. */
const examples: Readonly<Record<string, () => Promise<Example>>> = {
  "webhooks.create": async () => ({ by: await tokenFor(service), json: webhookUrl }),
  "webhooks.enable": webhook,
  "webhooks.disable": webhook,
  "webhooks.test": webhook,
  "webhooks.rotate_secret": webhookWithEtag,
  "webhooks.retry_failed": webhook,
  "webhooks.replay": async () => ({ ...(await webhook()), json: { from: "2026-11-01T00:00:00Z" } }),
  "webhook_deliveries.retry": delivery,
  "audit_shares.create": async () => ({ by: await tokenFor(service), json: { label: "Denetim" } }),
  "members.invite": async () => ({ by: await tokenFor(service), json: invitation() }),
  "members.erase": async () => {
    const by = await tokenFor(service);
    const id = await memberOf(by);
    assert.equal((await service.send("DELETE", `/v1/members/${id}`, { headers: by.auth })).status, 204);
    return { by, id };
  },
  "members.resend_invitation": async () => {
    const by = await tokenFor(service);
    const { id } = await made("/v1/members", invitation(), by.auth);
    // One mail per address and hour.
    service.clock.advance(3_601_000);
    return { by: await tokenFor(service, { accountId: by.accountId ?? "" }), id: String(id) };
  },
  "members.decide_second_factor_reset": async () => {
    const by = await tokenFor(service);
    const id = await memberOf(by);
    await made(`/v1/admin/members/${id}/reset-second-factor`, { reason }, (await staff()).auth);
    return { by, id, json: { decision: "cancel" } };
  },
  "agents.create": async () => {
    const by = await deviceGrant(service, await account());
    const proof = proofOf(by.accountId ?? "", { kind: "agent", id: by.sessionId }, keyOf(1));
    return { by, json: { name: "Sunucu", ...proof } };
  },
  "agents.replace": async () => {
    const by = await tokenFor(service);
    const make = (seed: number) => makeAgent(service, by.accountId ?? "", { seed });
    const old = await make(1);
    return { by, id: (await make(2)).id, json: { agent_id: old.id } };
  },
  "oauth_clients.create": async () => ({ by: await tokenFor(service), json: newClient }),
  "oauth_clients.rotate_secret": async () => {
    const by = await tokenFor(service);
    const { id, etag } = await client(by);
    return { by, id, json: {}, headers: { "if-match": etag } };
  },
  "oauth_clients.review": async () => {
    const by = await tokenFor(service);
    return { by, id: (await client(by)).id };
  },
  "oauth_grants.review": async () => {
    const by = await tokenFor(service);
    return { by, id: (await tokenFor(service, { accountId: by.accountId ?? "", as: "grant" })).sessionId };
  },
  "vaults.create": async () => ({ by: await tokenFor(service), json: { name: "Muhasebe" } }),
  "sources.create": async () => ({ by: await tokenFor(service), json: { name: "sunucu" } }),
  "taxpayers.create": async () => ({ by: await tokenFor(service), json: { name: "Deniz", tax_id: "1234567808" } }),
  "snapshots.create": async () => ({ by: await tokenFor(service), json: { source: "sunucu" } }),
  "snapshots.create_batch": async () => ({ by: await tokenFor(service), json: { items: [{ source: "sunucu" }] } }),
  "snapshots.cancel": async () => {
    const by = await tokenFor(service);
    return { by, id: String((await made("/v1/snapshots", { source: "sunucu" }, by.auth)).id) };
  },
  "snapshots.verify": async () => {
    const by = await tokenFor(service);
    return { by, id: await snapshotOf(by) };
  },
  "snapshots.undelete": async () => {
    const by = await tokenFor(service);
    const { id } = await made("/v1/snapshots", { source: "sunucu" }, by.auth);
    await made(`/v1/snapshots/${id}/cancel`, {}, by.auth);
    assert.equal((await service.send("DELETE", `/v1/snapshots/${id}`, { headers: by.auth })).status, 204);
    return { by, id: String(id) };
  },
  "snapshots.accept": async () => {
    const by = await tokenFor(service);
    return { by, id: await makeSuspicious(service, await snapshotOf(by)) };
  },
  "account.close": async () => ({ by: await tokenFor(service) }),
  "recovery_kits.create": async () => {
    const by = await tokenFor(service);
    return { by, id: String((await made("/v1/vaults", { name: "Kasa" }, by.auth)).id) };
  },
  "recovery_kits.cancel": () => kitOf(),
  "recovery_kits.download": () => kitOf(),
  "vaults.rotate_keys": async () => {
    const by = await tokenFor(service);
    return { by, id: String((await made("/v1/vaults", { name: "Kasa" }, by.auth)).id) };
  },
  "pending_acts.cancel": async () => {
    const by = await tokenFor(service);
    const { id } = await made("/v1/vaults", { name: "Kasa" }, by.auth);
    const call = { json: { keep_last: 1 }, headers: { ...by.auth, "if-match": "*" } };
    const put = await service.send("PUT", `/v1/vaults/${id}/retention`, call);
    return { by, id: objectIn<{ act_id: string }>(put, "pending").act_id };
  },
  "snapshots.create_download_link": async () => {
    const by = await tokenFor(service);
    return { by, id: await snapshotOf(by), json: { path: "a.txt" } };
  },
  "restores.create": async () => {
    const by = await tokenFor(service);
    return { by, json: { snapshot_id: await snapshotOf(by), target: { kind: "download", format: "tar" } } };
  },
  "orders.start": async () => {
    const owner = await tokenFor(service);
    const by = await makeAgent(service, owner.accountId ?? "");
    const target = { kind: "agent", agent_id: by.id };
    const { id } = await made("/v1/restore", { snapshot_id: await snapshotOf(owner), target }, owner.auth);
    return { by, id: String(id), json: { run_id: by.id } };
  },
  "restores.create_download_link": async () => {
    const by = await tokenFor(service);
    return { by, id: await restoreOf(by) };
  },
  "restores.cancel": async () => {
    const by = await tokenFor(service);
    const id = await restoreOf(by);
    const open = "state = 'running', archive_bytes = null, ended_at = null, expires_at = null";
    await storedRows(service.database, `update emanet.restores set ${open} where id = $1`, [id]);
    return { by, id };
  },
  "applications.submit": async () => ({ json: application() }),
  "rate_limits.request": async () => ({ by: await tokenFor(service), json: { ...rate, reason } }),
  "admin.reset_second_factor": async () => {
    const id = await memberOf(await tokenFor(service));
    return { by: await staff(), id, json: { reason } };
  },
  "admin.suspend_account": onAccount({ cause: "unpaid" }),
  "admin.resume_account": async () => {
    const { accountId } = await tokenFor(service, { state: "suspended" });
    return { by: await staff(), id: accountId ?? "", json: { reason } };
  },
  "admin.set_upkeep": async () => {
    const by = await tokenFor(service);
    const { id } = await made("/v1/vaults", { name: "Kasa" }, by.auth);
    return { by: await staff(), id: String(id), json: { paused: true, reason } };
  },
  "admin.set_package": onAccount({ package: "starter" }),
  "admin.set_entitlement": onAccount({ entitlement: "api", enabled: true }),
  "admin.set_early_access": onAccount({ early_access: true }),
  "admin.set_account_limit": onAccount(rate),
  "admin.reset_account_limit": onAccount({ policy: "snapshots_create" }),
  "admin.review_application": onApplication({ reason }),
  "admin.approve_application": onApplication({ reason }),
  "admin.reject_application": onApplication({ reason }),
  "admin.set_ban": async () => {
    const { sessionId } = await tokenFor(service);
    return { by: await staff(), json: { kind: "session", subject: sessionId, hours: 1, reason } };
  },
  "admin.lift_ban": async () => {
    const { sessionId } = await tokenFor(service);
    const ban = { kind: "session", subject: sessionId, hours: 1, reason };
    const by = await staff();
    return { by, id: String((await made("/v1/admin/bans", ban, by.auth)).id), json: { reason } };
  },
  "admin.approve_limit_request": async () => ({ by: await staff(), id: await limitRequest(), json: { reason } }),
  "admin.reject_limit_request": async () => ({ by: await staff(), id: await limitRequest(), json: { reason } }),
};

const keyed = readOperations().filter((operation) => takes(operation, "Idempotency-Key"));

describe("an operation with an Idempotency-Key", () => {
  test("has an example here, and no example is without an operation", () => {
    assert.deepEqual(keyed.map(({ operationId }) => operationId).sort(), Object.keys(examples).sort());
  });

  for (const operation of keyed) {
    test(`${operation.operationId}: answers as without a key, and a repetition gets the first answer`, async () => {
      const example = examples[operation.operationId] ?? assert.fail("no example");
      const call = async ({ by, id = "", json, headers }: Example, key: string | null) =>
        service.send(operation.method, operation.path.replaceAll(/\{\w+\}/g, id), {
          ...(json && { json }),
          headers: { ...by?.auth, ...headers, ...(key !== null && { "idempotency-key": key }) },
        });
      const without = await call(await example(), null);
      assert.ok(without.status < 300, `${without.status} ${without.body}`);
      const one = await example();
      const first = await call(one, operation.operationId);
      assert.equal(first.status, without.status, first.body.toString());
      assert.equal(first.headers["idempotency-replayed"], undefined);
      const again = await call(one, operation.operationId);
      assert.equal(again.status, first.status, again.body.toString());
      assert.equal(again.headers["idempotency-replayed"], "true");
      assert.deepEqual(again.json, first.json);
    });
  }
});

describe("POST /v1/admin/bans with an Idempotency-Key", () => {
  const anonymous = async () => (await service.send("GET", "/v1/none")).status;

  test("a ban of an address counts from the next request on, and so does its end", async () => {
    const headers = { ...(await staff()).auth, "idempotency-key": "address" };
    const json = { kind: "address", subject: "127.0.0.1", hours: 1, reason };
    const { id } = await made("/v1/admin/bans", json, headers);
    const banned = await anonymous();
    await made(`/v1/admin/bans/${id}/lift`, { reason }, headers);
    assert.deepEqual([banned, await anonymous()], [403, 404]);
  });
});
