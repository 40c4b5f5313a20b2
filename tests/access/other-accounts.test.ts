/**
 * Every operation of the OpenAPI document with an object id in its path × callers of other accounts. The operations come
 * from the document; a new one without an example here fails. An example is a real object and a call that its own account
 * can make. That call runs last, so a 404 before it means "not yours" and not "never worked".
 */

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { after, describe, test } from "node:test";
import { makeAgent } from "../../packages/server/src/agents/testing.ts";
import { apiDocument } from "../../packages/server/src/endpoints.ts";
import { makeSuspicious } from "../../packages/server/src/retention/testing.ts";
import { tarOf } from "../../packages/server/src/snapshots/testing.ts";
import { tokenFor } from "../../packages/server/src/testing/accounts.ts";
import { objectIn } from "../../packages/server/src/testing/lists.ts";
import { noSignInLimits } from "../../packages/server/src/testing/people.ts";
import { storedRows } from "../../packages/server/src/testing/rows.ts";
import { type Sent, startTestService } from "../../packages/server/src/testing/running.ts";
import { temporaryFolder } from "../../packages/server/src/testing/temporary-folder.ts";
import { inTurn, openAgent, uploadUntil } from "../../packages/server/src/uploads/testing.ts";

interface Operation {
  readonly operationId: string;
  readonly "x-access": "public" | "account" | "person" | "staff";
  readonly "x-step-up"?: boolean;
}

interface Row extends Operation {
  readonly method: string;
  readonly path: string;
}

type Bearer = Awaited<ReturnType<typeof tokenFor>>;

/** An object of an account, and a body with which the operation works on it. */
interface Example {
  readonly id: string;
  /** The second parameter of the path. */
  readonly name?: string;
  readonly body?: object;
  /** Instead of a JSON body. */
  readonly content?: Buffer;
  /** Who may call the operation on it; by default the owner of its account. */
  readonly by?: Pick<Bearer, "auth">;
  readonly headers?: Readonly<Record<string, string>>;
}

const service = await startTestService({ after }, { settings: noSignInLimits });
const document = apiDocument({ complete: true }) as unknown as { paths: Record<string, Record<string, Operation>> };
const rows: readonly Row[] = Object.entries(document.paths).flatMap(([place, methods]) =>
  Object.entries(methods)
    .filter(() => place.includes("{"))
    .map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path: place })),
);
const unknownId = "0199c0de-0000-7000-8000-00000000dead";

async function created(target: string, json: object, { auth }: Bearer): Promise<string> {
  const answer = await service.send("POST", target, { json, headers: auth });
  assert.equal(answer.status, 201, answer.body.toString());
  return String(answer.json?.id ?? (answer.json?.client as { id: string } | undefined)?.id);
}

async function member(owner: Bearer): Promise<string> {
  const { personId } = await tokenFor(service, { accountId: owner.accountId ?? "", role: "viewer" });
  return personId ?? assert.fail("no person");
}

let invitations = 0;
async function formerMember(owner: Bearer): Promise<string> {
  const id = await member(owner);
  assert.equal((await service.send("DELETE", `/v1/members/${id}`, { headers: owner.auth })).status, 204);
  return id;
}

const invitation = (owner: Bearer) =>
  created("/v1/members", { email: `kisi-${++invitations}@ornek.example`, full_name: "Kişi", role: "viewer" }, owner);

async function waitingReset(owner: Bearer): Promise<string> {
  const id = await member(owner);
  const { auth: headers } = await tokenFor(service, { as: "staff" });
  const call = { json: { reason: "telefon kayboldu" }, headers };
  const asked = await service.send("POST", `/v1/admin/members/${id}/reset-second-factor`, call);
  assert.ok(asked.status < 300, asked.body.toString());
  return id;
}

const client = (owner: Bearer) =>
  created(
    "/v1/oauth-clients",
    { name: "Defter", scopes: ["account:read"], grant_types: ["client_credentials"], auth_method: "client_secret" },
    owner,
  );

