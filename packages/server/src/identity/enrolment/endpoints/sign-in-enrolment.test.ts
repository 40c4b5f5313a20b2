import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { CookieJar, post, siteOf } from "../../../testing/pages.ts";
import { cookieOf, readFirstRun } from "../../../testing/people.ts";
import { startTestService } from "../../../testing/running.ts";

const service = await startTestService({ after });
const site = siteOf(service);
const { demo } = await readFirstRun(service.dataDir);

describe("the first sign-in", () => {
  test("opens a session like any sign-in, and says that it worked", async () => {
    const jar = new CookieJar(site);
    assert.match((await jar.get("/enrol/sign-in")).body.toString(), /name="totp_code"/);
    const code = site.nextCode(demo.totp_secret);
    const totp_code = `${code.slice(0, 3)} ${code.slice(3)}`;
    const done = await jar.post("/enrol/sign-in", { email: demo.email, password: demo.password, totp_code });
    assert.equal(done.status, 200, done.body.toString());
    assert.match(done.body.toString(), /You are signed in/);
    const cookie = `__Host-refresh=${cookieOf(done, "__Host-refresh")}`;
    assert.equal((await service.send("POST", "/v1/auth/refresh", { headers: { cookie } })).status, 200);
    assert.ok(cookieOf(done, "__Host-device").length > 40);
  });

  test("401 in place, one answer whatever is wrong; 429 by the limit of POST /v1/auth/login", async () => {
    const email = "deneme@ornek.example";
    const pages = new Set<string>();
    for (const totp_code of ["000000", "no code", "aaaaa-bbbbb"]) {
      const answer = await post(site, "/enrol/sign-in", { email, password: "yanlış parola", totp_code });
      assert.equal(answer.status, 401);
      assert.ok(!answer.body.includes("yanlış parola"));
      pages.add(answer.body.toString());
    }
    assert.equal(pages.size, 1);
    const json = { email, password: "yanlış parola", totp_code: "000000" };
    for (let count = 0; count < 3; count++) await service.send("POST", "/v1/auth/login", { json });
    const refused = await post(site, "/enrol/sign-in", { ...json });
    assert.equal(refused.status, 429);
    assert.match(refused.body.toString(), /Too many attempts/);
  });

  test("403: a form from another site signs no one in", async () => {
    const fields = { email: demo.email, password: demo.password, totp_code: site.nextCode(demo.totp_secret) };
    const answer = await post(site, "/enrol/sign-in", fields, { origin: "https://evil.example" });
    assert.deepEqual([answer.status, answer.headers["set-cookie"]], [403, undefined]);
  });
});
