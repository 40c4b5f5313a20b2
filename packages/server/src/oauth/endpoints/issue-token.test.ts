import assert from "node:assert/strict";
import { generateKeyPairSync, type KeyObject, randomUUID } from "node:crypto";
import { after, describe, test } from "node:test";
import { decodeJwt, decodeProtectedHeader, SignJWT } from "jose";
import { oauthScopes } from "../../declarations.ts";
import { addClient, askWho, asSystem, basic, callback, type Fields, post, refresh, startOauth } from "../testing.ts";

const { service, site, demo, proof, client, grant, credentials } = await startOauth({ after });

describe("client credentials", () => {
  test("a client gets a token in its own name with exactly the requested scopes", async () => {
    const answer = await credentials({ scope: "account:read audit:read" });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers["cache-control"], "no-store");
    assert.equal(answer.headers.pragma, "no-cache");
    assert.equal(answer.json?.token_type, "Bearer");
    assert.equal(answer.json?.expires_in, 900);
    assert.equal(answer.json?.scope, "account:read audit:read");
    assert.equal(answer.json?.refresh_token, undefined);
    const who = await askWho(site, answer.json?.access_token);
    assert.equal(who.json?.kind, "client");
    assert.equal(who.json?.account_id, demo.account_id);
    assert.equal(who.json?.client_id, demo.client_id);
    assert.equal(who.json?.token_kind, "api");
    assert.deepEqual(who.json?.scopes, ["account:read", "audit:read"]);
  });

  test("the token is an at+jwt of ours with the claims of the contract", async () => {
    const answer = await credentials({ scope: "account:read" });
    const token = String(answer.json?.access_token);
    const header = decodeProtectedHeader(token);
    assert.equal(header.typ, "at+jwt");
    assert.equal(header.alg, "ES256");
    const keys = await service.send("GET", "/oauth2/jwks");
    const { keys: published } = keys.json as { keys: { kid: string }[] };
    assert.ok(published.some(({ kid }) => kid === header.kid));
    const claims = decodeJwt(token);
    assert.equal(claims.iss, `${service.url}/oauth2`);
    assert.equal(claims.aud, service.url);
    assert.equal(claims.sub, demo.client_id);
    assert.equal(claims.client_id, demo.client_id);
    assert.equal(claims.acct, demo.account_id);
    assert.equal(claims.scope, "account:read");
    assert.equal(claims.iat, Math.floor(service.clock.now().getTime() / 1000));
    assert.equal(Number(claims.exp) - Number(claims.iat), 900);
    for (const name of ["jti", "sid", "amr", "auth_time"]) assert.ok(name in claims, name);
  });

  test("no scope means all of the client's", async () => {
    for (const more of [{}, { scope: "" }, { scope: " " }]) {
      const answer = await credentials(more as Fields);
      assert.deepEqual(String(answer.json?.scope).split(" ").sort(), Object.keys(oauthScopes).sort());
    }
  });

  test("400 invalid_scope: a scope that does not exist", async () => {
    for (const scope of ["openid", "offline_access", "unknown", "x", "account:read x"]) {
      const answer = await credentials({ scope });
      assert.equal(answer.status, 400, scope);
      assert.equal(answer.json?.error, "invalid_scope", scope);
    }
  });

  test("400: a client that proves nothing gets nothing in its own name", async () => {
    const open = await addClient(service, { accountId: demo.account_id, grants: ["client_credentials"] });
    const answer = await credentials({ client_id: open }, {});
    assert.equal(answer.status, 400);
    assert.equal(answer.json?.access_token, undefined);
  });

  test("the secret may come in the form too, but not twice", async () => {
    const { client_id, client_secret } = demo;
    assert.equal((await credentials({ client_id, client_secret }, {})).status, 200);
    assert.equal((await credentials({ client_id, client_secret })).json?.error, "invalid_request");
  });

  test("401 invalid_client: a wrong secret, an unknown client, no secret, a revoked client; all alike", async () => {
    const revoked = await addClient(service, { accountId: demo.account_id, grants: ["client_credentials"] });
    await asSystem(service, ["update emanet.oauth_clients set revoked_at = now() where id = $1", [revoked]]);
    const attempts = [
      credentials({}, basic(demo.client_id, "ems_wrong")),
      credentials({}, basic("00000000-0000-7000-8000-000000000000", demo.client_secret)),
      credentials({}, basic("x' or 1=1 --", demo.client_secret)),
      credentials({ client_id: demo.client_id }, {}),
      credentials({ client_id: revoked }, {}),
    ];
    for (const answer of await Promise.all(attempts)) {
      assert.equal(answer.status, 401);
      assert.deepEqual(answer.json, { error: "invalid_client", error_description: "client authentication failed" });
    }
  });

  test("400: other grants, and grants that the client may not use", async () => {
    const send = (grant_type: string, more: Fields = {}) => post(site, "/oauth2/token", { grant_type, ...more }, proof);
    assert.equal((await send("password", { username: "x", password: "y" })).json?.error, "unsupported_grant_type");
    assert.equal((await send("implicit")).json?.error, "unsupported_grant_type");
    assert.equal((await send("authorization_code", { code: "x" })).status, 400);
    assert.equal((await send("")).status, 400);
  });
});

