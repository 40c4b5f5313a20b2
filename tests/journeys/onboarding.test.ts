import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { codeAt } from "../../packages/server/src/identity/factors/totp.ts";
import { noSignInLimits, readFirstRun, signInAs } from "../../packages/server/src/testing/people.ts";
import { startTestService } from "../../packages/server/src/testing/running.ts";
import { codeIn, messageTo, tokenIn } from "../../packages/server/src/testing/sent-messages.ts";

const service = await startTestService(
  { after },
  { settings: { ...noSignInLimits, EMANET_LIMIT_APPLICATIONS: "100/60" } },
);
const { staff } = await readFirstRun(service.dataDir);
const password = "kırmızı tren 41 kapı";

const message = (to: string, template: string) => messageTo(service.dataDir, to, template);

async function apply(email: string): Promise<string> {
  const json = {
    ...{ kind: "accounting_office", full_name: "Ayşe Örnek", email, phone: "0532 111 22 33" },
    ...{ company_name: "Örnek Büro", tax_id: "1234567808", package: "accountant" },
    consents: { terms: true, privacy: true },
  };
  const answer = await service.send("POST", "/applications", { json });
  assert.equal(answer.status, 202, answer.body.toString());
  return String(answer.json?.id);
}

async function post(target: string, json: unknown, headers: Record<string, string> = {}) {
  return service.send("POST", target, { json, headers });
}

describe("onboarding", () => {
  test("from an application to the first login, reading mails and SMS", async () => {
    const email = "ayse@buro.example";
    const id = await apply(email);
    const { auth } = await signInAs(service, staff);
    const reason = { reason: "belgeler tamam" };
    assert.equal((await post(`/v1/admin/applications/${id}/review`, reason, auth)).json?.status, "under_review");
    const approved = await post(`/v1/admin/applications/${id}/approve`, reason, auth);
    assert.equal(approved.status, 200, approved.body.toString());
    assert.equal((await post(`/v1/admin/applications/${id}/approve`, reason, auth)).status, 409);

    const token = tokenIn(await message(email, "enrolment"));
    const begun = await post("/v1/enrolment", { token });
    assert.equal(begun.status, 200, begun.body.toString());
    const totp = begun.json?.totp as { totp_secret: string; otpauth_uri: string; qr_svg: string };
    assert.match(totp.otpauth_uri, /^otpauth:\/\/totp\/Emanet:ayse%40buro\.example\?secret=/);
    assert.match(totp.qr_svg, /^<svg/);
    const challenge = await post("/v1/enrolment/phone", { token });
    const code = codeIn(await message("+905321112233", "otp_code"));
    const now = () => codeAt(totp.totp_secret, service.clock.now());
    const complete = (more: object) => post("/v1/enrolment/complete", { token, password, totp_code: now(), ...more });
    assert.equal((await complete({})).status, 422, "an owner must verify a phone");
    assert.equal(
      (await complete({ phone_challenge_id: challenge.json?.challenge_id, phone_code: "000000" })).status,
      422,
    );
    const phone = { phone_challenge_id: challenge.json?.challenge_id, phone_code: code };
    assert.equal((await complete({ ...phone, password: "Parola123456" })).status, 422, "a common password");
    const done = await complete(phone);
    assert.equal(done.status, 200, done.body.toString());
    const codes = done.json?.recovery_codes as string[];
    assert.equal(new Set(codes).size, 10);
    assert.equal((await complete(phone)).status, 404, "the link is used up");

    const login = { email, password, totp_secret: totp.totp_secret };
    const first = await signInAs(service, login);
    const account = await service.send("GET", "/v1/account", { headers: first.auth });
    assert.equal(account.json?.id, approved.json?.account_id);
    assert.equal(account.json?.package, "accountant");
    const me = await service.send("GET", "/v1/me", { headers: first.auth });
    assert.deepEqual([me.json?.role, me.json?.phone_verified], ["owner", true]);

    const byRecovery = await post("/v1/auth/login", { email, password, totp_code: codes[0] });
    assert.equal(byRecovery.status, 200);
    assert.equal((await post("/v1/auth/login", { email, password, totp_code: codes[0] })).status, 401, "good once");
    await message(email, "new_device");
  });

  test("a rejected applicant gets the reason by mail, and the application cannot change again", async () => {
    const email = "red@buro.example";
    const id = await apply(email);
    const { auth } = await signInAs(service, staff);
    const answer = await post(`/v1/admin/applications/${id}/reject`, { reason: "eksik belge" }, auth);
    assert.equal(answer.json?.status, "rejected");
    assert.match((await message(email, "application_rejected")).text, /eksik belge/);
    assert.equal((await post(`/v1/admin/applications/${id}/approve`, { reason: "yine de" }, auth)).status, 409);
  });

  test("an applicant can withdraw once, with the link in the first mail", async () => {
    const email = "vazgec@buro.example";
    const id = await apply(email);
    const token = tokenIn(await message(email, "application_received"));
    const answer = await post("/v1/applications/withdraw", { token });
    assert.deepEqual(answer.json, { id, status: "withdrawn" });
    assert.equal((await post("/v1/applications/withdraw", { token })).status, 404);
    const { auth } = await signInAs(service, staff);
    assert.equal((await post(`/v1/admin/applications/${id}/approve`, { reason: "olmaz" }, auth)).status, 409);
  });

  test("an enrolment link expires after a week, and an owner can resend the invitation", async () => {
    const email = "gec@buro.example";
    const id = await apply(email);
    const { auth } = await signInAs(service, staff);
    await post(`/v1/admin/applications/${id}/approve`, { reason: "tamam" }, auth);
    const token = tokenIn(await message(email, "enrolment"));
    assert.equal((await post("/v1/enrolment", { token })).status, 200);
    service.clock.advance(7 * 24 * 3600 * 1000);
    assert.equal((await post("/v1/enrolment", { token })).status, 404);
  });
});
