import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { messageTo } from "../../testing/outbox.ts";
import { noSignInLimits, readFirstRun, signInAs } from "../../testing/people.ts";
import { startTestService } from "../../testing/running.ts";

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
});
