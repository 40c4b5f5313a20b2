/**
 * A program calls every operation of the document, with valid bodies and ids of real objects. Afterwards it must have the
 * same power as before. *Power* is all data that decides who may do what in an account: people, roles, factors, clients
 * with their scopes, roles, vaults and secrets, grants, and settings of the account. The test reads it from the database
 * and does not rely on answers of the service.
 *
 * The programs are an application that acts for an owner with a fresh second factor, a client of role owner, and an agent,
 * each with many sets of scopes. The operations come from the document, so a new operation is included.
 */

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { makeClient } from "../../packages/server/src/accounts/testing.ts";
import { makeAgent } from "../../packages/server/src/agents/testing.ts";
import { oauthScopes } from "../../packages/server/src/declarations.ts";
import { apiDocument } from "../../packages/server/src/endpoints.ts";
import { type Bearer, tokenFor } from "../../packages/server/src/testing/accounts.ts";
import { type KeptAliveRequest, openKeptAlive } from "../../packages/server/src/testing/kept-alive.ts";
import { objectIn } from "../../packages/server/src/testing/lists.ts";
import { noSignInLimits } from "../../packages/server/src/testing/people.ts";
import { storedRows } from "../../packages/server/src/testing/rows.ts";
import { startTestService } from "../../packages/server/src/testing/running.ts";
import { scaled } from "../../packages/server/src/testing/scale.ts";
import { seededRandom } from "../../packages/server/src/testing/seeded-random.ts";
import { defaultVaultId } from "../../packages/server/src/vaults/testing.ts";

interface Operation {
  readonly operationId: string;
  readonly "x-access": "public" | "account" | "person" | "staff" | "share";
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
}

/** The part of JSON Schema that bodies use. */
interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly format?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly minLength?: number;
}

interface Row extends Operation {
  readonly method: string;
  readonly path: string;
}

const document = apiDocument({ complete: true }) as unknown as {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
};
/** All operations except the logout: it only ends the session of the caller, and with it the test. */
const operations: readonly Row[] = Object.entries(document.paths)
  .flatMap(([place, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path: place })),
  )
  .filter(({ operationId }) => operationId !== "auth.logout");
const service = await startTestService({ after }, { settings: { ...noSignInLimits, EMANET_PLANNED_LIMITS: "off" } });
const unknownId = "0199c0de-0000-7000-8000-00000000dead";
const allScopes = Object.keys(oauthScopes);

/** Bound to one client, and expected every hour. */
const victimSource = "sunucu-1";

/** A name that a pack may have. */
const packName = "0a".repeat(16);

/** Bodies of operations that do not take JSON: they reach the check of who uploads. */
const contents: Readonly<Record<string, string>> = {
  "application/vnd.emanet.upload": "\x01\x01\0\0",
  "application/vnd.emanet.read": "\x01\x10\0",
  "application/octet-stream": "x",
};

/** Bodies that request the widest rights. Other bodies are made from their schema. */
const greedy: Readonly<Record<string, object>> = {
  "account.update": { sms_sign_in: false },
  "members.invite": { email: "yandas@ornek.example", full_name: "Yandaş", role: "owner" },
  "members.update": { role: "owner" },
  "members.decide_second_factor_reset": { decision: "confirm" },
  "oauth_clients.create": { name: "Hepsi", scopes: allScopes, role: "owner", vault_ids: null },
  "oauth_clients.update": { scopes: allScopes, role: "owner", vault_ids: null },
  "vaults.create": { name: "Kasa" },
  "vaults.update": { quota_bytes: null },
  "sources.update": { expected_every: null },
  "sources.set_writers": { writers: [] },
};

/** The first or smallest value that the schema allows. */
function sample(schema: Schema): unknown {
  if (schema.$ref !== undefined) return sample(document.components.schemas[schema.$ref.split("/").at(-1) ?? ""] ?? {});
  if (schema.anyOf !== undefined) return sample(schema.anyOf[0] ?? {});
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  switch (schema.type) {
    case "object": {
      const properties = Object.entries(schema.properties ?? {});
      const required = properties.filter(([name]) => schema.required?.includes(name));
      return Object.fromEntries(required.map(([name, each]) => [name, sample(each)]));
    }
    case "array":
      return [sample(schema.items ?? {})];
    case "integer":
    case "number":
      return schema.minimum ?? 1;
    case "boolean":
      return true;
    default:
      return sampleText(schema);
  }
}

function sampleText({ format, pattern = "", minLength = 1 }: Schema): string {
  if (format === "uuid") return unknownId;
  if (format === "email") return "kimse@ornek.example";
  if (format === "uri") return "https://ornek.example/";
  return pattern.includes("\\d") || pattern.includes("0-9")
    ? "0".repeat(Math.max(6, minLength))
    : "x".repeat(minLength);
}

