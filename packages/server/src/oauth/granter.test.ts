/** A grant never exceeds the member who allowed it. */

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { decodeJwt } from "jose";
import { oauthScopes } from "../declarations.ts";
import type { MemberRole, OauthScope } from "../kernel/principal.ts";
import { storedRows } from "../testing/rows.ts";
import {
  addClient,
  addMember,
  authorizePath,
  CookieJar,
  callback,
  decideDevice,
  fieldOf,
  locationOf,
  obtainCode,
  pkce,
  pollDevice,
  post,
  redeem,
  refresh,
  startDevice,
  startOauth,
} from "./testing.ts";

const allScopes = Object.keys(oauthScopes) as OauthScope[];
const { service, site, demo, proof, client } = await startOauth({ after }, { scopes: allScopes });
const scopesOf = (role: MemberRole) => allScopes.filter((scope) => oauthScopes[scope].roles.includes(role)).join(" ");
const introspected = async (token: unknown) =>
  (await post(site, "/oauth2/introspect", { token: String(token) }, proof)).json?.scope;
const setRole = (personId: string, role: string) =>
  storedRows(service.database, "update emanet.people set role = $2 where id = $1", [personId, role]);

/** A member with a role, signed in to the page where they decide. */
async function decides(role: MemberRole, clientId = client, more = {}) {
  const member = await addMember(service, demo, role);
  const { challenge, verifier } = pkce();
  const jar = new CookieJar(site);
  const path = locationOf(await jar.get(authorizePath(clientId, challenge, more)));
  const csrf = fieldOf(await jar.get(path), "csrf");
  const { email, password, totp_secret } = member;
  await jar.post(path, { csrf, act: "sign_in", email, password, totp_code: site.nextCode(totp_secret) });
  const approve = async () => {
    const back = await jar.get(locationOf(await jar.post(path, { csrf, act: "approve" })));
    const code = new URL(locationOf(back)).searchParams.get("code") ?? "";
    return (await redeem(site, clientId, code, verifier)).json;
  };
  return { member, jar, path, csrf, approve };
}

describe("an application that asks for every scope", () => {
  for (const role of ["owner", "manager", "operator", "viewer", "auditor"] as const) {
    test(`gets of a member with the role ${role} what that role has`, async () => {
      const member = await addMember(service, demo, role);
      const { code, verifier } = await obtainCode(site, member, client);
      const tokens = (await redeem(site, client, code, verifier)).json;
      assert.equal(tokens?.scope, scopesOf(role));
      assert.equal(decodeJwt(String(tokens?.access_token)).scope, scopesOf(role));
      for (const token of [tokens?.access_token, tokens?.refresh_token]) {
        assert.equal(await introspected(token), scopesOf(role));
      }
    });
  }

  test("gets no more when its member is promoted later", async () => {
    const { member, approve } = await decides("viewer");
    const first = await approve();
    await setRole(member.personId, "owner");
    assert.equal(await introspected(first?.access_token), scopesOf("viewer"));
    const wider = await refresh(site, client, first?.refresh_token, { scope: "snapshots:write" });
    assert.equal(wider.json?.error, "invalid_scope");
    const next = (await refresh(site, client, first?.refresh_token)).json;
    assert.equal(next?.scope, scopesOf("viewer"));
    assert.equal(await introspected(next?.access_token), scopesOf("viewer"));
  });

  test("the page shows the granted and the refused scopes", async () => {
    const { jar, path } = await decides("viewer");
    const page = (await jar.get(path)).body.toString();
    const [granted = "", refused = ""] = page.split("Not granted, because your role does not allow it:");
    for (const scope of allScopes) {
      const isViewers = oauthScopes[scope].roles.includes("viewer");
      assert.deepEqual([granted.includes(scope), refused.includes(scope)], [isViewers, !isViewers], scope);
    }
  });

  test("a role that changes before the decision takes away, and adds nothing to what was shown", async () => {
    const demoted = await decides("manager");
    await setRole(demoted.member.personId, "viewer");
    assert.equal((await demoted.approve())?.scope, scopesOf("viewer"));
    const promoted = await decides("viewer");
    await setRole(promoted.member.personId, "owner");
    assert.equal((await promoted.approve())?.scope, scopesOf("viewer"));
  });
});

describe("an application that asks only for what its member does not have", () => {
  test("gets nothing: the page says so and has no button to allow it", async () => {
    const { member, jar, path, csrf } = await decides("viewer", client, { scope: "snapshots:write account:write" });
    const page = await jar.get(path);
    assert.match(page.body.toString(), /Your role allows none of the requested rights/);
    assert.doesNotMatch(page.body.toString(), /value="approve"/);
    assert.equal(locationOf(await jar.post(path, { csrf, act: "approve" })), path, "also by hand");
    const query = "select from emanet.sessions where person_id = $1 and client_id is not null";
    assert.equal((await storedRows(service.database, query, [member.personId])).length, 0);
    const back = await jar.get(locationOf(await jar.post(path, { csrf, act: "deny" })));
    assert.equal(new URL(locationOf(back)).searchParams.get("error"), "access_denied");
  });

  test("gets nothing of a member who was removed after signing in", async () => {
    const { member, jar, path, csrf } = await decides("owner");
    await storedRows(service.database, "update emanet.people set state = 'removed' where id = $1", [member.personId]);
    assert.equal(locationOf(await jar.post(path, { csrf, act: "approve" })), path);
    assert.doesNotMatch((await jar.get(path)).body.toString(), /value="approve"/);
  });
});

test("an agent that a viewer allows cannot write; a client held to one scope gets that one", async () => {
  const viewer = await addMember(service, demo, "viewer");
  const { json } = await startDevice(site);
  await decideDevice(site, viewer, json?.user_code);
  const agent = (await pollDevice(site, json?.device_code)).json;
  assert.equal(agent?.scope, "snapshots:read restores:read taxpayers:read account:read");
  const usual = { accountId: demo.account_id, grants: ["authorization_code"], redirectUris: [callback] };
  const narrow = await addClient(service, { ...usual, scopes: ["account:read"] });
  const { approve } = await decides("owner", narrow);
  assert.equal((await approve())?.scope, "account:read");
});