describe("private_key_jwt", async () => {
  const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const jwk = { ...pair.publicKey.export({ format: "jwk" }), kid: "k1", use: "sig", alg: "ES256" };
  const client = await addClient(service, {
    accountId: demo.account_id,
    grants: ["client_credentials"],
    authMethod: "private_key_jwt",
    jwks: { keys: [jwk] },
  });
  const assertion = (change: Fields = {}, key: KeyObject = pair.privateKey, header: Fields = {}) =>
    new SignJWT({})
      .setProtectedHeader({ alg: "ES256", kid: "k1", ...header })
      .setIssuer(change.iss ?? client)
      .setSubject(change.sub ?? client)
      .setAudience(change.aud ?? `${service.url}/oauth2/token`)
      .setJti(change.jti ?? randomUUID())
      .setIssuedAt()
      .setExpirationTime(change.exp ?? "1m")
      .sign(key);
  const send = async (jwt: string | Promise<string>, more: Fields = {}) =>
    credentials(
      {
        ...more,
        client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        client_assertion: await jwt,
      },
      {},
    );

  test("an assertion for the endpoint or the issuer is accepted", async () => {
    assert.equal((await send(assertion())).status, 200);
    assert.equal((await send(assertion({ aud: `${service.url}/oauth2` }))).status, 200);
  });

  test("400 invalid_scope: a scope that the client lacks", async () => {
    for (const scope of ["webhooks:read", "account:read audit:read"]) {
      assert.equal((await send(assertion(), { scope })).json?.error, "invalid_scope");
    }
  });

  test("401: another key, audience, issuer or subject, or one that has expired", async () => {
    const other = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
    const attempts = [
      send(assertion({}, other)),
      send(assertion({ aud: "https://evil.example" })),
      send(assertion({ iss: demo.client_id })),
      send(assertion({ sub: demo.client_id })),
      send(assertion({ exp: "-1m" })),
    ];
    for (const answer of await Promise.all(attempts)) assert.equal(answer.json?.error, "invalid_client");
  });

  test("an assertion is good once, also when ten come at the same moment", async () => {
    const jwt = await assertion();
    const answers = await Promise.all(Array.from({ length: 10 }, () => send(jwt)));
    assert.equal(answers.filter((answer) => answer.status === 200).length, 1);
    assert.equal((await send(jwt)).json?.error, "invalid_client");
  });
});

