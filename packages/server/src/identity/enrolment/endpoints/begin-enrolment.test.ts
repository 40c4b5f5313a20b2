import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../../testing/accounts.ts";
import { listIn } from "../../../testing/lists.ts";
import { enter } from "../../../testing/pages.ts";
import { noSignInLimits, signInAs } from "../../../testing/people.ts";
import { startTestService } from "../../../testing/running.ts";
import { messageTo, tokenIn } from "../../../testing/sent-messages.ts";
import { codeAt } from "../../factors/totp.ts";

const service = await startTestService({ after }, { settings: noSignInLimits });

const password = "mavi bulut kırk yaprak";

async function begin(token: string) {
  return (await service.send("POST", "/v1/enrolment", { json: { token } })).json as { totp: { totp_secret: string } };
}

describe("/v1/enrolment", () => {
  test("409: an address that two accounts invited belongs to the one who enrols first, also at the same moment", async () => {
    const email = "ortak@ornek.example";
    const offices = [await tokenFor(service), await tokenFor(service)];
    const json = { email, full_name: "Ortak", role: "viewer" };
    const tokens: string[] = [];
    for (const [at, { auth }] of offices.entries()) {
      assert.equal((await service.send("POST", "/v1/members", { json, headers: auth })).status, 201);
      tokens.push(tokenIn(await messageTo(service.dataDir, email, "enrolment", at + 1)));
      service.clock.advance(1_000);
    }
    const secrets = await Promise.all(tokens.map(async (token) => (await begin(token)).totp.totp_secret));
    const complete = (at: number) => {
      const totp_code = codeAt(secrets[at] ?? "", service.clock.now());
      return service.send("POST", "/v1/enrolment/complete", { json: { token: tokens[at], password, totp_code } });
    };
    const answers = await Promise.all([complete(0), complete(1)]);
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409]);
    const won = answers[0]?.status === 200 ? 0 : 1;
    const lost = 1 - won;
    assert.equal(answers[lost]?.json?.code, "state_conflict");
    const opened = await service.send("POST", "/v1/enrolment", { json: { token: tokens[lost] } });
    assert.equal(opened.json?.code, "state_conflict");
    const { jar } = await enter(service, "/enrol", tokens[lost] ?? "");
    for (const path of ["/enrol/phone", "/enrol/setup"]) {
      const page = await jar.get(path);
      assert.deepEqual([page.status, /already signs in/.test(page.body.toString())], [409, true], path);
    }
    await signInAs(service, { email, password, totp_secret: secrets[won] ?? "" });
    const { auth } = await tokenFor(service, { accountId: offices[lost]?.accountId ?? "" });
    const listed = await service.send("GET", "/v1/members", { headers: auth });
    const states = listIn<{ email: string; state: string }>(listed, "data").filter((one) => one.email === email);
    assert.deepEqual(
      states.map(({ state }) => state),
      ["invited"],
      "an owner whose invitation lost sees no difference",
    );
    const winner = await tokenFor(service, { accountId: offices[won]?.accountId ?? "" });
    const members = await service.send("GET", "/v1/members", { headers: winner.auth });
    const member = listIn<{ id: string; email: string }>(members, "data").find((one) => one.email === email);
    await service.send("DELETE", `/v1/members/${member?.id}`, { headers: winner.auth });
    assert.equal((await complete(lost)).status, 200, "removed there, the address is free again");
  });
});
