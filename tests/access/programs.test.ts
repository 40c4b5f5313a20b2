/**
 * Attacks of a security review, with real tokens: an application that a member allowed through the OAuth pages, a client
 * with client credentials, and the agents and clients of people who leave, are demoted or reset their password.
 */

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { agentClientId } from "../../packages/server/src/oauth/index.ts";
import {
  addClient,
  basic,
  callback,
  decideDevice,
  obtainCode,
  pollDevice,
  post,
  redeem,
  refresh,
  startDevice,
  startOauth,
} from "../../packages/server/src/oauth/testing.ts";
import { tokenFor } from "../../packages/server/src/testing/accounts.ts";
import { listIn } from "../../packages/server/src/testing/lists.ts";
import { signInAs } from "../../packages/server/src/testing/people.ts";
import { storedRows } from "../../packages/server/src/testing/rows.ts";
import { messageTo, tokenIn } from "../../packages/server/src/testing/sent-messages.ts";

const { service, site, demo } = await startOauth({ after });
const accountId = demo.account_id;

/** The scopes that a token of a program gives now. */
async function scopesOf(token: unknown): Promise<string> {
  const answer = await post(
    site,
    "/oauth2/introspect",
    { token: String(token) },
    basic(demo.client_id, demo.client_secret),
  );
  return answer.json?.active === true ? String(answer.json.scope) : "";
}

function bearer(token: unknown) {
  return { authorization: `Bearer ${token}` };
}

describe("an application with account:read and account:write of an owner", () => {
  test("403: cannot create or widen a client, and cannot get recovery codes or an authenticator", async () => {
    const scopes = ["account:read", "account:write"] as const;
    const app = await addClient(service, {
      accountId,
      grants: ["authorization_code"],
      redirectUris: [callback],
      scopes,
    });
    const { code, verifier } = await obtainCode(site, demo, app);
    const token = (await redeem(site, app, code, verifier)).json?.access_token;
    const headers = bearer(token);
    assert.equal((await service.send("GET", "/v1/account", { headers })).status, 200, "the token itself is valid");
    const tried = [
      service.send("POST", "/v1/oauth-clients", { json: { name: "Hepsi", scopes: ["audit:read"] }, headers }),
      service.send("PATCH", `/v1/oauth-clients/${app}`, { json: { scopes: ["restores:read"] }, headers }),
      service.send("PATCH", `/v1/oauth-clients/${app}`, { json: { vault_ids: null }, headers }),
      service.send("POST", `/v1/oauth-clients/${app}/rotate-secret`, { json: {}, headers }),
      service.send("POST", `/v1/oauth-clients/${app}/review`, { headers }),
      service.send("POST", "/v1/me/recovery-codes", { headers }),
      service.send("POST", "/v1/me/totp", { headers }),
      service.send("GET", "/v1/me", { headers }),
      service.send("GET", "/v1/sessions", { headers }),
      service.send("POST", "/v1/auth/step-up", { json: { totp_code: "000000" }, headers }),
    ];
    for (const answer of await Promise.all(tried))
      assert.deepEqual([answer.status, answer.json?.code], [403, "insufficient_scope"], answer.body.toString());
  });
});

