import assert from "node:assert/strict";
import { after, test } from "node:test";
import { noSignInLimits, readFirstRun, signInAs } from "../../../testing/people.ts";
import { startTestService } from "../../../testing/running.ts";
import { codeAt } from "../../factors/totp.ts";

const service = await startTestService({ after }, { settings: noSignInLimits });
const { demo } = await readFirstRun(service.dataDir);

test("the new authenticator counts when it is confirmed, and the old one no more", async () => {
  const other = await signInAs(service, demo);
  const { auth } = await signInAs(service, demo);
  const confirm = (totp_code: string) =>
    service.send("POST", "/v1/me/totp/confirm", { json: { totp_code }, headers: auth });
  assert.equal((await confirm("000000")).json?.code, "state_conflict", "nothing was begun");
  const begun = await service.send("POST", "/v1/me/totp", { headers: auth });
  const secret = String(begun.json?.totp_secret);
  assert.equal((await confirm("000000")).json?.code, "invalid_credentials");
  assert.equal((await confirm(codeAt(secret, service.clock.now()))).status, 200);
  assert.equal((await service.send("GET", "/v1/me", { headers: other.auth })).status, 401, "other sessions end");
  await assert.rejects(signInAs(service, demo), /invalid_credentials/);
  await signInAs(service, { ...demo, totp_secret: secret });
});