const vault = (owner: Bearer) => created("/v1/vaults", { name: "Muhasebe" }, owner);
/** A recovery kit that can be fetched. */
async function kit(owner: Bearer): Promise<string> {
  const call = { headers: owner.auth };
  const ordered = await service.send("POST", `/v1/vaults/${await vault(owner)}/recovery-kits`, call);
  assert.equal(ordered.status, 202, ordered.body.toString());
  const id = String(ordered.json?.id);
  await storedRows(service.database, "update emanet.recovery_kits set ready_at = created_at where id = $1", [id]);
  return id;
}
const auditShare = (owner: Bearer) => created("/v1/audit/shares", { label: "Denetim" }, owner);
const source = (owner: Bearer) => created("/v1/sources", { name: "sunucu" }, owner);

const taxpayer = (owner: Bearer) => created("/v1/taxpayers", { name: "Deniz", tax_id: "1234567808" }, owner);

/** A completed one; what is deleted of it can be undeleted. */
async function snapshot({ auth }: Bearer): Promise<string> {
  const call = { body: tarOf({ "a.txt": "merhaba" }), headers: { ...auth, "content-type": "application/x-tar" } };
  const answer = await service.send("POST", "/v1/snapshots?source=ofis", call);
  assert.equal(answer.status, 201, answer.body.toString());
  return String(answer.json?.id);
}

const queuedSnapshot = (owner: Bearer) => created("/v1/snapshots", { source: "ofis" }, owner);

async function deletedSnapshot(owner: Bearer): Promise<string> {
  const id = await snapshot(owner);
  assert.equal((await service.send("DELETE", `/v1/snapshots/${id}`, { headers: owner.auth })).status, 204);
  return id;
}

const inAWeek = () => new Date(service.clock.now().getTime() + 7 * 86_400_000).toISOString();

async function heldSnapshot(owner: Bearer): Promise<string> {
  const id = await snapshot(owner);
  const call = { json: { reason: "inceleme" }, headers: owner.auth };
  assert.equal((await service.send("PUT", `/v1/snapshots/${id}/hold`, call)).status, 200);
  return id;
}

const suspiciousSnapshot = async (owner: Bearer) => makeSuspicious(service, await snapshot(owner));

async function pendingAct(owner: Bearer): Promise<string> {
  const headers = { ...owner.auth, "if-match": "*" };
  const call = { json: { keep_last: 1 }, headers };
  const put = await service.send("PUT", `/v1/vaults/${await vault(owner)}/retention`, call);
  assert.equal(put.status, 202, put.body.toString());
  return objectIn<{ act_id: string }>(put, "pending").act_id;
}

const grant = async (owner: Bearer) =>
  (await tokenFor(service, { accountId: owner.accountId ?? "", as: "grant" })).sessionId;

async function session(owner: Bearer): Promise<Example> {
  const by = await tokenFor(service, { accountId: owner.accountId ?? "", role: "viewer" });
  return { id: by.sessionId, by };
}

let agents = 0;
const agent = (owner: Bearer) => makeAgent(service, owner.accountId ?? "", { seed: ++agents });

const services = inTurn([service]);
const folder = await temporaryFolder({ after });
await writeFile(path.join(folder, "a.txt"), "merhaba");

/** A snapshot that an agent uploads, and the agent's next call. */
const upload = (operation: Parameters<typeof uploadUntil>[3]) => async (owner: Bearer) => {
  const by = await openAgent(services, owner.accountId ?? "", 1);
  const { body: content, mediaType, ...next } = await uploadUntil(services, by, folder, operation);
  return { ...next, content, by: { auth: await by.auth() }, headers: { "content-type": mediaType } };
};

const webhook = (owner: Bearer) => created("/v1/webhooks", { url: "https://hooks.example.com/", events: ["*"] }, owner);