describe("refresh", () => {
  test("gives the next pair, and the scopes can only become fewer", async () => {
    const first = await grant();
    const second = await refresh(site, client, first?.refresh_token, { scope: "snapshots:read" });
    assert.equal(second.json?.scope, "snapshots:read");
    assert.notEqual(second.json?.refresh_token, first?.refresh_token);
    const third = await refresh(site, client, second.json?.refresh_token);
    assert.equal(third.json?.scope, "account:read snapshots:read");
    for (const scope of ["webhooks:read", "nonsense"]) {
      const answer = await refresh(site, client, third.json?.refresh_token, { scope });
      assert.equal(answer.json?.error, "invalid_scope");
    }
  });

  test("lives 90 days without use, and each use starts them again", async () => {
    const day = 24 * 60 * 60 * 1000;
    let token = (await grant())?.refresh_token;
    for (const _ of [1, 2, 3]) {
      service.clock.advance(89 * day);
      const next = await refresh(site, client, token);
      assert.equal(next.status, 200);
      token = next.json?.refresh_token;
    }
    service.clock.advance(91 * day);
    assert.equal((await refresh(site, client, token)).json?.error, "invalid_grant");
  });

  test("is refused to another client, and once the session, the client or the member is gone", async () => {
    const other = await addClient(service, {
      accountId: demo.account_id,
      grants: ["authorization_code"],
      redirectUris: [callback],
    });
    const first = await grant();
    assert.equal((await refresh(site, other, first?.refresh_token)).json?.error, "invalid_grant");
    const { sid } = decodeJwt(String(first?.access_token));
    await asSystem(service, ["update emanet.sessions set revoked_at = now() where id = $1", [sid]]);
    assert.equal((await refresh(site, client, first?.refresh_token)).json?.error, "invalid_grant");
    const second = await grant();
    await asSystem(service, ["update emanet.oauth_clients set revoked_at = now() where id = $1", [client]]);
    assert.equal((await refresh(site, client, second?.refresh_token)).json?.error, "invalid_client");
    assert.equal((await askWho(site, second?.access_token)).status, 401);
  });
});

describe("hostile requests", () => {
  const raw = (body: string, headers: Fields = {}, method = "POST") =>
    service.send(method, "/oauth2/token", {
      body,
      headers: { "content-type": "application/x-www-form-urlencoded", ...proof, ...headers },
    });

  test("get an error of RFC 6749, never a 500", async () => {
    const bodies = [
      "",
      "&&&===&",
      "grant_type=client_credentials&grant_type=client_credentials",
      "grant_type[]=client_credentials",
      "grant_type=client_credentials&scope=a&scope=b",
      "grant_type=%00",
      "grant_type=%ff%fe",
      "grant_type=client_credentials&scope=%00%0a",
      "__proto__=1&constructor=2&grant_type=refresh_token&refresh_token=%00",
      `grant_type=refresh_token&refresh_token=${"x".repeat(30_000)}`,
      "grant_type=authorization_code&code=a&redirect_uri=b&code_verifier=c",
      "grant_type=urn:ietf:params:oauth:grant-type:device_code&device_code=x",
    ];
    for (const body of bodies) {
      const answer = await raw(body);
      assert.ok(answer.status >= 400 && answer.status < 500, `${body.slice(0, 60)}: ${answer.status}`);
      assert.ok(typeof answer.json?.error === "string");
    }
    for (const authorization of [
      "Basic",
      "Basic !",
      "Basic Og==",
      "Bearer x",
      "Basic eA==",
      "Digest x",
      "Basic ///=",
    ]) {
      const answer = await raw("grant_type=client_credentials", { authorization });
      assert.ok(answer.status === 400 || answer.status === 401, authorization);
    }
  });

  test("413 and 415 in the same form: too large, or no form", async () => {
    const large = await raw(`a=${"x".repeat(40_000)}`);
    assert.equal(large.status, 413);
    assert.equal(large.json?.error, "invalid_request");
    const json = await raw("{}", { "content-type": "application/json" });
    assert.equal(json.status, 415);
    assert.equal(json.json?.error, "invalid_request");
  });

  test("405 and 404 in the same form", async () => {
    const get = await service.send("GET", "/oauth2/token", { headers: proof });
    assert.equal(get.status, 405);
    assert.equal(get.json?.error, "invalid_request");
    for (const path of ["/oauth2/nothing", "/oauth2/me", "/oauth2/reg", "/oauth2/session/end", "/oauth2/request"]) {
      const missing = await service.send("GET", path);
      assert.equal(missing.status, 404, path);
      assert.equal(missing.json?.error, "invalid_request", path);
    }
  });

  test("no page elsewhere can read an answer", async () => {
    const answer = await credentials({}, { ...proof, origin: "https://evil.example" });
    assert.ok(!("access-control-allow-origin" in answer.headers));
  });
});