/** An account with an owner, people in every state, clients, a grant in review, a waiting reset, a vault, a source, a taxpayer, snapshots, an upload, restores and a webhook. */
async function makeVictim() {
  const owner = await tokenFor(service);
  const accountId = owner.accountId ?? "";
  const viewer = await tokenFor(service, { accountId, role: "viewer" });
  const invited = await service.send("POST", "/v1/members", {
    json: { email: `${accountId}@davet.example`, full_name: "Davetli", role: "viewer" },
    headers: owner.auth,
  });
  const held = [await defaultVaultId(service, owner.auth)];
  const { client } = await makeClient(service, owner.auth, { scopes: ["account:write"], vault_ids: held });
  const withheld = await tokenFor(service, { accountId, as: "grant" });
  const review = "update emanet.sessions set review_since = now() where id = $1";
  await storedRows(service.database, review, [withheld.sessionId]);
  const staff = await tokenFor(service, { as: "staff" });
  const reset = { json: { reason: "telefon kayboldu" }, headers: staff.auth };
  await service.send("POST", `/v1/admin/members/${viewer.personId}/reset-second-factor`, reset);
  const made = async (target: string, json: object, headers = owner.auth) =>
    String((await service.send("POST", target, { json, headers })).json?.id);
  const writer = await tokenFor(service, { accountId, as: "client" });
  const agent = await makeAgent(service, accountId);
  const webhook = await made("/v1/webhooks", { url: "https://hooks.example.com/", events: ["*"] });
  await service.send("POST", `/v1/webhooks/${webhook}/test`, { headers: owner.auth });
  const deliveries = await service.send("GET", `/v1/webhooks/${webhook}/deliveries`, { headers: owner.auth });
  const [delivery] = (deliveries.json as unknown as { data: { id: string }[] }).data;
  const file = { body: Buffer.from("merhaba"), headers: writer.auth };
  const backup = await service.send("POST", "/v1/snapshots?source=yedek&path=a", file);
  const toDownload = { kind: "download", format: "tar" };
  const toAgent = { kind: "agent", agent_id: agent.id };
  const kept = await made("/v1/vaults", { name: "Saklama" });
  const change = { json: { keep_last: 1 }, headers: { ...owner.auth, "if-match": "*" } };
  const waiting = await service.send("PUT", `/v1/vaults/${kept}/retention`, change);
  const kit = await service.send("POST", `/v1/vaults/${kept}/recovery-kits`, { headers: owner.auth });
  const ids: Readonly<Record<string, readonly string[]>> = {
    pending_acts: [objectIn<{ act_id: string }>(waiting, "pending").act_id],
    recovery_kits: [kept, String(kit.json?.id)],
    webhooks: [webhook],
    webhook_deliveries: [delivery?.id ?? ""],
    vaults: [await made("/v1/vaults", { name: "Dolu", quota_bytes: 5 })],
    sources: [await made("/v1/sources", { name: victimSource, expected_every: 3600 }, writer.auth)],
    taxpayers: [await made("/v1/taxpayers", { name: "Deniz", tax_id: "1234567808" })],
    snapshots: [await made("/v1/snapshots", { source: victimSource }, writer.auth)],
    uploads: [await made("/v1/snapshots", { source: "ajan" }, agent.auth)],
    reads: [String(backup.json?.id)],
    orders: [await made("/v1/restore", { snapshot_id: backup.json?.id, target: toAgent }), agent.id],
    restores: [await made("/v1/restore", { snapshot_id: backup.json?.id, target: toDownload })],
    members: [viewer.personId ?? "", owner.personId ?? "", String(invited.json?.id)],
    oauth_clients: [client.id],
    agents: [agent.id],
    oauth_grants: [withheld.sessionId],
    sessions: [owner.sessionId],
    audit_shares: [await made("/v1/audit/shares", { label: "Denetim" })],
    audit: [(await service.send("GET", "/v1/audit/export", { headers: owner.auth })).headers["x-export-id"] ?? ""],
  };
  return { accountId, owner, ids };
}

type Victim = Awaited<ReturnType<typeof makeVictim>>;

/** Every row of the account that decides who may do what, without names and times of use. */
async function power({ accountId }: Victim): Promise<unknown> {
  const tables: Readonly<Record<string, string>> = {
    accounts: "id = $1",
    account_entitlements: "account_id = $1",
    account_limits: "account_id = $1",
    people: "account_id = $1",
    credentials: "account_id = $1",
    recovery_codes: "account_id = $1",
    otp_challenges: "account_id = $1",
    links: "account_id = $1",
    second_factor_resets: "account_id = $1",
    oauth_clients: "account_id = $1",
    agents: "account_id = $1",
    agent_vaults: "account_id = $1",
    oauth_client_secrets: "account_id = $1",
    sessions: "account_id = $1",
    bans: "account_id = $1",
    vaults: "account_id = $1 and kind <> 'taxpayer'",
    // Programs may make sources of their own, and are then their writers.
    sources: `account_id = $1 and name = '${victimSource}'`,
    source_writers: `source_id in (select id from emanet.sources where account_id = $1 and name = '${victimSource}')`,
  };
  const passing = new Set(["name", "language", "last_used_at", "updated_at", "version"]);
  const all: Record<string, unknown> = {};
  for (const [table, where] of Object.entries(tables)) {
    const rows = await storedRows<Record<string, unknown>>(
      service.database,
      `select * from emanet.${table} where ${where} order by 1, 2, 3`,
      [accountId],
    );
    all[table] = rows.map((row) => Object.fromEntries(Object.entries(row).filter(([name]) => !passing.has(name))));
  }
  return all;
}

