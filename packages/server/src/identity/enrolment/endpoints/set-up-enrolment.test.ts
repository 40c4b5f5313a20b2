import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../../testing/accounts.ts";
import { type CookieJar, enter, fieldOf, invited, locationOf, post, siteOf } from "../../../testing/pages.ts";
import { noSignInLimits, readFirstRun, signInAs } from "../../../testing/people.ts";
import { type Sent, startTestService } from "../../../testing/running.ts";
import { codeIn, messageTo, tokenIn } from "../../../testing/sent-messages.ts";
import { codeAt } from "../../factors/totp.ts";

const service = await startTestService({ after }, { settings: noSignInLimits });

const password = "yeşil vapur kırk iki";

/** The key as the page shows it, typed in by hand. */
function secretOn(page: Sent): string {
  const shown = /<code class="secret">([^<]+)</.exec(page.body.toString())?.[1] ?? assert.fail("no key is shown");
  return shown.replaceAll(" ", "");
}

async function begin(email: string, more: { role?: string; full_name?: string } = {}) {
  const token = await invited(service, { email, ...more });
  const { jar } = await enter(service, "/enrol", token);
  const page = await jar.get("/enrol/setup");
  const csrf = fieldOf(page, "csrf");
  return { token, jar, page, csrf, secret: page.status === 200 ? secretOn(page) : "" };
}

function finish(jar: CookieJar, csrf: string, fields: Record<string, string>): Promise<Sent> {
  return jar.post("/enrol/setup", { csrf, password, ...fields });
}

const now = (secret: string) => codeAt(secret, service.clock.now());

