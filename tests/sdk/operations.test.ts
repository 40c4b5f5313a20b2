/** Every operation of the TypeScript client, called once against the running service. A new one without a call here fails. */

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { after, describe, test } from "node:test";
import { deviceGrant, keyOf, makeAgent, proofOf } from "../../packages/server/src/agents/testing.ts";
import { codeAt } from "../../packages/server/src/identity/factors/totp.ts";
import { agentClientId } from "../../packages/server/src/oauth/index.ts";
import { makeSuspicious } from "../../packages/server/src/retention/testing.ts";
import { tarOf } from "../../packages/server/src/snapshots/testing.ts";
import { type Bearer, tokenFor } from "../../packages/server/src/testing/accounts.ts";
import { readFirstRun, signInAs } from "../../packages/server/src/testing/people.ts";
import { storedRows } from "../../packages/server/src/testing/rows.ts";
import { codeIn, messageTo, tokenIn } from "../../packages/server/src/testing/sent-messages.ts";
import { temporaryFolder } from "../../packages/server/src/testing/temporary-folder.ts";
import { inTurn, openAgent, uploadUntil } from "../../packages/server/src/uploads/testing.ts";
import { operations } from "../../sdks/typescript/src/api.generated.ts";
import { bearerToken, type EmanetClient } from "../../sdks/typescript/src/index.ts";
import { auditCalls } from "./audit-calls.ts";
import { clientAs, clientOf, startForClients } from "./connect.ts";
import { downloadCalls } from "./download-calls.ts";
import { orderCalls } from "./order-calls.ts";
import { retentionCalls } from "./retention-calls.ts";
import { webhookCalls } from "./webhook-calls.ts";
import { checkRecords } from "./written-records.ts";

const service = await startForClients({ after });
const { demo, staff: staffLogin } = await readFirstRun(service.dataDir);
const anonymous = clientOf(service);
const reason = "test gerekçesi";
const rate = { policy: "snapshots_create", limit: 50, window_s: 60 } as const;
const newClient = { name: "Defter", scopes: ["account:read"] } as const;

const newTaxpayer = { name: "Deniz Örnek", tax_id: "1234567808" } as const;

let serial = 0;
const newEmail = () => `kisi-${++serial}@ornek.example`;
/** Made for each call: the clock moves between them. */
const owner = async (accountId?: string) => clientAs(service, accountId === undefined ? {} : { accountId });
const staff = async () => (await clientAs(service, { as: "staff" })).client;
const accountId = async () => (await tokenFor(service)).accountId ?? assert.fail("no account");

async function invited(by: EmanetClient) {
  const email = newEmail();
  const { id } = await by.members.invite({ body: { email, full_name: "Kişi", role: "viewer" } });
  return { id, email };
}

async function enrolmentToken(): Promise<string> {
  const { email } = await invited((await owner()).client);
  return tokenIn(await messageTo(service.dataDir, email, "enrolment"));
}

async function oauthClient(by: EmanetClient): Promise<string> {
  return (await by.oauthClients.create({ body: newClient })).client.id;
}

async function vault(by: EmanetClient): Promise<string> {
  return (await by.vaults.create({ body: { name: "Muhasebe" } })).id;
}

async function source(by: EmanetClient): Promise<string> {
  return (await by.sources.create({ body: { name: "sunucu" } })).id;
}

/** A client whose account has a snapshot. The SDK does not send archives. */
async function withSnapshot() {
  const made = await tokenFor(service);
  const headers = { ...made.auth, "content-type": "application/x-tar" };
  const answer = await service.send("POST", "/v1/snapshots?source=ofis", { body: tarOf({ "a.txt": "1" }), headers });
  assert.equal(answer.status, 201, answer.body.toString());
  const token = made.auth.authorization.slice("Bearer ".length);
  const client = clientOf(service, { credentials: bearerToken(token) });
  return { client, id: String(answer.json?.id), accountId: made.accountId ?? "" };
}

const services = inTurn([service]);
const folder = await temporaryFolder({ after });
await writeFile(path.join(folder, "a.txt"), "merhaba");

