import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { enter, fieldOf, locationOf, post, siteOf } from "../../../testing/pages.ts";
import { noSignInLimits, readFirstRun, signInAs } from "../../../testing/people.ts";
import { startTestService } from "../../../testing/running.ts";
import { messageTo, tokenIn } from "../../../testing/sent-messages.ts";

const service = await startTestService({ after }, { settings: noSignInLimits });

const { demo } = await readFirstRun(service.dataDir);

const next = "lacivert kapı dokuz elma";

let mails = 0;

async function begin() {
  await service.send("POST", "/v1/auth/password-reset/request", { json: { email: demo.email } });
  const token = tokenIn(await messageTo(service.dataDir, demo.email, "password_reset", ++mails));
  const { jar, next: form } = await enter(service, "/reset-password", token);
  assert.equal(form, "/reset-password/new");
  const page = await jar.get(form);
  return { token, jar, page, csrf: fieldOf(page, "csrf") };
}

describe("the page for a new password", () => {
  test("sets it once, ends every session, and the second factor is still asked for", async () => {
    const before = await signInAs(service, demo);
    const { token, jar, csrf } = await begin();
    const wrong = await jar.post("/reset-password/new", { csrf, new_password: "kısa" });
    assert.match(wrong.body.toString(), /Too short/);
    const done = await jar.post("/reset-password/new", { csrf, username: demo.email, new_password: next });
    assert.equal(locationOf(done), "/reset-password/done");
    assert.match(done.headers["set-cookie"] ?? "", /^__Host-link=; /);
    assert.match((await jar.get("/reset-password/done")).body.toString(), /second factor, which is unchanged/);
    assert.equal((await service.send("GET", "/v1/me", { headers: before.auth })).status, 401);
    await signInAs(service, { ...demo, password: next });
    const again = await enter(service, "/reset-password", token);
    const over = await again.jar.get("/reset-password/new");
    assert.equal(over.status, 404);
    assert.match(over.body.toString(), /used already or has expired[\s\S]*href="\/reset-password\/request"/);
  });

  test("404: a link ends after an hour, also while its form is open", async () => {
    const { jar, csrf } = await begin();
    service.clock.advance(3600 * 1000);
    assert.equal((await jar.post("/reset-password/new", { csrf, new_password: next })).status, 404);
  });

  test("403: without the form's token, or from another site, the password stays", async () => {
    const { jar, csrf } = await begin();
    assert.equal((await jar.post("/reset-password/new", { csrf: "x", new_password: next })).status, 403);
    const headers = { cookie: jar.header, origin: "https://evil.example" };
    const fields = { csrf, new_password: next };
    assert.equal((await post(siteOf(service), "/reset-password/new", fields, headers)).status, 403);
    assert.equal((await jar.get("/reset-password/new")).status, 200);
  });
});
