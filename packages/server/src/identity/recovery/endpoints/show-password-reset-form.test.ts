import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { enter, fieldOf } from "../../../testing/pages.ts";
import { noSignInLimits, readFirstRun } from "../../../testing/people.ts";
import { startTestService } from "../../../testing/running.ts";
import { messageTo, tokenIn } from "../../../testing/sent-messages.ts";

const service = await startTestService({ after }, { settings: noSignInLimits });

const { demo } = await readFirstRun(service.dataDir);

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
  test("looking spends nothing; a link of another kind opens nothing", async () => {
    const { token, jar } = await begin();
    for (let count = 0; count < 5; count++) assert.equal((await jar.get("/reset-password/new")).status, 200);
    const { jar: elsewhere } = await enter(service, "/enrol", token);
    assert.equal((await elsewhere.get("/enrol/setup")).status, 404);
    const json = { token, new_password: "mor kedi on iki saat" };
    assert.equal((await service.send("POST", "/v1/auth/password-reset", { json })).status, 204);
  });
});
