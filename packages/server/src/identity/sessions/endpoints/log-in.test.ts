import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { cookieOf, noSignInLimits, readFirstRun, signInAs } from "../../../testing/people.ts";
import { startTestService } from "../../../testing/running.ts";
import { codeAt } from "../../factors/totp.ts";

const service = await startTestService({ after }, { settings: noSignInLimits });
const { demo, staff } = await readFirstRun(service.dataDir);

function loginBody(code: string, other: Record<string, unknown> = {}) {
  return { email: demo.email, password: demo.password, totp_code: code, ...other };
}

describe("POST /v1/auth/login", () => {
  test("200: the contract's fields, a bearer token of 900 seconds, and a refresh cookie that no script can read", async () => {
    const { answer, auth } = await signInAs(service, demo);
    assert.deepEqual(Object.keys(answer.json ?? {}).sort(), ["access_token", "expires_in", "token_type"]);
    assert.equal(answer.json?.expires_in, 900);
    assert.equal(answer.headers["cache-control"], "no-store");
    const cookies = answer.headers["set-cookie"] ?? "";
    assert.match(cookies, /__Host-refresh=[\w-]{70}; Path=\/; Max-Age=604800; HttpOnly; Secure; SameSite=Strict/);
    const me = await service.send("GET", "/v1/me", { headers: auth });
    assert.equal(me.status, 200, me.body.toString());
    assert.equal(me.json?.email, demo.email);
  });

  test("the other spelling is the same operation", async () => {
    service.clock.advance(30_000);
    const json = loginBody(codeAt(demo.totp_secret, service.clock.now()));
    const answer = await service.send("POST", "/auth/login", { json });
    assert.equal(answer.status, 200);
  });

  test("401: a code that was used is not good again", async () => {
    service.clock.advance(30_000);
    const json = loginBody(codeAt(demo.totp_secret, service.clock.now()));
    assert.equal((await service.send("POST", "/v1/auth/login", { json })).status, 200);
    const again = await service.send("POST", "/v1/auth/login", { json });
    assert.equal(again.status, 401);
    assert.equal(again.json?.code, "invalid_credentials");
  });

  test("a code is good one step early and one step late, not two", async () => {
    for (const [shift, status] of [
      [-60_000, 401],
      [-30_000, 200],
      [30_000, 200],
      [90_000, 401],
    ] as const) {
      service.clock.advance(120_000);
      const at = new Date(service.clock.now().getTime() + shift);
      const answer = await service.send("POST", "/v1/auth/login", { json: loginBody(codeAt(demo.totp_secret, at)) });
      assert.equal(answer.status, status, String(shift));
    }
  });

  test("422: a missing code is a missing field, not a wrong sign-in", async () => {
    const json = { email: demo.email, password: demo.password };
    const answer = await service.send("POST", "/v1/auth/login", { json });
    assert.equal(answer.status, 422);
  });

  test("staff sign in too; their session is short", async () => {
    const { answer } = await signInAs(service, staff);
    assert.match(answer.headers["set-cookie"] ?? "", /__Host-refresh=[^;]+; Path=\/; Max-Age=3600;/);
  });

  test("a sign-in from a second device sends a mail, one from a known device does not", async () => {
    const first = await signInAs(service, demo);
    const again = await signInAs(service, demo, { cookie: `__Host-device=${first.device}` });
    assert.equal(cookieOf(again.answer, "__Host-device"), first.device);
  });

  test("403: a page of another origin cannot sign in with this browser's device", async () => {
    for (const headers of [{ origin: "https://evil.example" }, { "sec-fetch-site": "cross-site" }]) {
      const answer = await service.send("POST", "/v1/auth/login", { json: loginBody("000000"), headers });
      assert.equal(answer.json?.code, "origin_not_allowed");
    }
  });
});