/** A delivery of a test; its webhook is at an address that nobody has. */
async function delivery(owner: Bearer): Promise<string> {
  const id = await webhook(owner);
  assert.equal((await service.send("POST", `/v1/webhooks/${id}/test`, { headers: owner.auth })).status, 202);
  const answer = await service.send("GET", `/v1/webhooks/${id}/deliveries`, { headers: owner.auth });
  return (answer.json as unknown as { data: [{ id: string }] }).data[0].id;
}

const question = { signature: "t=1,v1=0", body: "{}" };

/** An empty message of the read protocol, with the code of its operation. */
/** A request of the read protocol that asks for nothing. */
function readMessage(code: number): Buffer {
  const payload = code === 16 ? [] : code === 20 ? [0, 0] : [0];
  return Buffer.from([1, code, ...payload, 0]);
}

const reading = (code: number) => async (owner: Bearer) => ({
  ...{ id: await snapshot(owner), content: readMessage(code) },
  headers: { "content-type": "application/vnd.emanet.read" },
});

/** A completed restore. */
async function restore(owner: Bearer): Promise<string> {
  const json = { snapshot_id: await snapshot(owner), target: { kind: "download", format: "tar" } };
  const answer = await service.send("POST", "/v1/restore", { json, headers: owner.auth });
  assert.equal(answer.status, 202, answer.body.toString());
  const id = String(answer.json?.id);
  for (;;) {
    const { json: read } = await service.send("GET", `/v1/restore/${id}`, { headers: owner.auth });
    if (read?.status === "completed") return id;
  }
}

/** One that is not completed, and whose job is gone. */
async function openRestore(owner: Bearer): Promise<string> {
  const id = await restore(owner);
  await storedRows(
    service.database,
    `update emanet.restores set state = 'running', archive_bytes = null, ended_at = null, expires_at = null where id = $1`,
    [id],
  );
  return id;
}

/** An order to an agent of the account, and the agent. */
async function order(owner: Bearer) {
  const by = await agent(owner);
  const json = { snapshot_id: await snapshot(owner), target: { kind: "agent", agent_id: by.id } };
  const answer = await service.send("POST", "/v1/restore", { json, headers: owner.auth });
  assert.equal(answer.status, 202, answer.body.toString());
  return { id: String(answer.json?.id), by };
}

/** A run of its agent works on it. */
async function takenOrder(owner: Bearer) {
  const { id, by } = await order(owner);
  const taken = await service.send("POST", `/v1/orders/${id}/start`, { json: { run_id: unknownId }, headers: by.auth });
  assert.equal(taken.status, 200, taken.body.toString());
  return { id, by };
}

const orderReading = (code: number) => async (owner: Bearer) => ({
  ...(await takenOrder(owner)),
  content: readMessage(code),
  headers: { "content-type": "application/vnd.emanet.read" },
});

const report = { run_id: unknownId, bytes_restored: 0, files_restored: 0 };

/** The name of a pack of the account. */
async function packOf(owner: Bearer): Promise<string> {
  const [row] = await storedRows<{ id: string }>(
    service.database,
    "select id from emanet.vaults where account_id = $1",
    [owner.accountId],
  );
  const vault = await service.running.services?.vaults.open(owner.accountId ?? "", row?.id ?? "");
  assert.ok(vault !== undefined);
  const { value } = await vault.store.list(vault.names.packs)[Symbol.asyncIterator]().next();
  return String(value?.name.split("/").at(-1));
}

