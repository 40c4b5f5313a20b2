import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { noSignInLimits, readFirstRun, signInAs } from "../../testing/people.ts";
import { startTestService } from "../../testing/running.ts";
import { codeAt } from "../totp.ts";

const service = await startTestService({ after }, { settings: { ...noSignInLimits, EMANET_LIMIT_LOCKOUT: "4/60" } });
const { demo } = await readFirstRun(service.dataDir);

describe("POST /v1/auth/step-up", () => {
  test("after ten minutes a dangerous act asks for it; a fresh code opens it again", async () => {
    const { auth } = await signInAs(service, demo);
    const act = (headers: Record<string, string>) => service.send("POST", "/v1/me/recovery-codes", { headers });
    assert.equal((await act(auth)).status, 200);
    service.clock.advance(601_000);
    assert.equal((await act(auth)).json?.code, "step_up_required");
    const json = { totp_code: codeAt(demo.totp_secret, service.clock.now()) };
    const stepped = await service.send("POST", "/v1/auth/step-up", { json, headers: auth });
    assert.equal(stepped.status, 200, stepped.body.toString());
    assert.equal((await act({ authorization: `Bearer ${stepped.json?.access_token}` })).status, 200);
    const again = await service.send("POST", "/v1/auth/step-up", { json, headers: auth });
    assert.equal(again.json?.code, "invalid_credentials", "the code is spent");
  });

  test("429: wrong codes run into the lockout of signing in", async () => {
    const { auth } = await signInAs(service, demo);
    const codes: unknown[] = [];
    for (let at = 0; at < 5; at++) {
      const answer = await service.send("POST", "/v1/auth/step-up", { json: { totp_code: "000000" }, headers: auth });
      codes.push(answer.json?.code);
    }
    assert.equal(codes.at(-1), "too_many_attempts");
    const json = {
      email: demo.email,
      password: demo.password,
      totp_code: codeAt(demo.totp_secret, service.clock.now()),
    };
    const login = await service.send("POST", "/v1/auth/login", { json });
    assert.equal(login.json?.code, "too_many_attempts", "one counter for both");
  });
});