/** An agent in the middle of an upload makes its next call with the client. */
async function uploading(operation: Exclude<keyof EmanetClient["uploads"], "putPack"> | "pack") {
  const agent = await openAgent(services, await accountId(), 1);
  const { id, name, body } = await uploadUntil(services, agent, folder, operation);
  const credentials = bearerToken((await agent.auth()).authorization.slice("Bearer ".length));
  const { uploads } = clientOf(service, { credentials });
  const answer = operation === "pack" ? uploads.putPack({ id, name, body }) : uploads[operation]({ id, body });
  return (await answer).bytes();
}

async function grant() {
  const { client, accountId: account } = await owner();
  const made = await tokenFor(service, { accountId: account ?? "", as: "grant" });
  return { client, id: made.sessionId };
}

async function member(wanted: Bearer = {}) {
  const { client, accountId: account } = await owner();
  const made = await tokenFor(service, { accountId: account ?? "", role: "viewer", ...wanted });
  return { client, id: made.personId ?? assert.fail("no person") };
}

/** A person who signed in with a password: only they have a factor and a phone. */
async function person() {
  const { token, refresh } = await signInAs(service, demo);
  return { client: clientOf(service, { credentials: bearerToken(token) }), cookie: `__Host-refresh=${refresh}` };
}

const nextCode = () => {
  service.clock.advance(30_000);
  return codeAt(demo.totp_secret, service.clock.now());
};

const application = (email = newEmail()) => ({
  ...({ kind: "company", full_name: "Deniz Örnek", email, phone: "05321112233", company_name: "Örnek AŞ" } as const),
  ...({ tax_id: "1234567808", package: "starter", consents: { terms: true, privacy: true } } as const),
});
const submitted = async () => (await anonymous.applications.submit({ body: application() })).id;

async function limitRequest(): Promise<string> {
  return (await (await owner()).client.rateLimits.request({ body: { ...rate, reason } })).id;
}

async function ban(by: EmanetClient) {
  const { sessionId: subject } = await tokenFor(service);
  return by.admin.setBan({ body: { kind: "session", subject, hours: 1, reason } });
}

const asProgram = { client_id: demo.client_id, client_secret: demo.client_secret } as const;
const programToken = async () =>
  (await anonymous.oauth.token({ body: { grant_type: "client_credentials", ...asProgram } })).access_token;