describe("the programs of a person who is no longer responsible for them", () => {
  /** A manager with an agent, an application without snapshots:write, and a client. */
  async function managerWithPrograms() {
    const owner = await signInAs(service, demo);
    const manager = await tokenFor(service, { accountId, role: "manager" });
    const json = { name: "Gece", scopes: ["snapshots:write", "snapshots:read", "account:write"] };
    const made = await service.send("POST", "/v1/oauth-clients", { json, headers: manager.auth });
    const { client, secret } = made.json as { client: { id: string }; secret: string };
    const credentials = async () => {
      const answer = await post(site, "/oauth2/token", { grant_type: "client_credentials" }, basic(client.id, secret));
      assert.equal(answer.status, 200, answer.body.toString());
      return answer.json?.access_token;
    };
    return {
      owner,
      manager,
      client: client.id,
      target: `/v1/oauth-clients/${client.id}`,
      token: await credentials(),
      credentials,
    };
  }

  for (const how of ["removed", "demoted"] as const) {
    test(`a client whose maker was ${how} can only write snapshots until an owner reviews it`, async () => {
      const { owner, manager, target, token, credentials, client } = await managerWithPrograms();
      assert.equal(await scopesOf(token), "snapshots:write snapshots:read account:write");
      const member = `/v1/members/${manager.personId}`;
      const answer =
        how === "removed"
          ? await service.send("DELETE", member, { headers: owner.auth })
          : await service.send("PATCH", member, { json: { role: "viewer" }, headers: owner.auth });
      assert.ok(answer.status < 300, answer.body.toString());
      assert.equal(await scopesOf(token), "snapshots:write", "a token that was issued before");
      assert.equal(await scopesOf(await credentials()), "snapshots:write", "a new token");
      assert.equal((await service.send("GET", "/v1/account", { headers: bearer(token) })).status, 403);
      const mail = await messageTo(service.dataDir, demo.email, "programs_in_review", how === "removed" ? 1 : 2);
      assert.doesNotMatch(mail.text, new RegExp(client));
      const shown = await service.send("GET", target, { headers: owner.auth });
      assert.ok(typeof shown.json?.review_since === "string");
      // A manager can review only their own clients.
      const other = await tokenFor(service, { accountId, role: "manager" });
      assert.equal(
        (await service.send("POST", `${target}/review`, { headers: other.auth })).json?.code,
        "insufficient_role",
      );
      const reviewed = await service.send("POST", `${target}/review`, { headers: owner.auth });
      assert.deepEqual([reviewed.status, reviewed.json?.review_since], [200, null]);
      assert.equal(await scopesOf(token), "snapshots:write snapshots:read account:write");
    });
  }

  test("a scope that a client loses is also lost by tokens that were issued before", async () => {
    const { owner, target, token } = await managerWithPrograms();
    const call = { json: { scopes: ["snapshots:read"] }, headers: owner.auth };
    assert.equal((await service.send("PATCH", target, call)).status, 200);
    assert.equal(await scopesOf(token), "snapshots:read");
  });

  test("a wider role takes no scope away", async () => {
    const { owner, manager, token } = await managerWithPrograms();
    const call = { json: { role: "owner" }, headers: owner.auth };
    assert.equal((await service.send("PATCH", `/v1/members/${manager.personId}`, call)).status, 200);
    assert.equal(await scopesOf(token), "snapshots:write snapshots:read account:write");
    assert.equal(
      (await service.send("PATCH", `/v1/members/${manager.personId}`, { ...call, json: { role: "manager" } })).status,
      200,
    );
    assert.equal(await scopesOf(token), "snapshots:write");
  });

  test("an agent keeps working after a password reset and the removal of the person who approved it", async () => {
    const codes = await startDevice(site);
    await decideDevice(site, demo, codes.json?.user_code);
    const first = (await pollDevice(site, codes.json?.device_code)).json;
    const app = await addClient(service, { accountId, grants: ["authorization_code"], redirectUris: [callback] });
    const { code, verifier } = await obtainCode(site, demo, app);
    const reader = (await redeem(site, app, code, verifier)).json;
    const before = await scopesOf(first?.access_token);
    assert.match(before, /snapshots:write.*|.*snapshots:write/);
    assert.notEqual(before, "snapshots:write");

    await service.send("POST", "/v1/auth/password-reset/request", { json: { email: demo.email } });
    const link = tokenIn(await messageTo(service.dataDir, demo.email, "password_reset"));
    const json = { token: link, new_password: "yepyeni uzun bir parola 42" };
    assert.equal((await service.send("POST", "/v1/auth/password-reset", { json })).status, 204);
    assert.equal(await scopesOf(first?.access_token), "snapshots:write");
    assert.equal(await scopesOf(reader?.access_token), "", "an application that only reads has no right left");
    const renewed = await refresh(site, agentClientId, first?.refresh_token);
    assert.deepEqual([renewed.status, renewed.json?.scope], [200, "snapshots:write"]);

    const owner = await signInAs(service, { ...demo, password: json.new_password });
    const made = await service.send("GET", `/v1/oauth-clients/${demo.client_id}`, { headers: owner.auth });
    assert.ok(typeof made.json?.review_since === "string", "their clients are in review too");
    const list = await service.send("GET", "/v1/oauth-grants", { headers: owner.auth });
    const held = listIn<{ id: string; review_since: string | null }>(list, "data").filter((one) => one.review_since);
    assert.equal(held.length, 1);
    const target = `/v1/oauth-grants/${held[0]?.id}`;
    const reviewed = await service.send("POST", `${target}/review`, { headers: owner.auth });
    assert.deepEqual([reviewed.status, reviewed.json?.review_since], [200, null]);
    assert.equal(
      await scopesOf(renewed.json?.access_token),
      "snapshots:write",
      "a token that was issued during the review keeps its scope",
    );
    const again = await refresh(site, agentClientId, renewed.json?.refresh_token);
    assert.equal(again.json?.scope, before);

    const second = await tokenFor(service, { accountId });
    const { id } = (
      await storedRows(service.database, "select person_id as id from emanet.sessions where id = $1", [held[0]?.id])
    )[0] as { id: string };
    assert.equal((await service.send("DELETE", `/v1/members/${id}`, { headers: second.auth })).status, 204);
    assert.equal(
      await scopesOf(again.json?.access_token),
      "snapshots:write",
      "the person is removed and the backup continues",
    );
    assert.equal((await refresh(site, agentClientId, again.json?.refresh_token)).status, 200);
    assert.equal((await service.send("DELETE", target, { headers: second.auth })).status, 204);
    assert.equal(await scopesOf(again.json?.access_token), "");
  });
});
