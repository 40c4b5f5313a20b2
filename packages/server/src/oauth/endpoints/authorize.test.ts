import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import {
  addClient,
  askWho,
  asSystem,
  authorizePath,
  CookieJar,
  callback,
  locationOf,
  obtainCode,
  pkce,
  post,
  redeem,
  refresh,
  signInAndAllow,
  startOauth,
} from "../testing.ts";

const { service, site, demo, client } = await startOauth(
  { after },
  { redirectUris: [callback, "https://defter.example/geri?sabit=1"], scopes: ["account:read", "snapshots:read"] },
);

describe("an authorization", () => {
  test("leads through sign-in and consent to a code, and the code to a token of the program", async () => {
    const { code, verifier, back } = await obtainCode(site, demo, client);
    assert.equal(`${back.origin}${back.pathname}`, callback);
    assert.equal(back.searchParams.get("state"), "s-1");
    assert.equal(back.searchParams.get("iss"), `${service.url}/oauth2`);
    const answer = await redeem(site, client, code, verifier);
    assert.equal(answer.status, 200);
    assert.equal(answer.json?.scope, "account:read snapshots:read");
    const who = await askWho(site, answer.json?.access_token);
    assert.equal(who.status, 200);
    assert.equal(who.json?.kind, "client");
    assert.equal(who.json?.account_id, demo.account_id);
    assert.equal(who.json?.client_id, client);
    assert.deepEqual(who.json?.scopes, ["account:read", "snapshots:read"]);
  });

  test("grants exactly the scopes that were asked for", async () => {
    const { code, verifier } = await obtainCode(site, demo, client, { scope: "snapshots:read" });
    const answer = await redeem(site, client, code, verifier);
    assert.equal(answer.json?.scope, "snapshots:read");
    assert.equal((await askWho(site, answer.json?.access_token)).status, 403);
  });

  test("denied by the person, it returns access_denied and no code", async () => {
    const jar = new CookieJar(site);
    const start = await jar.get(authorizePath(client, pkce().challenge));
    const returnTo = await signInAndAllow(site, demo, jar, locationOf(start), "deny");
    const back = new URL(locationOf(await jar.get(returnTo)));
    assert.equal(back.searchParams.get("error"), "access_denied");
    assert.equal(back.searchParams.get("state"), "s-1");
    assert.ok(!back.searchParams.has("code"));
  });

  test("asks for a fresh sign-in every time, whatever the browser did before", async () => {
    const jar = new CookieJar(site);
    for (const _ of [1, 2]) {
      const start = await jar.get(authorizePath(client, pkce().challenge));
      const page = await jar.get(locationOf(start));
      assert.match(page.body.toString(), /name="password"/);
      await signInAndAllow(site, demo, jar, locationOf(start)).then((returnTo) => jar.get(returnTo));
    }
  });

  test("returns invalid_scope for a scope that the client lacks or that does not exist", async () => {
    for (const scope of ["webhooks:write", "openid", "nonsense", "account:read nonsense"]) {
      const answer = await new CookieJar(site).get(authorizePath(client, pkce().challenge, { scope }));
      assert.equal(new URL(locationOf(answer)).searchParams.get("error"), "invalid_scope", scope);
    }
  });

  test("needs PKCE with S256", async () => {
    for (const more of [{ code_challenge: "" }, { code_challenge_method: "plain" }, { code_challenge_method: "" }]) {
      const answer = await new CookieJar(site).get(authorizePath(client, pkce().challenge, more));
      const to = new URL(locationOf(answer));
      assert.equal(to.searchParams.get("error"), "invalid_request");
      assert.ok(!to.searchParams.has("code"));
    }
  });

  test("has no other way to answer than a code in the query, and reads no request objects", async () => {
    const attempts = [
      { response_mode: "form_post" },
      { response_mode: "fragment" },
      { response_type: "token" },
      { response_type: "id_token" },
      { request: "e30.e30." },
      { request_uri: "https://127.0.0.1:9/anything" },
      { claims: "{}" },
      { prompt: "none" },
    ];
    for (const more of attempts) {
      const answer = await new CookieJar(site).get(authorizePath(client, pkce().challenge, more));
      const location = locationOf(answer);
      const isPage = location.startsWith("/oauth2/interaction/");
      const error = isPage || location === "" ? null : new URL(location).searchParams.get("error");
      // Unknown parameters are ignored (RFC 6749, section 3.1); the rest is refused.
      assert.ok("claims" in more || error !== null || answer.status === 400, JSON.stringify(more));
      assert.ok(!location.includes("#"), JSON.stringify(more));
    }
  });
});

describe("the browser is sent to registered addresses only", () => {
  const tricks = [
    "https://defter.example/geri/",
    "https://defter.example/geri?x=1",
    "https://defter.example/geri#x",
    "https://defter.example:8443/geri",
    "http://defter.example/geri",
    "https://DEFTER.example/geri",
    "https://defter.example/geri/../geri",
    "https://defter.example/%67eri",
    "https://defter.example@evil.example/geri",
    "https://defter.example.evil.example/geri",
    "https://evil.example/?https://defter.example/geri",
    "//evil.example",
    "javascript:alert(1)",
    "data:text/html,x",
    "",
  ];
  for (const uri of tricks) {
    test(`400, no redirect: ${uri === "" ? "none at all" : uri}`, async () => {
      const answer = await new CookieJar(site).get(
        authorizePath(client, pkce().challenge, { redirect_uri: uri, scope: "nonsense" }),
      );
      assert.equal(answer.status, 400);
      assert.equal(locationOf(answer), "");
      assert.ok(!answer.body.toString().includes("evil"));
    });
  }

  test("400: a repeated redirect_uri", async () => {
    const target = `${authorizePath(client, pkce().challenge)}&redirect_uri=https%3A%2F%2Fevil.example`;
    const answer = await new CookieJar(site).get(target);
    assert.equal(answer.status, 400);
    assert.equal(locationOf(answer), "");
  });

  test("400: an unknown client, and one that may not use codes", async () => {
    const machine = await addClient(service, { accountId: demo.account_id, grants: ["client_credentials"] });
    for (const id of ["00000000-0000-7000-8000-000000000000", "not-an-id", "", machine]) {
      const answer = await new CookieJar(site).get(authorizePath(id, pkce().challenge));
      assert.equal(answer.status, 400, id);
      assert.equal(locationOf(answer), "", id);
    }
  });
});

