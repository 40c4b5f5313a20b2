import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { decodeJwt } from "jose";
import { asSystem, basic, post, refresh, startOauth } from "../testing.ts";

const { service, site, demo, proof, client, grant, credentials } = await startOauth({ after });
const ask = (token: unknown, more = {}, headers: Readonly<Record<string, string>> = proof) =>
  post(site, "/oauth2/introspect", { token: String(token), ...more }, headers);

describe("introspection", () => {
  test("says of an access token what the token says", async () => {
    const { json } = await credentials({ scope: "audit:read" });
    const claims = decodeJwt(String(json?.access_token));
    const { iss, aud, sub, client_id, jti, iat, exp, sid, acct, scope } = claims;
    const expected = { active: true, token_type: "Bearer", iss, aud, sub, client_id, jti, iat, exp, sid, acct, scope };
    assert.deepEqual((await ask(json?.access_token)).json, expected);
  });

  test("knows the tokens of people in the same account, access and refresh", async () => {
    const tokens = await grant();
    const access = (await ask(tokens?.access_token)).json;
    assert.equal(access?.active, true);
    assert.equal(access?.client_id, client);
    const fresh = (await ask(tokens?.refresh_token, { token_type_hint: "refresh_token" })).json;
    assert.equal(fresh?.active, true);
    assert.equal(fresh?.acct, demo.account_id);
    assert.equal(fresh?.sub, access?.sub);
    const ninetyDays = 90 * 24 * 60 * 60;
    assert.ok(Math.abs(Number(fresh?.exp) - service.clock.now().getTime() / 1000 - ninetyDays) <= 2);
    await refresh(site, client, tokens?.refresh_token);
    assert.deepEqual((await ask(tokens?.refresh_token)).json, { active: false });
  });

  test("says only active: false of what is expired, ended, forged or no token", async () => {
    const inactive = { active: false };
    const ended = await grant();
    await post(site, "/oauth2/revoke", { token: String(ended?.refresh_token), client_id: client });
    const expired = await grant();
    service.clock.advance(901_000);
    const forged = `${String(expired?.access_token).slice(0, -4)}AAAA`;
    for (const token of [ended?.access_token, ended?.refresh_token, expired?.access_token, forged, "x", "a.b.c"]) {
      assert.deepEqual((await ask(token)).json, inactive);
    }
  });

  test("tells nothing to a client that proves nothing, or of another account", async () => {
    const tokens = await grant();
    for (const token of [tokens?.access_token, tokens?.refresh_token]) {
      assert.deepEqual((await ask(token, { client_id: client }, {})).json, { active: false });
    }
    assert.equal((await ask(tokens?.access_token, {}, basic(demo.client_id, "wrong"))).status, 401);
    const account = "01a10000-0000-7000-8000-000000000002";
    await asSystem(service, [
      `insert into emanet.accounts (id, kind, name, tax_id, package, state, language, state_changed_at, created_at, updated_at)
       values ($1, 'company', 'Başka AŞ', '1234567808', 'corporate', 'active', 'tr', now(), now(), now())`,
      [account],
    ]);
    await asSystem(service, [
      "update emanet.oauth_clients set account_id = $1 where id = $2",
      [account, demo.client_id],
    ]);
    assert.deepEqual((await ask(tokens?.access_token)).json, { active: false });
    assert.deepEqual((await ask(tokens?.refresh_token)).json, { active: false });
  });
});