describe("the page that sets up access", () => {
  test("an operator's: password and authenticator; the codes are shown once, as text and as a file", async () => {
    const { jar, csrf, secret } = await begin("ope@ornek.example");
    const code = now(secret);
    const done = await finish(jar, csrf, { totp_code: `${code.slice(0, 3)} ${code.slice(3)}` });
    assert.equal(done.status, 200);
    const codes = [...done.body.toString().matchAll(/<li><code>([a-z0-9]{5}-[a-z0-9]{5})</g)].map((match) => match[1]);
    assert.equal(new Set(codes).size, 10);
    const file = /href="(data:text\/plain[^"]+)" download/.exec(done.body.toString())?.[1] ?? "";
    for (const one of codes) assert.ok(decodeURIComponent(file).includes(`${one}\r\n`));
    assert.match(done.headers["set-cookie"] ?? "", /^__Host-link=; Path=\/; Max-Age=0/);
    assert.equal(done.headers["cache-control"], "no-store");
    await signInAs(service, { email: "ope@ornek.example", password, totp_secret: secret });
    assert.equal((await finish(jar, csrf, { totp_code: code })).status, 404, "the cookie is gone");
  });

  test("an owner's: with the code of the SMS, which a wrong code of the app does not use up", async () => {
    const { jar } = await begin("own@ornek.example", { role: "owner" });
    const csrf = fieldOf(await jar.get("/enrol/phone"), "csrf");
    const setup = locationOf(await jar.post("/enrol/phone", { csrf, phone: "0532 222 00 01" }));
    const page = await jar.get(setup);
    const phone = {
      phone_challenge_id: fieldOf(page, "phone_challenge_id"),
      phone_code: codeIn(await messageTo(service.dataDir, "+905322220001", "otp_code")),
    };
    const wrongApp = await finish(jar, csrf, { ...phone, totp_code: "000000" });
    assert.match(wrongApp.body.toString(), /id="totp_code-failure" role="alert">This code is wrong/);
    assert.match(wrongApp.body.toString(), new RegExp(`name="phone_challenge_id" value="${phone.phone_challenge_id}"`));
    const totp_code = now(secretOn(page));
    const wrongSms = await finish(jar, csrf, { ...phone, phone_code: "000000", totp_code });
    assert.match(wrongSms.body.toString(), /id="phone_code-failure"/);
    assert.match((await finish(jar, csrf, { ...phone, totp_code })).body.toString(), /Your recovery codes/);
  });

  test("says in place what is wrong with a password, in both languages, and never shows it again", async () => {
    const { jar, csrf, secret } = await begin("par@ornek.example");
    for (const [given, tr, en] of [
      ["on bir harf", /en az 12 karakter olmalı/, /Too short/],
      ["Parola123456", /çok yaygın/, /too common/],
    ] as const) {
      for (const [language, words] of [["tr", tr] as const, ["en", en] as const]) {
        const headers = { cookie: jar.header, "accept-language": language };
        const fields = { csrf, password: given, totp_code: now(secret) };
        const answer = await post(siteOf(service), "/enrol/setup", fields, headers);
        assert.equal(answer.status, 200);
        assert.match(answer.body.toString(), words);
        assert.ok(!answer.body.includes(given));
      }
    }
  });

  test("after a reset of the second factor it asks for the password that one has, and for no phone", async () => {
    const { demo } = await readFirstRun(service.dataDir);
    const { auth } = await signInAs(service, demo);
    const { json: me } = await service.send("GET", "/v1/me", { headers: auth });
    const staff = await tokenFor(service, { as: "staff" });
    const asked = { json: { reason: "telefon kayboldu" }, headers: staff.auth };
    await service.send("POST", `/v1/admin/members/${me?.id}/reset-second-factor`, asked);
    const owner = await tokenFor(service, { accountId: demo.account_id });
    const confirmed = { json: { decision: "confirm" }, headers: owner.auth };
    assert.equal((await service.send("POST", `/v1/members/${me?.id}/second-factor-reset`, confirmed)).status, 204);
    const { jar, next } = await enter(
      service,
      "/enrol",
      tokenIn(await messageTo(service.dataDir, demo.email, "second_factor_reset")),
    );
    assert.equal(locationOf(await jar.get(next)), "/enrol/setup");
    const page = await jar.get("/enrol/setup");
    assert.match(page.body.toString(), /autocomplete="current-password"/);
    const fields = { csrf: fieldOf(page, "csrf"), totp_code: now(secretOn(page)) };
    const wrong = await jar.post("/enrol/setup", { ...fields, password: "not the password" });
    assert.equal(wrong.status, 401);
    assert.match(wrong.body.toString(), /role="alert">The password is wrong/);
    const done = await jar.post("/enrol/setup", { ...fields, password: demo.password });
    assert.match(done.body.toString(), /Your recovery codes/);
    await signInAs(service, { ...demo, totp_secret: secretOn(page) });
  });

  test("of two browsers that finish with one link, one succeeds; the other sees that the link was used", async () => {
    const { token, jar, csrf, secret } = await begin("iki@ornek.example");
    const other = await enter(service, "/enrol", token);
    const totp_code = now(secret);
    const answers = await Promise.all([jar, other.jar].map((browser) => finish(browser, csrf, { totp_code })));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 404]);
    const replayed = await enter(service, "/enrol", token);
    const page = await replayed.jar.get("/enrol/setup");
    assert.equal(page.status, 404);
    assert.match(page.body.toString(), /used already or has expired/);
  });

  test("404: a link ends after a week, and the page says what to do", async () => {
    const { jar, csrf, secret } = await begin("hafta@ornek.example");
    service.clock.advance(7 * 24 * 3600 * 1000);
    const late = await finish(jar, csrf, { totp_code: now(secret) });
    assert.equal(late.status, 404);
    assert.match(late.body.toString(), /ask the person who invited you/);
  });

  test("403: without the form's token, or from another site, nothing is set", async () => {
    const { token, jar, csrf, secret } = await begin("dis@ornek.example");
    const fields = { password, totp_code: now(secret) };
    assert.equal((await jar.post("/enrol/setup", { ...fields, csrf: "" })).status, 403);
    const headers = { cookie: jar.header, "sec-fetch-site": "cross-site" };
    assert.equal((await post(siteOf(service), "/enrol/setup", { ...fields, csrf }, headers)).status, 403);
    assert.equal((await service.send("POST", "/v1/enrolment", { json: { token } })).status, 200, "still good");
  });
});
