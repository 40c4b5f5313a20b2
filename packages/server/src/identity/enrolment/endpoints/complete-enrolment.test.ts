import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../../testing/accounts.ts";
import { listIn } from "../../../testing/lists.ts";
import { noSignInLimits, signInAs } from "../../../testing/people.ts";
import { startTestService } from "../../../testing/running.ts";
import { messageTo, tokenIn } from "../../../testing/sent-messages.ts";
import { codeAt } from "../../factors/totp.ts";

const service = await startTestService({ after }, { settings: noSignInLimits });

const owner = await tokenFor(service);

const password = "mavi bulut kırk yaprak";

async function invite(email: string): Promise<string> {
  const json = { email, full_name: "Can Örnek", role: "operator" };
  const { auth } = await tokenFor(service, { accountId: owner.accountId ?? "" });
  assert.equal((await service.send("POST", "/v1/members", { json, headers: auth })).status, 201);
  return tokenIn(await messageTo(service.dataDir, email, "enrolment"));
}

async function begin(token: string) {
  return (await service.send("POST", "/v1/enrolment", { json: { token } })).json as { totp: { totp_secret: string } };
}

describe("/v1/enrolment", () => {
  test("two tabs are shown one secret, and of two that complete at once one succeeds", async () => {
    const email = "can@ornek.example";
    const token = await invite(email);
    const [one, other] = await Promise.all([begin(token), begin(token)]);
    assert.equal(one.totp.totp_secret, other.totp.totp_secret);
    const json = { token, password, totp_code: codeAt(one.totp.totp_secret, service.clock.now()) };
    const answers = await Promise.all([1, 2, 3].map(() => service.send("POST", "/v1/enrolment/complete", { json })));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 404, 404]);
    await signInAs(service, { email, password, totp_secret: one.totp.totp_secret });
  });

  test("the code that enrolled does not sign in as well", async () => {
    const email = "cem@ornek.example";
    const token = await invite(email);
    const { totp } = await begin(token);
    const totp_code = codeAt(totp.totp_secret, service.clock.now());
    await service.send("POST", "/v1/enrolment/complete", { json: { token, password, totp_code } });
    const login = await service.send("POST", "/v1/auth/login", { json: { email, password, totp_code } });
    assert.equal(login.status, 401);
  });

  test("a wrong code changes nothing and leaves the link good; a GET spends nothing", async () => {
    const token = await invite("ece@ornek.example");
    const wrong = await service.send("POST", "/v1/enrolment/complete", {
      json: { token, password, totp_code: "000000" },
    });
    assert.deepEqual([wrong.status, listIn<{ pointer: string }>(wrong, "errors")[0]?.pointer], [422, "/totp_code"]);
    assert.equal((await service.send("GET", "/v1/enrolment")).status, 405);
    assert.ok((await begin(token)).totp);
  });
});