describe("a code", () => {
  test("used twice ends the grant: its tokens stop and cannot be refreshed", async () => {
    const { code, verifier } = await obtainCode(site, demo, client);
    const first = await redeem(site, client, code, verifier);
    assert.equal((await askWho(site, first.json?.access_token)).status, 200);
    const second = await redeem(site, client, code, verifier);
    assert.equal(second.status, 400);
    assert.equal(second.json?.error, "invalid_grant");
    assert.equal((await askWho(site, first.json?.access_token)).status, 401);
    assert.equal((await refresh(site, client, first.json?.refresh_token)).json?.error, "invalid_grant");
  });

  test("is refused without its verifier, redirect_uri or client, and stays valid for a request that has them", async () => {
    const other = await addClient(service, {
      accountId: demo.account_id,
      grants: ["authorization_code"],
      redirectUris: [callback],
    });
    const { code, verifier } = await obtainCode(site, demo, client);
    const attempts = [
      redeem(site, client, code, pkce().verifier),
      redeem(site, client, code, ""),
      redeem(site, client, code, verifier, { redirect_uri: "https://evil.example/" }),
      redeem(site, other, code, verifier),
      redeem(site, client, `${code.slice(0, -1)}${code.endsWith("A") ? "B" : "A"}`, verifier),
      redeem(site, client, "", verifier),
    ];
    for (const answer of await Promise.all(attempts)) {
      assert.equal(answer.status, 400);
      assert.match(String(answer.json?.error), /^invalid_(grant|request)$/);
    }
    assert.equal((await redeem(site, client, code, verifier)).status, 200);
  });

  test("is good for a minute", async () => {
    const { code, verifier } = await obtainCode(site, demo, client);
    service.clock.advance(61_000);
    assert.equal((await redeem(site, client, code, verifier)).json?.error, "invalid_grant");
  });

  test("redeemed twenty times at once gives one token", async () => {
    const { code, verifier } = await obtainCode(site, demo, client);
    const answers = await Promise.all(Array.from({ length: 20 }, () => redeem(site, client, code, verifier)));
    assert.equal(answers.filter((answer) => answer.status === 200).length, 1);
    for (const answer of answers) assert.ok(answer.status === 200 || answer.json?.error === "invalid_grant");
  });

  test("is kept as a hash, and its data are sealed", async () => {
    const { code } = await obtainCode(site, demo, client);
    const rows = await asSystem(service, ["select t::text as text from emanet.oauth_artifacts t", []]);
    const text = rows.map((row) => String(row.text)).join("\n");
    assert.ok(rows.length > 0);
    for (const secret of [code, Buffer.from(code).toString("hex"), client, demo.account_id]) {
      assert.ok(!text.includes(secret));
    }
  });
});

describe("the audit of the account", () => {
  test("names every grant: opened, and ended by its client or by a second use", async () => {
    const { code, verifier } = await obtainCode(site, demo, client);
    await redeem(site, client, code, verifier);
    await redeem(site, client, code, verifier);
    const other = await obtainCode(site, demo, client);
    const tokens = await redeem(site, client, other.code, other.verifier);
    await post(site, "/oauth2/revoke", { token: String(tokens.json?.refresh_token), client_id: client });
    const rows = await asSystem(service, [
      "select action, outcome, targets from emanet.audit_records where account_id = $1 and action like 'oauth.%' order by seq desc limit 4",
      [demo.account_id],
    ]);
    assert.deepEqual(
      rows.map(({ action, outcome }) => [action, outcome]),
      [
        ["oauth.grant_revoked", "success"],
        ["oauth.grant_opened", "success"],
        ["oauth.grant_reused", "failure"],
        ["oauth.grant_opened", "success"],
      ],
    );
    for (const { targets } of rows) assert.ok(JSON.stringify(targets).includes(client));
  });
});

describe("consent", () => {
  test("a member of another account cannot allow anything to a client of this one", async () => {
    const [row] = await asSystem(service, ["select id from emanet.accounts limit 1", []]);
    assert.equal(row?.id, demo.account_id);
    const account = "01a10000-0000-7000-8000-000000000001";
    await asSystem(service, [
      `insert into emanet.accounts (id, kind, name, tax_id, package, state, language, state_changed_at, created_at, updated_at)
       values ($1, 'company', 'Başka AŞ', '1234567808', 'corporate', 'active', 'tr', now(), now(), now())`,
      [account],
    ]);
    const foreign = await addClient(service, {
      accountId: account,
      grants: ["authorization_code"],
      redirectUris: [callback],
    });
    const jar = new CookieJar(site);
    const start = await jar.get(authorizePath(foreign, pkce().challenge));
    await signInAndAllow(site, demo, jar, locationOf(start));
    const page = await jar.get(locationOf(start));
    assert.match(page.body.toString(), /name="password"/);
  });
});
