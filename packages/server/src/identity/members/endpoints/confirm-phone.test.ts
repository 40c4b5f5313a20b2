import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { noSignInLimits, readFirstRun, signInAs } from "../../../testing/people.ts";
import { startTestService } from "../../../testing/running.ts";
import { codeIn, messageTo } from "../../../testing/sent-messages.ts";

const service = await startTestService({ after }, { settings: noSignInLimits });

const { demo } = await readFirstRun(service.dataDir);

describe("/v1/me/phone", () => {
  test("another phone counts once the code that was sent to it is shown; five wrong ones end the challenge", async () => {
    const { auth } = await signInAs(service, demo);
    const ask = () => service.send("POST", "/v1/me/phone", { json: { phone: "0533 444 55 66" }, headers: auth });
    const confirm = (challenge_id: unknown, code: string) =>
      service.send("POST", "/v1/me/phone/confirm", { json: { challenge_id, code }, headers: auth });
    const first = await ask();
    const code = codeIn(await messageTo(service.dataDir, "+905334445566", "otp_code"));
    const wrong = code === "000000" ? "000001" : "000000";
    for (let at = 0; at < 5; at++) assert.equal((await confirm(first.json?.challenge_id, wrong)).status, 401);
    assert.equal((await confirm(first.json?.challenge_id, code)).status, 401, "no tries left");
    const second = await ask();
    const fresh = codeIn(await messageTo(service.dataDir, "+905334445566", "otp_code", 2));
    assert.equal((await confirm(second.json?.challenge_id, fresh)).status, 204);
    assert.equal((await confirm(second.json?.challenge_id, fresh)).status, 401, "good once");
    const me = await service.send("GET", "/v1/me", { headers: auth });
    assert.equal(me.json?.phone, "+90******5566");
  });
});
