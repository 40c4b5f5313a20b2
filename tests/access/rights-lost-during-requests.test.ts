/**
 * Rights that are lost during a request or a sign-in: a body that arrives slowly, a token that is older than a step-up, a
 * sign-in with a password that is replaced before it ends, a secret that a removed member has seen.
 */

import assert from "node:assert/strict";
import { request } from "node:https";
import { after, describe, test } from "node:test";
import { codeAt } from "../../packages/server/src/identity/factors/totp.ts";
import {
  authorizePath,
  basic,
  CookieJar,
  callback,
  fieldOf,
  locationOf,
  pkce,
  post,
  startOauth,
} from "../../packages/server/src/oauth/testing.ts";
import { tokenFor } from "../../packages/server/src/testing/accounts.ts";
import { objectIn } from "../../packages/server/src/testing/lists.ts";
import { signInAs } from "../../packages/server/src/testing/people.ts";
import { storedRows } from "../../packages/server/src/testing/rows.ts";
import { messageTo, tokenIn } from "../../packages/server/src/testing/sent-messages.ts";

const { service, site, demo, client } = await startOauth({ after });

/** Sends the head and the first part of the body; `finish` sends the rest. */
function begin(method: string, target: string, json: object, auth: Readonly<Record<string, string>>) {
  const { hostname, port } = new URL(service.url);
  const text = JSON.stringify(json);
  const headers = { ...auth, "content-type": "application/json", "content-length": String(text.length) };
  const sending = request({ hostname, port, path: target, method, headers, ca: service.ca });
  const answered = new Promise<number>((resolve, reject) => {
    sending.on("error", reject);
    sending.on("response", (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
  });
  sending.write(text.slice(0, 1));
  return { answered, finish: () => sending.end(text.slice(1)) };
}

/** Waits until the service has read the head. Nothing shows that moment, so it sends a few other requests. */
async function headWasRead(auth: Readonly<Record<string, string>>): Promise<void> {
  for (let round = 0; round < 3; round++) await service.send("GET", "/v1/account", { headers: auth });
}

describe("a request whose body arrives slowly", () => {
  for (const [what, target, json] of [
    ["creates no client", "/v1/oauth-clients", { name: "Arka kapi", scopes: ["account:write"] }],
    ["invites no member", "/v1/members", { email: "yandas@ornek.example", full_name: "Yandas", role: "viewer" }],
  ] as const) {
    test(`401: ${what} for a member who was removed in the meantime`, async () => {
      const manager = await tokenFor(service, { accountId: demo.account_id, role: "manager" });
      const { answered, finish } = begin("POST", target, json, manager.auth);
      await headWasRead(manager.auth);
      const owner = await tokenFor(service, { accountId: demo.account_id });
      const removed = await service.send("DELETE", `/v1/members/${manager.personId}`, { headers: owner.auth });
      assert.equal(removed.status, 204);
      service.clock.advance(1_000);
      finish();
      assert.equal(await answered, 401);
    });
  }

  test("403: changes nothing for an owner who was demoted in the meantime; it succeeds for one who was not", async () => {
    const owner = await tokenFor(service, { accountId: demo.account_id });
    const before = begin("PATCH", "/v1/account", { name: "Yeni Ad" }, owner.auth);
    await headWasRead(owner.auth);
    service.clock.advance(1_000);
    before.finish();
    assert.equal(await before.answered, 200);
    const { answered, finish } = begin("PATCH", "/v1/account", { name: "Ele Gecti" }, owner.auth);
    await headWasRead(owner.auth);
    // Through the service: it knows of its own changes before it answers them.
    const other = await tokenFor(service, { accountId: demo.account_id });
    const demoted = await service.send("PATCH", `/v1/members/${owner.personId}`, {
      headers: other.auth,
      json: { role: "viewer" },
    });
    assert.equal(demoted.status, 200, demoted.body.toString());
    service.clock.advance(1_000);
    finish();
    assert.equal(await answered, 403);
  });
});

test("403: a token that was issued before a step-up stays old; the new token is fresh", async () => {
  const { token, auth } = await signInAs(service, demo);
  service.clock.advance(601_000);
  const renew = async (headers: Readonly<Record<string, string>>) =>
    (await service.send("POST", "/v1/me/recovery-codes", { headers })).json?.code ?? "passed";
  assert.equal(await renew(auth), "step_up_required");
  service.clock.advance(30_000);
  const json = { totp_code: codeAt(demo.totp_secret, service.clock.now()) };
  const stepped = await service.send("POST", "/v1/auth/step-up", { json, headers: auth });
  assert.equal(stepped.status, 200, stepped.body.toString());
  assert.notEqual(stepped.json?.access_token, token);
  assert.equal(await renew(auth), "step_up_required", "the old token");
  assert.equal(await renew({ authorization: `Bearer ${stepped.json?.access_token}` }), "passed");
});

test("a client is put in review when a member leaves who has seen its secret, also if another member made it", async () => {
  const owner = await tokenFor(service, { accountId: demo.account_id });
  const manager = await tokenFor(service, { accountId: demo.account_id, role: "manager" });
  const json = { name: "Ortak", scopes: ["snapshots:write", "account:write"] };
  const made = await service.send("POST", "/v1/oauth-clients", { json, headers: owner.auth });
  const target = `/v1/oauth-clients/${objectIn<{ id: string }>(made, "client").id}`;
  const rotated = await service.send("POST", `${target}/rotate-secret`, {
    json: {},
    headers: { ...manager.auth, "if-match": "*" },
  });
  const proof = basic(target.split("/").at(-1) ?? "", String(rotated.json?.secret));
  const answer = await post(site, "/oauth2/token", { grant_type: "client_credentials" }, proof);
  assert.equal(answer.status, 200);
  const read = async () =>
    (await service.send("GET", "/v1/account", { headers: { authorization: `Bearer ${answer.json?.access_token}` } }))
      .status;
  await service.send("DELETE", `/v1/members/${manager.personId}`, { headers: owner.auth });
  const shown = await service.send("GET", target, { headers: owner.auth });
  assert.ok(typeof shown.json?.review_since === "string");
  assert.equal(await read(), 403);
});

describe("a sign-in with a password that is replaced before it ends", () => {
  /** Replaces the password with a reset link. */
  async function reset(count: number): Promise<string> {
    await service.send("POST", "/v1/auth/password-reset/request", { json: { email: demo.email } });
    const token = tokenIn(await messageTo(service.dataDir, demo.email, "password_reset", count));
    const new_password = `yepyeni uzun bir parola ${count}`;
    const done = await service.send("POST", "/v1/auth/password-reset", { json: { token, new_password } });
    assert.equal(done.status, 204, done.body.toString());
    return new_password;
  }

  test("grants nothing to a program, although the consent page was already open", async () => {
    const jar = new CookieJar(site);
    const interaction = locationOf(await jar.get(authorizePath(client, pkce().challenge, { redirect_uri: callback })));
    const page = await jar.get(interaction);
    const totp_code = site.nextCode(demo.totp_secret);
    const { email, password } = demo;
    await jar.post(interaction, { csrf: fieldOf(page, "csrf"), act: "sign_in", email, password, totp_code });
    const consent = await jar.get(interaction);
    assert.equal(consent.status, 200);
    const before = await storedRows(service.database, "select id from emanet.sessions where client_id = $1", [client]);
    await reset(1);
    const decided = await jar.post(interaction, { csrf: fieldOf(consent, "csrf"), act: "approve" });
    const after = await storedRows(service.database, "select id from emanet.sessions where client_id = $1", [client]);
    assert.equal(after.length, before.length, decided.body.toString());
  });

  test("opens no session, although the password was right when it was read", async () => {
    const password = await reset(2);
    service.clock.advance(30_000);
    const holder = await service.database.owner.connect();
    try {
      await holder.query("begin");
      await holder.query("select set_config('emanet.scope', 'system', true)");
      const change =
        "update emanet.credentials set changed_at = changed_at + interval '1 second' where person_id = (select id from emanet.people where email = $1)";
      await holder.query(change, [demo.email]);
      const json = { email: demo.email, password, totp_code: codeAt(demo.totp_secret, service.clock.now()) };
      const login = service.send("POST", "/v1/auth/login", { json });
      // The sign-in has read the password and waits for the lock of the row.
      const waiting = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
      while ((await service.database.owner.query(waiting)).rowCount === 0) await new Promise(setImmediate);
      await holder.query("commit");
      assert.equal((await login).status, 401);
    } finally {
      holder.release();
    }
  });
});