/** The paths of an operation, one for each object that it could change. */
function targets(row: Row, victim: Victim, own: readonly string[]): readonly string[] {
  if (!row.path.includes("{")) return [row.path];
  const noun = row.operationId.split(".")[0] ?? "";
  const ids = [...(victim.ids[noun] ?? [unknownId]), ...own];
  return ids.map((id) => row.path.replace("{name}", packName).replaceAll(/\{\w+\}/g, id));
}

/** A few kept-alive connections: a TLS handshake per request would take most of the time. */
const connections = openKeptAlive({ after }, service, 8);

/** Calls the operations, checks that the power is unchanged, and returns the operations that succeeded. */
async function walk(victim: Victim, bearer: Bearer, rows: readonly Row[]): Promise<string[]> {
  const { auth, clientId, sessionId } = await tokenFor(service, { ...bearer, accountId: victim.accountId });
  const before = await power(victim);
  const own = [clientId, sessionId].filter((id) => id !== null);
  const calls = rows.flatMap((row) => targets(row, victim, own).map((target) => ({ row, target })));
  const statuses = await connections.all(calls.map(({ row, target }) => requestOf(row, target, auth)));
  const passed = calls.flatMap(({ row }, at) => ((statuses[at] ?? 500) < 300 ? [row.operationId] : []));
  const which = `${JSON.stringify(bearer)} changed who may do what; passed: ${passed}`;
  assert.deepEqual(await power(victim), before, which);
  return passed;
}

function requestOf(row: Row, target: string, auth: Readonly<Record<string, string>>): KeptAliveRequest {
  const schema = row.requestBody?.content["application/json"]?.schema;
  const json = greedy[row.operationId] ?? (schema && sample(schema));
  const request = { path: target, method: row.method, headers: auth };
  if (json === undefined) {
    const type = Object.keys(row.requestBody?.content ?? {}).find((each) => each in contents);
    if (type === undefined) return request;
    return { ...request, headers: { ...auth, "content-type": type }, body: contents[type] ?? "" };
  }
  return { ...request, headers: { ...auth, "content-type": "application/json" }, body: JSON.stringify(json) };
}

describe("a program that calls every operation of the document", () => {
  test("has a real object for every operation on an object, and bodies that succeed for a person", async () => {
    const victim = await makeVictim();
    for (const row of operations.filter((each) => ["account", "person"].includes(each["x-access"]))) {
      if (row.path.includes("{")) assert.ok(victim.ids[row.operationId.split(".")[0] ?? ""], row.operationId);
    }
    for (const [operationId, json] of Object.entries(greedy)) {
      const row = operations.find((each) => each.operationId === operationId) ?? assert.fail(operationId);
      const [target = ""] = targets(row, victim, []);
      const answer = await service.send(row.method, target, { json, headers: victim.owner.auth });
      assert.ok(answer.status < 300, `${operationId}: ${answer.status} ${answer.body}`);
    }
  });

  const random = seededRandom(16);
  const some = () => allScopes.filter(() => random.integer(2) === 0);
  const one = scaled(0, 1) === 1 ? allScopes.map((scope) => [scope]) : [["account:write"]];
  const sets = [...one, ["account:read", "account:write"], ...Array.from({ length: scaled(1, 20) }, some)];
  // With fewer scopes only operations that need a scope can answer differently.
  const scoped = operations.filter((row) => row["x-access"] === "account" || row["x-access"] === "person");
  const programs: Readonly<Record<string, Bearer>> = {
    "an application that acts for an owner": { as: "grant", role: "owner", clientRole: "owner" },
    "a client of role owner": { as: "client", clientRole: "owner" },
    "an agent of an owner": { as: "grant", role: "owner", kind: "agent" },
  };
  for (const [name, bearer] of Object.entries(programs)) {
    test(`${name}, with any set of scopes, gains no scope, role, vault, member, factor or client`, async () => {
      const victim = await makeVictim();
      const passed = await walk(victim, { ...bearer, scopes: allScopes }, operations);
      assert.ok(passed.includes("account.get") && passed.includes("oauth_clients.list"), "allowed operations succeed");
      for (const scopes of sets) await walk(victim, { ...bearer, scopes }, scoped);
    });
  }
});
