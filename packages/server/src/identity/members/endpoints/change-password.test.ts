import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { noSignInLimits, readFirstRun, signInAs } from "../../../testing/people.ts";
import { startTestService } from "../../../testing/running.ts";
import { messageTo } from "../../../testing/sent-messages.ts";

const service = await startTestService({ after }, { settings: noSignInLimits });
const { demo } = await readFirstRun(service.dataDir);
const next = "yeşil kapı on üç vagon";

describe("POST /v1/me/password", () => {
  test("needs the old password, refuses easy new ones, ends the other sessions and says so by mail", async () => {
    const other = await signInAs(service, demo);
    const { auth } = await signInAs(service, demo);
    const change = (current_password: string, new_password: string) =>
      service.send("POST", "/v1/me/password", { json: { current_password, new_password }, headers: auth });
    assert.equal((await change("wrong password!", next)).json?.code, "invalid_credentials");
    for (const easy of ["short", "Parola.2026!!", "demo12345678", "qwertyuiop12", "aaaaaaaaaaaa"]) {
      assert.equal((await change(demo.password, easy)).status, 422, easy);
    }
    assert.equal((await change(demo.password, next)).status, 204);
    assert.equal((await service.send("GET", "/v1/me", { headers: auth })).status, 200, "this session stays");
    assert.equal((await service.send("GET", "/v1/me", { headers: other.auth })).status, 401);
    await messageTo(service.dataDir, demo.email, "password_changed");
    await signInAs(service, { ...demo, password: next });
    await assert.rejects(signInAs(service, demo), /invalid_credentials/);
  });

  test("429: attempts lock this session; strangers who fail with my address do not", async (t) => {
    const strict = await startTestService(t, { settings: { ...noSignInLimits, EMANET_LIMIT_LOCKOUT: "3/60" } });
    const login = (await readFirstRun(strict.dataDir)).demo;
    const { auth } = await signInAs(strict, login);
    const wrong = { email: login.email, password: "wrong password!", totp_code: "000000" };
    const fail = () => strict.send("POST", "/v1/auth/login", { json: wrong });
    for (let at = 0; at < 3; at++) assert.equal((await fail()).status, 401);
    assert.equal((await fail()).status, 429);
    const change = async (headers: Record<string, string>, current_password: string, new_password: string) => {
      const json = { current_password, new_password };
      return (await strict.send("POST", "/v1/me/password", { json, headers })).status;
    };
    assert.equal(await change(auth, login.password, next), 204);
    assert.equal(await change(auth, "wrong password!", login.password), 401);
    assert.equal(await change(auth, next, login.password), 204, "a right one in between resets nothing");
    assert.equal(await change(auth, login.password, next), 429);
    strict.clock.advance(30_000);
    const other = await signInAs(strict, login);
    assert.equal(await change(other.auth, login.password, next), 204, "no other session is locked");
  });
});
