import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { enter, fieldOf, invited, locationOf } from "../../../testing/pages.ts";
import { noSignInLimits } from "../../../testing/people.ts";
import { startTestService } from "../../../testing/running.ts";

const { EMANET_LIMIT_SMS_MINUTE: _minute, ...otherLimits } = noSignInLimits;
const service = await startTestService({ after }, { settings: otherLimits });

async function begin(email: string, role = "owner") {
  const { jar, next } = await enter(service, "/enrol", await invited(service, { email, role }));
  const page = await jar.get(next);
  return { jar, page, csrf: fieldOf(page, "csrf") };
}

describe("the page that verifies a phone", () => {
  test("an operator may continue without a phone; an owner may not", async () => {
    const operator = await begin("operator@ornek.example", "operator");
    assert.match(operator.page.body.toString(), /href="\/enrol\/setup"/);
    assert.equal((await operator.jar.get("/enrol/setup")).status, 200);
    const owner = await begin("sahip@ornek.example");
    assert.ok(!owner.page.body.includes('href="/enrol/setup"'));
    assert.equal(locationOf(await owner.jar.get("/enrol/setup")), "/enrol/phone");
  });
});
