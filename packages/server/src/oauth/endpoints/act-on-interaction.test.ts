import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { decodeJwt } from "jose";
import { noSignInLimits } from "../../testing/people.ts";
import { storedRows } from "../../testing/rows.ts";
import { type Sent, startTestService } from "../../testing/running.ts";
import { codeIn, messageTo, sentMessages } from "../../testing/sent-messages.ts";
import {
  addClient,
  addMember,
  authorizePath,
  CookieJar,
  callback,
  demoOf,
  type Fields,
  fieldOf,
  locationOf,
  pkce,
  post,
  redeem,
  signInAndAllow,
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

const wrong = { email: demo.email, password: "not the password", totp_code: "000000" };

describe("an interaction belongs to the browser that began it", () => {
  test("400: without its cookie, with another's, or without the form's token", async () => {
    const mine = await begin();
    const theirs = await begin();
    const stranger = new CookieJar(site);
    assert.equal((await stranger.get(mine.path)).status, 400);
    assert.equal((await theirs.jar.get(mine.path)).status, 400);
    for (const csrf of ["", "x", theirs.csrf]) {
      assert.equal((await mine.jar.post(mine.path, { csrf, act: "deny" })).status, 400, csrf);
    }
    assert.equal((await theirs.jar.post(mine.path, { csrf: mine.csrf, act: "deny" })).status, 400);
  });

  test("400: who knows its address, and even the form's token, but not the cookie, can do nothing with it", async () => {
    service.clock.advance(60_000);
    const { jar, path, csrf } = await begin();
    const uid = path.split("/").at(-1) ?? "";
    assert.ok(!jar.header.includes(uid));
    const guess = `__Host-oauth-interaction=${uid}; __Host-oauth-resume=${uid}`;
    const swapped = jar.header.replace("interaction=", "x=").replace("resume=", "interaction=");
    const attempt = async (cookie: string) => {
      const shown = await service.send("GET", path, { headers: { cookie } });
      assert.equal(shown.status, 400);
      assert.equal((await post(site, path, { csrf, act: "approve" }, { cookie })).status, 400);
      for (const back of ["authorize", "device"]) {
        const resumed = await service.send("GET", `/oauth2/${back}/${uid}`, { headers: { cookie } });
        assert.equal(locationOf(resumed), "");
      }
    };
    for (const cookie of [guess, swapped]) await attempt(cookie);
    const { email, password, totp_secret } = demo;
    await jar.post(path, { csrf, act: "sign_in", email, password, totp_code: site.nextCode(totp_secret) });
    await attempt(guess);
    const returnTo = locationOf(await jar.post(path, { csrf, act: "approve" }));
    await attempt(guess);
    assert.ok(new URL(locationOf(await jar.get(returnTo))).searchParams.has("code"));
  });

  test("two people, one after the other in one browser, are two people", async () => {
    const other = await addMember(service, demo, "operator");
    const jar = new CookieJar(site);
    for (const person of [demo, other]) {
      const { challenge, verifier } = pkce();
      const path = locationOf(await jar.get(authorizePath(client, challenge)));
      const back = await jar.get(await signInAndAllow(site, person, jar, path));
      const code = new URL(locationOf(back)).searchParams.get("code") ?? "";
      const { json } = await redeem(site, client, code, verifier);
      const { sub } = decodeJwt(String(json?.access_token));
      assert.equal(sub === other.personId, person === other);
    }
  });

  test("approving before signing in leads back to the sign-in", async () => {
    const { jar, path, csrf } = await begin();
    const answer = await jar.post(path, { csrf, act: "approve" });
    assert.equal(locationOf(answer), path);
    assert.match((await jar.get(path)).body.toString(), /name="password"/);
  });

  test("it is spent with the decision", async () => {
    service.clock.advance(60_000);
    const { jar, path } = await begin();
    const returnTo = await signInAndAllow(site, demo, jar, path);
    const back = await jar.get(returnTo);
    assert.ok(new URL(locationOf(back)).searchParams.has("code"));
    assert.equal((await jar.get(path)).status, 400);
    assert.equal((await jar.get(returnTo)).status, 200);
  });

  test("403: a form that another site sends", async () => {
    const { jar, path, csrf } = await begin();
    for (const headers of [{ origin: "https://evil.example" }, { "sec-fetch-site": "cross-site" }]) {
      const answer = await service.send("POST", path, {
        headers: {
          "content-type": "application/x-www-form-urlencoded",
          cookie: jar.header,
          ...(headers as unknown as Fields),
        },
        body: new URLSearchParams({ csrf, act: "deny" }).toString(),
      });
      assert.equal(answer.status, 403);
    }
  });
});

describe("signing in on the page", () => {
  test("401, and one answer whatever is wrong; the password is never shown again", async () => {
    service.clock.advance(60_000);
    const { jar, path, csrf } = await begin();
    const attempts = [wrong, { ...wrong, email: "nobody@emanet.example" }, { ...wrong, totp_code: "no code" }];
    const pages = new Set<string>();
    for (const credentials of attempts) {
      const answer = await jar.post(path, { csrf, act: "sign_in", ...credentials });
      assert.equal(answer.status, 401);
      assert.ok(!answer.body.toString().includes(wrong.password));
      pages.add(answer.body.toString().replaceAll(credentials.email, "E-MAIL"));
    }
    assert.equal(pages.size, 1);
  });

  test("an SMS code signs in if the phone is verified, and the page does not show whether a code was sent", async () => {
    service.clock.advance(60_000);
    await storedRows(
      service.database,
      "update emanet.people set phone = '+905327770001', phone_verified_at = now() where email = $1",
      [demo.email],
    );
    const { jar, path, csrf } = await begin();
    const ask = (email: string, password: string) => jar.post(path, { csrf, act: "send_code", email, password });
    const right = await ask(demo.email, demo.password);
    const wrongs = [await ask("nobody@unknown.example", demo.password)];
    service.clock.advance(60_000);
    wrongs.push(await ask(demo.email, "not the password"));
    const bare = (page: Sent) =>
      page.body
        .toString()
        .replaceAll(/[0-9a-f-]{36}/g, "ID")
        .replaceAll(/value="[^"]+@[^"]+"/g, "E-MAIL");
    for (const page of wrongs) assert.deepEqual([page.status, bare(page)], [200, bare(right)]);
    assert.match(right.body.toString(), /a code was sent/);
    const otp_challenge_id = fieldOf(right, "otp_challenge_id");
    const totp_code = codeIn(await messageTo(service.dataDir, "+905327770001", "otp_code"));
    const login = { csrf, act: "sign_in", email: demo.email, password: demo.password, totp_code };
    assert.equal((await jar.post(path, login)).status, 401, "without its challenge it is no code");
    const other = { ...login, otp_challenge_id: fieldOf(wrongs[1] ?? right, "otp_challenge_id") };
    assert.equal((await jar.post(path, other)).status, 401, "of another challenge");
    assert.equal(locationOf(await jar.post(path, { ...login, otp_challenge_id })), path);
    assert.match((await jar.get(path)).body.toString(), /value="approve"/);
    assert.equal((await sentMessages(service.dataDir)).filter(({ kind }) => kind === "sms").length, 1);
  });

  test("429: codes by SMS spend the same limit as POST /auth/sms-otp/request", async () => {
    service.clock.advance(3600_000);
    const { jar, path, csrf } = await begin();
    const [email, password] = ["sms@emanet.example", "some password"];
    const asked = await service.send("POST", "/auth/sms-otp/request", { json: { email, password } });
    assert.equal(asked.status, 202);
    const refused = await jar.post(path, { csrf, act: "send_code", email, password });
    assert.deepEqual([refused.status, refused.headers["retry-after"]], [429, "60"]);
    const nothing = await jar.post(path, { csrf, act: "send_code", email, password: "" });
    assert.equal(nothing.status, 401);
  });

  test("429: a right password alone counts to the lockout like a wrong one", async (t) => {
    const strict = await startTestService(t, { settings: { ...noSignInLimits, EMANET_LIMIT_LOCKOUT: "3/60" } });
    const { email, password, account_id: accountId } = await demoOf(strict);
    const of = await addClient(strict, { accountId, grants: ["authorization_code"], redirectUris: [callback] });
    const statuses: number[][] = [];
    for (const claim of [
      { email, password },
      { email: "nobody@unknown.example", password },
    ]) {
      const jar = new CookieJar(siteOf(strict));
      const path = locationOf(await jar.get(authorizePath(of, pkce().challenge)));
      const csrf = fieldOf(await jar.get(path), "csrf");
      const send = async (act: string, totp_code = "") =>
        (await jar.post(path, { csrf, act, ...claim, totp_code })).status;
      const fail = () => send("sign_in", "000000");
      statuses.push([await fail(), await send("send_code"), await fail(), await fail()]);
    }
    assert.deepEqual(statuses, [
      [401, 200, 401, 429],
      [401, 200, 401, 429],
    ]);
  });

  test("429: it spends the same limit as POST /v1/auth/login", async () => {
    service.clock.advance(60_000);
    const { jar, path, csrf } = await begin();
    const login = { email: "limit@emanet.example", password: "x", totp_code: "000000" };
    for (let count = 0; count < 3; count++) {
      assert.equal((await service.send("POST", "/v1/auth/login", { json: login })).status, 401);
    }
    for (let count = 0; count < 2; count++) {
      assert.equal((await jar.post(path, { csrf, act: "sign_in", ...login })).status, 401);
    }
    const refused = await jar.post(path, { csrf, act: "sign_in", ...login });
    assert.equal(refused.status, 429);
    assert.ok(Number(refused.headers["retry-after"]) > 0);
  });
});
