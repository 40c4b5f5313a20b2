import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../../testing/accounts.ts";
import { noSignInLimits, readFirstRun, signInAs } from "../../../testing/people.ts";
import { storedRows } from "../../../testing/rows.ts";
import { startTestService } from "../../../testing/running.ts";
import { codeIn, jobsDone, messageTo, sentMessages } from "../../../testing/sent-messages.ts";

const service = await startTestService({ after }, { settings: noSignInLimits });
const { demo, staff } = await readFirstRun(service.dataDir);
const phone = "+905320000000";

async function ask(email: string, password: string) {
  return service.send("POST", "/auth/sms-otp/request", { json: { email, password } });
}

describe("POST /auth/sms-otp/request", () => {
  test("the code signs in, once, with its own challenge only", async () => {
    const asked = await ask(demo.email, demo.password);
    assert.equal(asked.status, 202);
    assert.equal(asked.json?.expires_in, 300);
    const code = codeIn(await messageTo(service.dataDir, phone, "otp_code"));
    const other = await ask(demo.email, "wrong password!");
    const login = (otp_challenge_id: unknown) =>
      service.send("POST", "/v1/auth/login", {
        json: { email: demo.email, password: demo.password, totp_code: code, otp_challenge_id },
      });
    assert.equal((await login(other.json?.challenge_id)).status, 401);
    assert.equal((await login(asked.json?.challenge_id)).status, 200);
    assert.equal((await login(asked.json?.challenge_id)).status, 401);
  });

  test("202 whatever is true: a wrong password, an unknown address and staff get the same answer and no message", async () => {
    const before = (await sentMessages(service.dataDir)).filter(({ kind }) => kind === "sms").length;
    const answers = [
      await ask(demo.email, "wrong password!"),
      await ask("nobody@unknown.example", demo.password),
      await ask(staff.email, staff.password),
    ];
    for (const answer of answers) {
      assert.equal(answer.status, 202);
      assert.deepEqual(Object.keys(answer.json ?? {}).sort(), ["challenge_id", "expires_in"]);
    }
    await ask(demo.email, demo.password);
    await messageTo(service.dataDir, phone, "otp_code", before + 1);
    assert.equal((await sentMessages(service.dataDir)).filter(({ kind }) => kind === "sms").length, before + 1);
  });

  test("a phone gets at most five an hour; the answers do not show it", async () => {
    service.clock.advance(2 * 3600 * 1000);
    const before = (await sentMessages(service.dataDir)).filter(({ kind }) => kind === "sms").length;
    for (let at = 0; at < 7; at++) assert.equal((await ask(demo.email, demo.password)).status, 202);
    await messageTo(service.dataDir, phone, "otp_code", before + 5);
    service.clock.advance(3600 * 1000);
    await ask(demo.email, demo.password);
    await messageTo(service.dataDir, phone, "otp_code", before + 6);
    assert.equal((await sentMessages(service.dataDir)).filter(({ kind }) => kind === "sms").length, before + 6);
  });

  test("with an access token it makes a challenge that steps up, and does not sign in", async () => {
    service.clock.advance(2 * 3600 * 1000);
    const { auth } = await signInAs(service, demo);
    const count = (await sentMessages(service.dataDir)).filter(({ kind }) => kind === "sms").length;
    const asked = await service.send("POST", "/v1/auth/sms-otp/request", { json: {}, headers: auth });
    const code = codeIn(await messageTo(service.dataDir, phone, "otp_code", count + 1));
    const challenge = { totp_code: code, otp_challenge_id: asked.json?.challenge_id };
    const login = { email: demo.email, password: demo.password, ...challenge };
    assert.equal((await service.send("POST", "/v1/auth/login", { json: login })).status, 401);
    assert.equal((await service.send("POST", "/v1/auth/step-up", { json: challenge, headers: auth })).status, 200);
  });

  test("an owner switches codes by SMS off: the answers stay the same, no message leaves, and codes sent before count no more", async () => {
    service.clock.advance(2 * 3600 * 1000);
    const { auth } = await signInAs(service, demo);
    const sent = async () => (await sentMessages(service.dataDir)).filter(({ kind }) => kind === "sms").length;
    const before = await sent();
    const set = (sms_sign_in: boolean) =>
      service.send("PATCH", "/v1/account", { json: { sms_sign_in }, headers: auth });
    const askStepUp = () => service.send("POST", "/v1/auth/sms-otp/request", { json: {}, headers: auth });
    const manager = await tokenFor(service, { accountId: demo.account_id, role: "manager" });
    const byManager = { json: { sms_sign_in: false }, headers: manager.auth };
    assert.equal((await service.send("PATCH", "/v1/account", byManager)).status, 403);
    const early = await askStepUp();
    const stepUpCode = codeIn(await messageTo(service.dataDir, phone, "otp_code", before + 1));
    service.clock.advance(1_000);
    const earlySignIn = await ask(demo.email, demo.password);
    const signInCode = codeIn(await messageTo(service.dataDir, phone, "otp_code", before + 2));
    assert.equal((await set(false)).json?.sms_sign_in, false);
    for (const off of [await ask(demo.email, demo.password), await askStepUp()]) {
      assert.deepEqual([off.status, Object.keys(off.json ?? {}).sort()], [202, ["challenge_id", "expires_in"]]);
    }
    await jobsDone(service, "identity.send_code", "messages.send");
    assert.equal(await sent(), before + 2);
    const stepUp = { totp_code: stepUpCode, otp_challenge_id: early.json?.challenge_id };
    assert.equal((await service.send("POST", "/v1/auth/step-up", { json: stepUp, headers: auth })).status, 401);
    const challenge = { totp_code: signInCode, otp_challenge_id: earlySignIn.json?.challenge_id };
    const login = { email: demo.email, password: demo.password, ...challenge };
    assert.equal((await service.send("POST", "/v1/auth/login", { json: login })).status, 401);
    await set(true);
    service.clock.advance(1_000);
    await ask(demo.email, demo.password);
    await messageTo(service.dataDir, phone, "otp_code", before + 3);
    assert.equal(await sent(), before + 3);
  });

  test("without a verified phone no code is sent, to step up either", async () => {
    const { auth, personId } = await tokenFor(service);
    const unverified = "update emanet.people set phone = '+905327770002' where id = $1";
    await storedRows(service.database, unverified, [personId]);
    const before = (await sentMessages(service.dataDir)).length;
    assert.equal((await service.send("POST", "/v1/auth/sms-otp/request", { json: {}, headers: auth })).status, 202);
    await jobsDone(service, "identity.send_code", "messages.send");
    assert.equal((await sentMessages(service.dataDir)).length, before);
  });

  test("429: once a minute per e-mail and address", async (t) => {
    const limited = await startTestService(t);
    const json = { email: "a@b.example", password: "some password" };
    assert.equal((await limited.send("POST", "/auth/sms-otp/request", { json })).status, 202);
    const again = await limited.send("POST", "/v1/auth/sms-otp/request", { json });
    assert.deepEqual([again.status, again.json?.policy, again.headers["retry-after"]], [429, "sms_minute", "60"]);
    const other = { ...json, email: "c@d.example" };
    assert.equal((await limited.send("POST", "/auth/sms-otp/request", { json: other })).status, 202);
  });
});
