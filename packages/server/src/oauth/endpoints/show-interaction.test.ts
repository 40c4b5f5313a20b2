import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { startTestService } from "../../testing/running.ts";
import {
  addClient,
  authorizePath,
  CookieJar,
  callback,
  demoOf,
  fieldOf,
  locationOf,
  pkce,
  siteOf,
} from "../testing.ts";

const service = await startTestService({ after });

const site = siteOf(service);

const demo = await demoOf(service);

const client = await addClient(service, {
  accountId: demo.account_id,
  grants: ["authorization_code"],
  redirectUris: [callback],
  name: `<script>alert("x")</script> & 'Defter'`,
});

async function begin() {
  const jar = new CookieJar(site);
  const path = locationOf(await jar.get(authorizePath(client, pkce().challenge)));
  return { jar, path, csrf: fieldOf(await jar.get(path), "csrf") };
}

describe("the pages", () => {
  test("may load only our style sheet, cannot be framed, and are never stored", async () => {
    const { jar, path } = await begin();
    const { headers, body } = await jar.get(path);
    const policy = headers["content-security-policy"] ?? "";
    for (const part of ["default-src 'none'", "style-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"]) {
      assert.ok(policy.includes(part), part);
    }
    assert.ok(!/unsafe|script-src/.test(policy));
    assert.match(policy, /form-action 'self' https:\/\/defter\.example(;|$)/);
    assert.equal(headers["cache-control"], "no-store");
    assert.equal(headers["referrer-policy"], "same-origin");
    assert.equal(headers["x-frame-options"], "DENY");
    assert.ok(!/<script|style=|onclick|javascript:/.test(body.toString()));
  });

  test("show what others chose (a client's name) as text", async () => {
    const { jar, path } = await begin();
    const page = (await jar.get(path)).body.toString();
    assert.ok(page.includes("&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt; &amp; &#39;Defter&#39;"));
  });

  test("speak Turkish to who prefers it", async () => {
    const { jar, path } = await begin();
    const headers = { cookie: jar.header, "accept-language": "tr-TR,tr;q=0.9,en;q=0.5" };
    const page = await service.send("GET", path, { headers });
    assert.match(page.body.toString(), /<html lang="tr">[\s\S]*Oturum aç/);
  });

  test("keep their cookies for this host, TLS and no script", async () => {
    const start = await service.send("GET", authorizePath(client, pkce().challenge));
    const cookies = (start.headers["set-cookie"] ?? "").split(/, (?=__Host-)/);
    assert.ok(cookies.length >= 2);
    for (const cookie of cookies) {
      assert.match(cookie, /^__Host-oauth-/);
      for (const part of [/; path=\/(;|$)/i, /; secure/i, /; httponly/i, /; samesite=lax/i]) assert.match(cookie, part);
      assert.ok(!/domain=/i.test(cookie));
    }
  });

  test("consent shows client, account, place and scopes", async () => {
    const { jar, path, csrf } = await begin();
    const { email, password, totp_secret } = demo;
    await jar.post(path, { csrf, act: "sign_in", email, password, totp_code: site.nextCode(totp_secret) });
    const page = (await jar.get(path)).body.toString();
    for (const shown of ["Örnek Mali Müşavirlik", "defter.example", "account:read", "snapshots:read"]) {
      assert.ok(page.includes(shown), shown);
    }
    assert.match(page, /value="approve"[\s\S]*value="deny"/);
  });
});

describe("an interaction belongs to the browser that began it", () => {
  test("it ends after fifteen minutes", async () => {
    const { jar, path } = await begin();
    service.clock.advance(15 * 60_000 + 1_000);
    assert.equal((await jar.get(path)).status, 400);
  });
});