const calls: Readonly<Record<string, () => Promise<unknown>>> = {
  "account.get": async () => (await owner()).client.account.get(),
  "account.update": async () => (await owner()).client.account.update({ body: { name: "Başka Ofis" } }),
  "account.close": async () => (await owner()).client.account.close(),
  "account.export": async () => (await (await owner()).client.account.export()).text(),
  "oauthClients.list": async () => (await owner()).client.oauthClients.list({ limit: 5 }),
  "oauthClients.create": async () => (await owner()).client.oauthClients.create({ body: newClient }),
  "oauthClients.get": async () => {
    const { client } = await owner();
    return client.oauthClients.get({ id: await oauthClient(client) });
  },
  "oauthClients.update": async () => {
    const { client } = await owner();
    return client.oauthClients.update({ id: await oauthClient(client), body: { name: "Başka" } });
  },
  "oauthClients.delete": async () => {
    const { client } = await owner();
    return client.oauthClients.delete({ id: await oauthClient(client) });
  },
  "oauthClients.rotateSecret": async () => {
    const { client } = await owner();
    const id = await oauthClient(client);
    const { etag } = await client.oauthClients.get.answer({ id });
    return client.oauthClients.rotateSecret({ id }, { ifMatch: etag ?? assert.fail("no ETag") });
  },
  "oauthClients.review": async () => {
    const { client } = await owner();
    const id = await oauthClient(client);
    await storedRows(service.database, "update emanet.oauth_clients set review_since = now() where id = $1", [id]);
    return client.oauthClients.review({ id });
  },
  "agents.list": async () => (await owner()).client.agents.list(),
  "agents.create": async () => {
    const by = await deviceGrant(service, await accountId());
    const proof = proofOf(by.accountId ?? "", { kind: "agent", id: by.sessionId }, keyOf(1));
    const credentials = bearerToken(by.auth.authorization.slice("Bearer ".length));
    return clientOf(service, { credentials }).agents.create({ body: { name: "Sunucu", ...proof } });
  },
  "agents.get": async () => {
    const { client, accountId: account } = await owner();
    return client.agents.get({ id: (await makeAgent(service, account ?? "")).id });
  },
  "agents.update": async () => {
    const { client, accountId: account } = await owner();
    const { id } = await makeAgent(service, account ?? "");
    return client.agents.update({ id, body: { name: "Başka" } }, { ifMatch: "*" });
  },
  "agents.delete": async () => {
    const { client, accountId: account } = await owner();
    return client.agents.delete({ id: (await makeAgent(service, account ?? "")).id });
  },
  "vaults.list": async () => (await owner()).client.vaults.list({ sort: "name" }),
  "vaults.create": async () => (await owner()).client.vaults.create({ body: { name: "Muhasebe" } }),
  "vaults.get": async () => {
    const { client } = await owner();
    return client.vaults.get({ id: await vault(client) });
  },
  "vaults.update": async () => {
    const { client } = await owner();
    return client.vaults.update({ id: await vault(client), body: { quota_bytes: 1_000_000 } }, { ifMatch: "*" });
  },
  "sources.list": async () => (await owner()).client.sources.list({ freshness: "never" }),
  "sources.create": async () => (await owner()).client.sources.create({ body: { name: "sunucu" } }),
  "sources.get": async () => {
    const { client } = await owner();
    return client.sources.get({ id: await source(client) });
  },
  "sources.update": async () => {
    const { client } = await owner();
    return client.sources.update({ id: await source(client), body: { expected_every: 86_400 } }, { ifMatch: "*" });
  },
  "sources.listWriters": async () => {
    const { client } = await owner();
    return client.sources.listWriters({ id: await source(client) });
  },
  "sources.setWriters": async () => {
    const { client, id } = await member();
    return client.sources.setWriters({ id: await source(client), body: { writers: [{ kind: "member", id }] } });
  },
  ...orderCalls(service, withSnapshot),
  ...webhookCalls(async () => (await owner()).client, staff),
  "nights.list": async () => (await withSnapshot()).client.nights.list({ from: "2026-01-01", to: "2026-01-31" }),
  "usage.list": async () => (await withSnapshot()).client.usage.list(),
  "usage.total": async () => (await withSnapshot()).client.usage.total(),
  "files.search": async () => (await withSnapshot()).client.files.search({ query: "a.txt" }),
  "files.listHistory": async () => (await withSnapshot()).client.files.listHistory({ source: "ofis", path: "a.txt" }),
  "snapshots.list": async () => (await withSnapshot()).client.snapshots.list({ status: "completed" }),
  "snapshots.create": async () => (await owner()).client.snapshots.create({ body: { source: "ofis" } }),
  "snapshots.createBatch": async () =>
    (await owner()).client.snapshots.createBatch({ body: { items: [{ source: "ofis" }, { source: "sunucu" }] } }),
  "snapshots.get": async () => {
    const { client, id } = await withSnapshot();
    return client.snapshots.get({ id });
  },
  "snapshots.update": async () => {
    const { client, id } = await withSnapshot();
    return client.snapshots.update({ id, body: { label: "Ay sonu" } }, { ifMatch: "*" });
  },
  "snapshots.cancel": async () => {
    const { client } = await owner();
    return client.snapshots.cancel({ id: (await client.snapshots.create({ body: { source: "ofis" } })).id });
  },
  "snapshots.verify": async () => {
    const { client, id } = await withSnapshot();
    return client.snapshots.verify({ id });
  },
  "snapshots.putFile": async () => {
    const { client } = await owner();
    const { id } = await client.snapshots.create({ body: { source: "ofis" } });
    return client.snapshots.putFile({ id, path: "a/b.txt", body: Buffer.from("merhaba") });
  },
  "snapshots.beginFile": async () => {
    const { client } = await owner();
    const { id } = await client.snapshots.create({ body: { source: "ofis" } });
    return client.snapshots.beginFile({ id, path: "a.txt" }, { headers: { "Upload-Length": "7" } });
  },
  "snapshots.appendFile": async () => {
    const { client } = await owner();
    const { id } = await client.snapshots.create({ body: { source: "ofis" } });
    await client.snapshots.beginFile({ id, path: "a.txt" }, { headers: { "Upload-Length": "7" } });
    const part = { id, path: "a.txt", body: Buffer.from("merhaba") };
    return client.snapshots.appendFile(part, { headers: { "Upload-Offset": "0" } });
  },
  "snapshots.complete": async () => {
    const { client } = await owner();
    return client.snapshots.complete({ id: (await client.snapshots.create({ body: { source: "ofis" } })).id });
  },
  "snapshots.listWarnings": async () => {
    const { client, id } = await withSnapshot();
    return client.snapshots.listWarnings({ id });
  },
  "snapshots.diff": async () => {
    const { client, id } = await withSnapshot();
    return client.snapshots.diff({ id });
  },
  "snapshots.listTree": async () => {
    const { client, id } = await withSnapshot();
    return client.snapshots.listTree({ id });
  },
  ...downloadCalls(withSnapshot, anonymous),
  ...auditCalls(async () => (await owner()).client, staff, service),
  ...retentionCalls(
    withSnapshot,
    staff,
    (id) => makeSuspicious(service, id),
    (id) => storedRows(service.database, "update emanet.recovery_kits set ready_at = created_at where id = $1", [id]),
  ),
  "receipts.keys": () => anonymous.receipts.keys(),
  "uploads.begin": () => uploading("begin"),
  "uploads.ordinals": () => uploading("ordinals"),
  "uploads.offer": () => uploading("offer"),
  "uploads.nodes": () => uploading("nodes"),
  "uploads.register": () => uploading("register"),
  "uploads.renew": () => uploading("renew"),
  "uploads.complete": () => uploading("complete"),
  "uploads.abandon": () => uploading("abandon"),
  "uploads.putPack": () => uploading("pack"),
  "taxpayers.list": async () => (await owner()).client.taxpayers.list({ sort: "freshness" }),
  "taxpayers.create": async () => (await owner()).client.taxpayers.create({ body: newTaxpayer }),
  "taxpayers.get": async () => {
    const { client } = await owner();
    return client.taxpayers.get({ id: (await client.taxpayers.create({ body: newTaxpayer })).id });
  },
  "taxpayers.update": async () => {
    const { client } = await owner();
    const { id } = await client.taxpayers.create({ body: newTaxpayer });
    return client.taxpayers.update({ id, body: { state: "archived" } }, { ifMatch: "*" });
  },
  "members.list": async () => (await owner()).client.members.list(),
  "members.invite": async () => invited((await owner()).client),
  "members.get": async () => {
    const { client, id } = await member();
    return client.members.get({ id });
  },
  "members.update": async () => {
    const { client, id } = await member();
    return client.members.update({ id, body: { role: "operator" } }, { ifMatch: "*" });
  },
  "members.remove": async () => {
    const { client, id } = await member();
    return client.members.remove({ id });
  },
  "members.erase": async () => {
    const { client, id } = await member();
    await client.members.remove({ id });
    return client.members.erase({ id });
  },
  "members.resendInvitation": async () => {
    const { client, accountId: account } = await owner();
    const { id } = await invited(client);
    service.clock.advance(3_601_000);
    return (await owner(account ?? "")).client.members.resendInvitation({ id });
  },
  "members.decideSecondFactorReset": async () => {
    const { client, id } = await member();
    await (await staff()).admin.resetSecondFactor({ id, body: { reason } });
    return client.members.decideSecondFactorReset({ id, body: { decision: "cancel" } });
  },
  "me.get": async () => (await person()).client.me.get(),
  "me.update": async () => (await person()).client.me.update({ body: { full_name: "Başka Ad" } }),
  "me.changePassword": async () => {
    const { client } = await person();
    const body = { current_password: demo.password, new_password: "dokuz yeşil tekne uyur" };
    await client.me.changePassword({ body });
    const back = { current_password: body.new_password, new_password: demo.password };
    await client.me.changePassword({ body: back });
  },
  "me.beginTotp": async () => (await person()).client.me.beginTotp(),
  "me.confirmTotp": async () => {
    const { client } = await person();
    const { totp_secret: secret } = await client.me.beginTotp();
    const answer = await client.me.confirmTotp({ body: { totp_code: codeAt(secret, service.clock.now()) } });
    Object.assign(demo, { totp_secret: secret });
    return answer;
  },
  "me.renewRecoveryCodes": async () => (await person()).client.me.renewRecoveryCodes(),
  "me.requestPhoneCode": async () => (await person()).client.me.requestPhoneCode({ body: { phone: "05334445577" } }),
  "me.confirmPhone": async () => {
    const { client } = await person();
    service.clock.advance(60_000);
    const { challenge_id } = await client.me.requestPhoneCode({ body: { phone: "05334445588" } });
    const code = codeIn(await messageTo(service.dataDir, "+905334445588", "otp_code"));
    return client.me.confirmPhone({ body: { challenge_id, code } });
  },
  "enrolment.begin": async () => anonymous.enrolment.begin({ body: { token: await enrolmentToken() } }),
  "enrolment.requestCode": async () =>
    anonymous.enrolment.requestCode({ body: { token: await enrolmentToken(), phone: "05334445599" } }),
  "enrolment.complete": async () => {
    const token = await enrolmentToken();
    const { totp } = await anonymous.enrolment.begin({ body: { token } });
    const secret = totp?.totp_secret ?? assert.fail("no secret");
    const body = { token, password: "mavi bulut kırk yaprak", totp_code: codeAt(secret, service.clock.now()) };
    return anonymous.enrolment.complete({ body });
  },
  "oauthGrants.list": async () => (await grant()).client.oauthGrants.list(),
  "oauthGrants.get": async () => {
    const { client, id } = await grant();
    return client.oauthGrants.get({ id });
  },
  "oauthGrants.end": async () => {
    const { client, id } = await grant();
    return client.oauthGrants.end({ id });
  },
  "oauthGrants.review": async () => {
    const { client, id } = await grant();
    await storedRows(service.database, "update emanet.sessions set review_since = now() where id = $1", [id]);
    return client.oauthGrants.review({ id });
  },
  "auth.login": async () => {
    const { email, password } = demo;
    return anonymous.auth.login({ body: { email, password, totp_code: nextCode(), client: "api" } });
  },
  "auth.refresh": async () => anonymous.auth.refresh({}, { headers: { cookie: (await person()).cookie } }),
  "auth.logout": async () => anonymous.auth.logout({}, { headers: { cookie: (await person()).cookie } }),
  "auth.requestSmsCode": async () => {
    const { email, password } = demo;
    return anonymous.auth.requestSmsCode({ body: { email, password } });
  },
  "auth.stepUp": async () => (await person()).client.auth.stepUp({ body: { totp_code: nextCode() } }),
  "auth.requestPasswordReset": async () => anonymous.auth.requestPasswordReset({ body: { email: demo.email } }),
  "auth.resetPassword": async () => {
    const token = tokenIn(await messageTo(service.dataDir, demo.email, "password_reset"));
    return anonymous.auth.resetPassword({ body: { token, new_password: demo.password } });
  },
  "sessions.list": async () => (await person()).client.sessions.list(),
  "sessions.get": async () => {
    const { client, sessionId: id } = await owner();
    return client.sessions.get({ id });
  },
  "sessions.end": async () => {
    const { client, sessionId: id } = await owner();
    return client.sessions.end({ id });
  },
  "applications.submit": async () => submitted(),
  "applications.withdraw": async () => {
    const email = newEmail();
    await anonymous.applications.submit({ body: application(email) });
    const token = tokenIn(await messageTo(service.dataDir, email, "application_received"));
    return anonymous.applications.withdraw({ body: { token } });
  },
  "rateLimits.list": async () => (await owner()).client.rateLimits.list(),
  "rateLimits.request": async () => limitRequest(),
  "rateLimits.listRequests": async () => (await owner()).client.rateLimits.listRequests(),
  "oauth.token": programToken,
  "oauth.revoke": async () => anonymous.oauth.revoke({ body: { token: await programToken(), ...asProgram } }),
  "oauth.introspect": async () => anonymous.oauth.introspect({ body: { token: await programToken(), ...asProgram } }),
  "oauth.authorizeDevice": async () => anonymous.oauth.authorizeDevice({ body: { client_id: agentClientId } }),
  "oauth.keys": () => anonymous.oauth.keys(),
  "oauth.metadata": () => anonymous.oauth.metadata(),
  "oauth.metadataByRfc": () => anonymous.oauth.metadataByRfc(),
  "oauth.metadataOpenid": () => anonymous.oauth.metadataOpenid(),
  "sandbox.moveClock": async () => {
    const { token } = await signInAs(service, staffLogin);
    return clientOf(service, { credentials: bearerToken(token) }).sandbox.moveClock({ body: { advance_s: 1 } });
  },
  "health.live": () => anonymous.health.live(),
  "health.ready": () => anonymous.health.ready(),
  "docs.json": () => anonymous.docs.json(),
  "docs.yaml": async () => (await anonymous.docs.yaml()).text(),
  "admin.listAccounts": async () => (await staff()).admin.listAccounts({ limit: 1 }),
  "admin.getAccount": async () => (await staff()).admin.getAccount({ id: await accountId() }),
  "admin.suspendAccount": async () =>
    (await staff()).admin.suspendAccount({ id: await accountId(), body: { reason, cause: "unpaid" } }),
  "admin.resumeAccount": async () => {
    const { accountId: id } = await tokenFor(service, { state: "suspended" });
    return (await staff()).admin.resumeAccount({ id: id ?? "", body: { reason } });
  },
  "admin.setPackage": async () =>
    (await staff()).admin.setPackage({ id: await accountId(), body: { reason, package: "starter" } }),
  "admin.setEntitlement": async () =>
    (await staff()).admin.setEntitlement({
      id: await accountId(),
      body: { reason, entitlement: "api", enabled: true },
    }),
  "admin.setEarlyAccess": async () =>
    (await staff()).admin.setEarlyAccess({ id: await accountId(), body: { reason, early_access: true } }),
  "admin.listMembers": async () => (await staff()).admin.listMembers({ limit: 1 }),
  "admin.resetSecondFactor": async () =>
    (await staff()).admin.resetSecondFactor({ id: (await member()).id, body: { reason } }),
  "admin.listApplications": async () => (await staff()).admin.listApplications(),
  "admin.getApplication": async () => (await staff()).admin.getApplication({ id: await submitted() }),
  "admin.reviewApplication": async () =>
    (await staff()).admin.reviewApplication({ id: await submitted(), body: { reason } }),
  "admin.approveApplication": async () =>
    (await staff()).admin.approveApplication({ id: await submitted(), body: { reason } }),
  "admin.rejectApplication": async () =>
    (await staff()).admin.rejectApplication({ id: await submitted(), body: { reason } }),
  "admin.listBans": async () => (await staff()).admin.listBans(),
  "admin.listErasures": async () => (await staff()).admin.listErasures(),
  "erasures.list": async () => (await owner()).client.erasures.list(),
  "admin.listSnapshots": async () => (await staff()).admin.listSnapshots({ failure: "verification_failed" }),
  "admin.listRestores": async () => (await staff()).admin.listRestores({ status: "failed" }),
  "admin.setBan": async () => ban(await staff()),
  "admin.liftBan": async () => {
    const by = await staff();
    return by.admin.liftBan({ id: (await ban(by)).id, body: { reason } });
  },
  "admin.listRateLimits": async () => (await staff()).admin.listRateLimits(),
  "admin.setAccountLimit": async () =>
    (await staff()).admin.setAccountLimit({ id: await accountId(), body: { ...rate, reason } }),
  "admin.resetAccountLimit": async () =>
    (await staff()).admin.resetAccountLimit({ id: await accountId(), body: { policy: rate.policy, reason } }),
  "admin.listLimitRequests": async () => (await staff()).admin.listLimitRequests(),
  "admin.approveLimitRequest": async () =>
    (await staff()).admin.approveLimitRequest({ id: await limitRequest(), body: { reason } }),
  "admin.rejectLimitRequest": async () =>
    (await staff()).admin.rejectLimitRequest({ id: await limitRequest(), body: { reason } }),
  "admin.overview": async () => (await staff()).admin.overview(),
  "admin.listAudit": async () => (await staff()).admin.listAudit({ limit: 2 }),
  "admin.listJobs": async () => (await staff()).admin.listJobs(),
};

describe("every operation of the client", () => {
  test("has a call here, and no call is without an operation", () => {
    assert.deepEqual(Object.keys(calls).sort(), Object.keys(operations).sort());
  });

  for (const [id, call] of Object.entries(calls)) {
    test(`${id} succeeds, and its answer has the form that its type promises`, async () => {
      const answer = await call();
      const { reply } = operations[id as keyof typeof operations];
      assert.equal(answer === undefined, reply === "empty", JSON.stringify(answer));
    });
  }
});

test("each operation has written the records that docs/AUDIT-RECORDS.md promises", () => checkRecords(service));