/** Examples by operation. */
const examples: Readonly<Record<string, (owner: Bearer) => Promise<Example>>> = {
  "members.get": async (owner) => ({ id: await member(owner) }),
  "members.update": async (owner) => ({ id: await member(owner), body: { role: "operator" } }),
  "members.remove": async (owner) => ({ id: await member(owner) }),
  "members.erase": async (owner) => ({ id: await formerMember(owner) }),
  "members.resend_invitation": async (owner) => ({ id: await invitation(owner) }),
  "members.decide_second_factor_reset": async (owner) => ({
    id: await waitingReset(owner),
    body: { decision: "cancel" },
  }),
  "oauth_clients.get": async (owner) => ({ id: await client(owner) }),
  "oauth_clients.update": async (owner) => ({ id: await client(owner), body: { name: "Başka" } }),
  "oauth_clients.delete": async (owner) => ({ id: await client(owner) }),
  "oauth_clients.rotate_secret": async (owner) => ({ id: await client(owner), body: {}, headers: { "if-match": "*" } }),
  "oauth_clients.review": async (owner) => ({ id: await client(owner) }),
  "oauth_grants.get": async (owner) => ({ id: await grant(owner) }),
  "oauth_grants.review": async (owner) => ({ id: await grant(owner) }),
  "oauth_grants.end": async (owner) => ({ id: await grant(owner) }),
  "vaults.get": async (owner) => ({ id: await vault(owner) }),
  "vaults.update": async (owner) => ({ id: await vault(owner), body: { quota_bytes: 5 } }),
  "vaults.rotate_keys": async (owner) => ({ id: await vault(owner) }),
  "recovery_kits.create": async (owner) => ({ id: await vault(owner) }),
  "recovery_kits.cancel": async (owner) => ({ id: await kit(owner) }),
  "recovery_kits.download": async (owner) => ({ id: await kit(owner) }),
  "sources.get": async (owner) => ({ id: await source(owner) }),
  "sources.update": async (owner) => ({ id: await source(owner), body: { name: "başka" } }),
  "sources.list_writers": async (owner) => ({ id: await source(owner) }),
  "sources.set_writers": async (owner) => ({ id: await source(owner), body: { writers: [] } }),
  "taxpayers.get": async (owner) => ({ id: await taxpayer(owner) }),
  "taxpayers.update": async (owner) => ({ id: await taxpayer(owner), body: { state: "archived" } }),
  "agents.get": async (owner) => ({ id: (await agent(owner)).id }),
  "agents.update": async (owner) => ({ id: (await agent(owner)).id, body: { name: "Başka" } }),
  "agents.delete": async (owner) => ({ id: (await agent(owner)).id }),
  "agents.replace": async (owner) => ({
    id: (await agent(owner)).id,
    body: { agent_id: (await agent(owner)).id },
  }),
  "agents.get_keys": async (owner) => {
    const by = await agent(owner);
    return { id: by.id, by };
  },
  "webhooks.get": async (owner) => ({ id: await webhook(owner) }),
  "webhooks.update": async (owner) => ({ id: await webhook(owner), body: { description: "Başka" } }),
  "webhooks.delete": async (owner) => ({ id: await webhook(owner) }),
  "webhooks.enable": async (owner) => ({ id: await webhook(owner) }),
  "webhooks.disable": async (owner) => ({ id: await webhook(owner) }),
  "webhooks.test": async (owner) => ({ id: await webhook(owner) }),
  "webhooks.rotate_secret": async (owner) => ({ id: await webhook(owner), body: {}, headers: { "if-match": "*" } }),
  "webhooks.verify_debug": async (owner) => ({ id: await webhook(owner), body: question }),
  "webhooks.get_statistics": async (owner) => ({ id: await webhook(owner) }),
  "webhooks.list_deliveries": async (owner) => ({ id: await webhook(owner) }),
  "webhooks.retry_failed": async (owner) => ({ id: await webhook(owner) }),
  "webhooks.replay": async (owner) => ({ id: await webhook(owner), body: { from: "2026-11-01T00:00:00Z" } }),
  "webhook_deliveries.get": async (owner) => ({ id: await delivery(owner) }),
  "webhook_deliveries.retry": async (owner) => ({ id: await delivery(owner) }),
  "snapshots.get": async (owner) => ({ id: await snapshot(owner) }),
  "snapshots.update": async (owner) => ({ id: await snapshot(owner), body: { label: "Ay sonu" } }),
  "snapshots.cancel": async (owner) => ({ id: await queuedSnapshot(owner) }),
  "snapshots.verify": async (owner) => ({ id: await snapshot(owner) }),
  "snapshots.put_file": async (owner) => ({ id: await queuedSnapshot(owner), content: Buffer.from("merhaba") }),
  "snapshots.begin_file": async (owner) => ({ id: await queuedSnapshot(owner), headers: { "upload-length": "7" } }),
  "snapshots.append_file": async (owner) => {
    const id = await queuedSnapshot(owner);
    const begun = { headers: { ...owner.auth, "upload-length": "7" } };
    assert.equal((await service.send("POST", `/v1/snapshots/${id}/files/a.txt`, begun)).status, 201);
    const headers = { "upload-offset": "0", "content-type": "application/offset+octet-stream" };
    return { id, content: Buffer.from("merhaba"), headers };
  },
  "snapshots.complete": async (owner) => ({ id: await queuedSnapshot(owner) }),
  "snapshots.delete": async (owner) => ({ id: await snapshot(owner) }),
  "snapshots.undelete": async (owner) => ({ id: await deletedSnapshot(owner) }),
  "snapshots.get_hold": async (owner) => ({ id: await heldSnapshot(owner) }),
  "snapshots.set_hold": async (owner) => ({ id: await snapshot(owner), body: { reason: "inceleme" } }),
  "snapshots.release_hold": async (owner) => ({ id: await heldSnapshot(owner) }),
  "snapshots.lock": async (owner) => ({ id: await snapshot(owner), body: { locked_until: inAWeek() } }),
  "snapshots.accept": async (owner) => ({ id: await suspiciousSnapshot(owner) }),
  "vaults.get_retention": async (owner) => ({ id: await vault(owner) }),
  "vaults.set_retention": async (owner) => ({ id: await vault(owner), body: {}, headers: { "if-match": "*" } }),
  "sources.get_retention": async (owner) => ({ id: await source(owner) }),
  "sources.set_retention": async (owner) => ({ id: await source(owner), body: {}, headers: { "if-match": "*" } }),
  "vaults.delete": async (owner) => ({ id: await vault(owner) }),
  "sources.delete": async (owner) => ({ id: await source(owner) }),
  "taxpayers.delete": async (owner) => ({ id: await taxpayer(owner) }),
  "pending_acts.cancel": async (owner) => ({ id: await pendingAct(owner) }),
  "snapshots.list_warnings": async (owner) => ({ id: await snapshot(owner) }),
  "snapshots.list_tree": async (owner) => ({ id: await snapshot(owner) }),
  "snapshots.diff": async (owner) => ({ id: await snapshot(owner) }),
  "snapshots.read_file": async (owner) => ({ id: await snapshot(owner) }),
  "snapshots.read_archive": async (owner) => ({ id: await snapshot(owner) }),
  "audit_shares.get": async (owner) => ({ id: await auditShare(owner) }),
  "audit_shares.revoke": async (owner) => ({ id: await auditShare(owner) }),
  "audit.resume_export": async ({ auth }) => {
    const { headers } = await service.send("GET", "/v1/audit/export", { headers: auth });
    return { id: headers["x-export-id"] ?? assert.fail("no export") };
  },
  "snapshots.read_receipt": async (owner) => ({ id: await snapshot(owner) }),
  "reads.open": reading(16),
  "reads.items": reading(17),
  "reads.frames": reading(18),
  "reads.keys": reading(19),
  "reads.find": reading(20),
  "reads.read_pack": async (owner) => ({ id: await snapshot(owner), name: await packOf(owner) }),
  "orders.list": async (owner) => {
    const { by } = await order(owner);
    return { id: by.id, by };
  },
  "orders.start": async (owner) => ({ ...(await order(owner)), body: { run_id: unknownId } }),
  "orders.report": async (owner) => ({ ...(await takenOrder(owner)), body: report }),
  "orders.finish": async (owner) => ({ ...(await takenOrder(owner)), body: { ...report, result: "completed" } }),
  "orders.read_open": orderReading(16),
  "orders.read_items": orderReading(17),
  "orders.read_frames": orderReading(18),
  "orders.read_keys": orderReading(19),
  "orders.read_find": orderReading(20),
  "orders.read_pack": async (owner) => ({ ...(await takenOrder(owner)), name: await packOf(owner) }),
  "restores.get": async (owner) => ({ id: await restore(owner) }),
  "restores.list_warnings": async (owner) => ({ id: await restore(owner) }),
  "restores.download": async (owner) => ({ id: await restore(owner) }),
  "restores.create_download_link": async (owner) => ({ id: await restore(owner) }),
  "restores.cancel": async (owner) => ({ id: await openRestore(owner) }),
  "snapshots.create_download_link": async (owner) => ({ id: await snapshot(owner), body: {} }),
  "uploads.begin": upload("begin"),
  "uploads.ordinals": upload("ordinals"),
  "uploads.offer": upload("offer"),
  "uploads.nodes": upload("nodes"),
  "uploads.register": upload("register"),
  "uploads.renew": upload("renew"),
  "uploads.complete": upload("complete"),
  "uploads.abandon": upload("abandon"),
  "uploads.put_pack": upload("pack"),
  "sessions.get": session,
  "sessions.end": session,
};

