import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { noSignInLimits, readFirstRun, signInAs } from "../../../testing/people.ts";
import { startTestService } from "../../../testing/running.ts";

const service = await startTestService({ after }, { settings: noSignInLimits });
const { demo } = await readFirstRun(service.dataDir);

describe("POST /v1/auth/logout", () => {
  test("ends the session: access and refresh tokens are refused from then on, and the cookie is taken away", async () => {
    const { auth, refresh } = await signInAs(service, demo);
    const cookie = `__Host-refresh=${refresh}`;
    const out = await service.send("POST", "/v1/auth/logout", { headers: { cookie } });
    assert.equal(out.status, 204);
    assert.match(out.headers["set-cookie"] ?? "", /__Host-refresh=; Path=\/; Max-Age=0/);
    assert.equal((await service.send("GET", "/v1/me", { headers: auth })).status, 401);
    const again = await service.send("POST", "/v1/auth/refresh", { headers: { cookie } });
    assert.equal(again.json?.code, "refresh_token_invalid");
  });

  test("an empty JSON object is no body", async () => {
    const { auth } = await signInAs(service, demo);
    assert.equal((await service.send("POST", "/v1/auth/logout", { json: {}, headers: auth })).status, 204);
    assert.equal((await service.send("GET", "/v1/me", { headers: auth })).status, 401);
  });

  test("with an access token alone it ends that session; without anything it answers the same", async () => {
    const { auth } = await signInAs(service, demo);
    assert.equal((await service.send("POST", "/v1/auth/logout", { headers: auth })).status, 204);
    assert.equal((await service.send("GET", "/v1/me", { headers: auth })).status, 401);
    assert.equal((await service.send("POST", "/v1/auth/logout")).status, 204);
  });

  test("403: another origin cannot log anybody out", async () => {
    const answer = await service.send("POST", "/v1/auth/logout", { headers: { origin: "https://evil.example" } });
    assert.equal(answer.json?.code, "origin_not_allowed");
  });
});
