import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { enter, fieldOf, invited, locationOf, post, siteOf } from "../../../testing/pages.ts";
import { noSignInLimits } from "../../../testing/people.ts";
import { startTestService } from "../../../testing/running.ts";
import { codeIn, messageTo, sentMessages } from "../../../testing/sent-messages.ts";

const { EMANET_LIMIT_SMS_MINUTE: _minute, ...otherLimits } = noSignInLimits;
const service = await startTestService({ after }, { settings: otherLimits });

async function begin(email: string, role = "owner") {
  const { jar, next } = await enter(service, "/enrol", await invited(service, { email, role }));
  const page = await jar.get(next);
  return { jar, page, csrf: fieldOf(page, "csrf") };
}

describe("the page that verifies a phone", () => {
  test("sends a code and leads on to the set-up that asks for it", async () => {
    const { jar, csrf } = await begin("tel@ornek.example");
    const answer = await jar.post("/enrol/phone", { csrf, phone: "0532 111 00 01" });
    assert.match(locationOf(answer), /^\/enrol\/setup\?challenge=[0-9a-f-]{36}$/);
    assert.match(codeIn(await messageTo(service.dataDir, "+905321110001", "otp_code")), /^\d{6}$/);
    assert.match((await jar.get(locationOf(answer))).body.toString(), /name="phone_code"/);
  });

  test("says in place what is wrong with a number, and sends nothing", async () => {
    const { jar, csrf } = await begin("yanlis@ornek.example");
    const before = (await sentMessages(service.dataDir)).length;
    for (const phone of ["", "0212 000 00 00", "12", "<script>"]) {
      const answer = await jar.post("/enrol/phone", { csrf, phone });
      assert.equal(answer.status, 200, phone);
      assert.match(answer.body.toString(), /aria-invalid="true"[\s\S]*not a Turkish mobile number/, phone);
      service.clock.advance(60_000);
    }
    assert.equal((await sentMessages(service.dataDir)).length, before);
  });

  test("429 in place: one code a minute for a link, however it is asked for", async () => {
    const { jar, csrf } = await begin("sabir@ornek.example");
    const fields = { csrf, phone: "0532 111 00 02" };
    assert.equal((await jar.post("/enrol/phone", fields)).status, 303);
    const again = await jar.post("/enrol/phone", fields);
    assert.equal(again.status, 429);
    assert.ok(Number(again.headers["retry-after"]) > 0);
    assert.match(again.body.toString(), /role="alert">A code was just sent/);
    service.clock.advance(60_000);
    assert.equal((await jar.post("/enrol/phone", fields)).status, 303);
  });

  test("403: a form without the token of this browser, with another's, or from another site", async () => {
    const mine = await begin("ben@ornek.example");
    const theirs = await begin("baskasi@ornek.example");
    for (const csrf of ["", "x", theirs.csrf]) {
      assert.equal((await mine.jar.post("/enrol/phone", { csrf, phone: "0532 111 00 03" })).status, 403);
    }
    const fields = { csrf: mine.csrf, phone: "0532 111 00 03" };
    const headers = { cookie: mine.jar.header, origin: "https://evil.example" };
    assert.equal((await post(siteOf(service), "/enrol/phone", fields, headers)).status, 403);
    assert.ok((await sentMessages(service.dataDir)).every(({ to }) => to !== "+905321110003"));
  });
});