function call(row: Row, example: Example, { auth }: Pick<Bearer, "auth">): Promise<Sent> {
  const { id, name = "", body, content, headers } = example;
  const target = row.path
    .replace("{path}", "a.txt")
    .replace("{name}", name)
    .replaceAll(/\{\w+\}/g, id);
  const sent = { ...(body && { json: body }), ...(content && { body: content }) };
  return service.send(row.method, target, { ...sent, headers: { ...auth, ...headers } });
}

/** An answer without headers and fields that identify or count requests. */
function comparable({ status, headers, json }: Sent): unknown {
  const own = /^(date|x-request-id|x-ratelimit-(remaining|reset)|ratelimit)$/;
  const rest = Object.entries(headers).filter(([name]) => !own.test(name));
  return { status, headers: Object.fromEntries(rest), body: { ...json, instance: "", request_id: "" } };
}

describe("an operation on one object", () => {
  test("has an example here if the object belongs to an account, and no example is without an operation", () => {
    const ofAccounts = rows.filter((row) => row["x-access"] === "account" || row["x-access"] === "person");
    assert.deepEqual(ofAccounts.map(({ operationId }) => operationId).sort(), Object.keys(examples).sort());
    // Public paths name no object of an account: OAuth pages are found by a secret, and documentation is public.
    // A download link is its own right: it reads with the rights of its maker.
    // The dashboard's page and files are the same for everyone.
    const isOpen = /^\/(oauth2|docs|v1\/downloads|app|assets)\//;
    for (const row of rows.filter((one) => one["x-access"] === "public")) assert.match(row.path, isOpen);
    for (const row of rows.filter((one) => one["x-access"] === "staff")) assert.match(row.path, /^\/v1\/admin\//);
  });

  for (const row of rows.filter(({ operationId }) => operationId in examples)) {
    test(`404: ${row.operationId} on an object of another account is indistinguishable from a missing one`, async () => {
      const owner = await tokenFor(service);
      const example = (await examples[row.operationId]?.(owner)) ?? assert.fail("no example");
      const strangers = [
        await tokenFor(service),
        ...(row["x-access"] === "account" && !row["x-step-up"] ? [await tokenFor(service, { as: "client" })] : []),
        // A person's own object is hidden from colleagues and from staff too.
        ...(row["x-access"] === "person" ? [owner, await tokenFor(service, { as: "staff" })] : []),
      ];
      for (const stranger of strangers) {
        const theirs = await call(row, example, stranger);
        const unknown = await call(row, { ...example, id: unknownId }, stranger);
        assert.deepEqual([theirs.status, theirs.json?.code], [404, "not_found"], theirs.body.toString());
        assert.deepEqual(comparable(theirs), comparable(unknown));
      }
      const own = await call(row, example, example.by ?? owner);
      assert.ok(own.status >= 200 && own.status < 300, `its own account: ${own.status} ${own.body}`);
    });
  }
});
