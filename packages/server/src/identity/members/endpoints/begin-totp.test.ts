import assert from "node:assert/strict";
import { after, test } from "node:test";
import { noSignInLimits, readFirstRun, signInAs } from "../../../testing/people.ts";
import { startTestService } from "../../../testing/running.ts";
import { qrPng, qrSvg } from "../../factors/qr.ts";

const service = await startTestService({ after }, { settings: noSignInLimits });
const { demo } = await readFirstRun(service.dataDir);

test("shows a new secret as text, address and pictures of one address; the old authenticator still counts", async () => {
  const { auth } = await signInAs(service, demo);
  const begun = await service.send("POST", "/v1/me/totp", { headers: auth });
  const { totp_secret, otpauth_uri, qr_svg, qr_png } = begun.json as Record<string, string>;
  assert.notEqual(totp_secret, demo.totp_secret);
  assert.equal(new URL(String(otpauth_uri)).searchParams.get("secret"), totp_secret);
  assert.equal(qr_svg, qrSvg(String(otpauth_uri)));
  assert.deepEqual(Buffer.from(String(qr_png), "base64"), qrPng(String(otpauth_uri)));
  await signInAs(service, demo);
});
