import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../../testing/accounts.ts";
import { noSignInLimits, readFirstRun, signInAs } from "../../../testing/people.ts";
import { startTestService } from "../../../testing/running.ts";
import { messageTo, sentMessages, tokenIn } from "../../../testing/sent-messages.ts";
import { codeAt } from "../../factors/totp.ts";

const service = await startTestService({ after }, { settings: noSignInLimits });
const { demo, staff } = await readFirstRun(service.dataDir);

async function ask(id: unknown) {
  const { auth } = await signInAs(service, staff);
  const json = { reason: "telefon kayboldu" };
  return service.send("POST", `/v1/admin/members/${id}/reset-second-factor`, { json, headers: auth });
}

describe("the reset of a second factor", () => {
  test("waits 24 hours, tells the owners, ends the sessions; the mailbox alone is not enough", async () => {
    const before = await signInAs(service, demo);
    const me = await service.send("GET", "/v1/me", { headers: before.auth });
    const asked = await ask(me.json?.id);
    assert.equal(asked.status, 202, asked.body.toString());
    assert.equal(Date.parse(String(asked.json?.effective_at)) - service.clock.now().getTime(), 24 * 3600 * 1000);
    assert.equal((await ask(me.json?.id)).status, 409, "one at a time");
    await messageTo(service.dataDir, demo.email, "second_factor_reset_asked");
    assert.ok((await sentMessages(service.dataDir)).every(({ template }) => template !== "second_factor_reset"));

    service.clock.advance(24 * 3600 * 1000);
    const token = tokenIn(await messageTo(service.dataDir, demo.email, "second_factor_reset"));
    const { totp } = (await service.send("POST", "/v1/enrolment", { json: { token } })).json as {
      totp: { totp_secret: string };
    };
    const complete = (password: string) =>
      service.send("POST", "/v1/enrolment/complete", {
        json: { token, password, totp_code: codeAt(totp.totp_secret, service.clock.now()) },
      });
    assert.equal((await complete("some other password")).json?.code, "invalid_credentials");
    assert.equal((await complete(demo.password)).status, 200);
    assert.equal((await signInAs(service, { ...demo, totp_secret: totp.totp_secret })).answer.status, 200);
  });

  test("404: staff themselves, and who does not exist", async () => {
    const other = await tokenFor(service, { as: "staff" });
    assert.equal((await ask(other.personId)).status, 404);
    assert.equal((await ask("0199c0de-0000-7000-8000-00000000dead")).status, 404);
  });
});
