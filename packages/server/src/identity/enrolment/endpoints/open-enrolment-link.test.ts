import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { CookieJar, enter, invited, locationOf, post, siteOf } from "../../../testing/pages.ts";
import { noSignInLimits } from "../../../testing/people.ts";
import { startTestService } from "../../../testing/running.ts";

const service = await startTestService({ after }, { settings: noSignInLimits });

const site = siteOf(service);

const madeUp = `enr_${"A".repeat(43)}`;

describe("the link landing page", () => {
  test("takes the whole link or its end, and puts the secret into a cookie and into no address or page", async () => {
    const token = await invited(service, { email: "tam@ornek.example" });
    for (const link of [token, `${service.url}/enrol#${token}`, `  ${service.url}/enrol#${token} `, `#${token}`]) {
      const { answer, next, jar } = await enter(service, "/enrol", link);
      const cookie = answer.headers["set-cookie"] ?? "";
      assert.equal(next, "/enrol/phone");
      assert.ok(cookie.startsWith(`__Host-link=${token}; Path=/; Max-Age=3600; HttpOnly; Secure; SameSite=Strict`));
      assert.ok(!(await jar.get(next)).body.includes(token));
    }
  });

  test("says in place that what was pasted is no whole link, in both languages", async () => {
    for (const [language, words] of Object.entries({
      tr: "bağlantının tamamı değil",
      en: "The link is not complete",
    })) {
      for (const link of ["", "x", madeUp.slice(0, -1), `${madeUp}A`, "https://evil.example/"]) {
        const answer = await post(site, "/enrol", { link }, { "accept-language": language });
        assert.equal(answer.status, 200, link);
        assert.ok(answer.body.includes(words), link);
        assert.equal(answer.headers["set-cookie"], undefined);
      }
    }
  });

  test("403: a form that another site sends, as a page", async () => {
    for (const headers of [{ origin: "https://evil.example" }, { "sec-fetch-site": "cross-site" }]) {
      const answer = await post(site, "/enrol", { link: madeUp }, headers as unknown as Record<string, string>);
      assert.equal(answer.status, 403);
      assert.match(answer.headers["content-type"] ?? "", /^text\/html/);
      assert.match(answer.body.toString(), /did not come from our own page/);
    }
  });

  test("404: a link that is made up, used or of another kind says so on the next page, and what to do", async () => {
    const { jar } = await enter(service, "/enrol", madeUp);
    for (const [target, advice] of [
      ["/enrol/phone", /send it again/],
      ["/enrol/setup", /send it again/],
      ["/reset-password/new", /href="\/reset-password\/request"/],
      ["/withdraw/confirm", /write to our support/],
    ] as const) {
      const page = await jar.get(target);
      assert.equal(page.status, 404, target);
      assert.match(page.body.toString(), advice, target);
    }
    assert.equal((await new CookieJar(site).get("/enrol/setup")).status, 404, "without a cookie");
  });

  test("413 and 415, as pages: what is no form", async () => {
    const json = await service.send("POST", "/enrol", { json: { link: madeUp } });
    assert.deepEqual([json.status, json.headers["content-type"]], [415, "text/html; charset=utf-8"]);
    assert.equal((await post(site, "/enrol", { link: "x".repeat(40_000) })).status, 413);
    assert.equal(locationOf(json), "");
  });
});
