import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { messageTo, outboxOf, tokenIn } from "../../testing/outbox.ts";
import { noSignInLimits, readFirstRun, signInAs } from "../../testing/people.ts";
import { startTestService } from "../../testing/running.ts";

const service = await startTestService({ after }, { settings: noSignInLimits });
const { demo } = await readFirstRun(service.dataDir);
const next = "turuncu defter yedi deniz";

async function ask(email: string) {
  return service.send("POST", "/v1/auth/password-reset/request", { json: { email } });
}

describe("/v1/auth/password-reset", () => {
  test("the link sets a password once, ends every session, and leaves the second factor alone", async () => {
    const before = await signInAs(service, demo);
    assert.equal((await ask(demo.email)).status, 202);
    const token = tokenIn(await messageTo(service.dataDir, demo.email, "password_reset"));
    const reset = (new_password: string) =>
      service.send("POST", "/v1/auth/password-reset", { json: { token, new_password } });
    assert.equal((await reset("Parola123456")).status, 422);
    const answers = await Promise.all([reset(next), reset(next)]);
    assert.deepEqual(answers.map(({ status }) => status).sort(), [204, 404]);
    assert.equal((await service.send("GET", "/v1/me", { headers: before.auth })).status, 401);
    await signInAs(service, { ...demo, password: next });
    const withoutFactor = { email: demo.email, password: next, totp_code: "000000" };
    assert.equal((await service.send("POST", "/v1/auth/login", { json: withoutFactor })).status, 401);
  });

  test("an unknown address gets the same answer and no mail; a link ends after an hour and by the next one", async () => {
    const known = await ask(demo.email);
    const unknown = await ask("nobody@unknown.example");
    assert.deepEqual([known.status, known.json], [unknown.status, unknown.json]);
    const first = tokenIn(await messageTo(service.dataDir, demo.email, "password_reset", 2));
    await ask(demo.email);
    const second = tokenIn(await messageTo(service.dataDir, demo.email, "password_reset", 3));
    const use = (token: string) =>
      service.send("POST", "/v1/auth/password-reset", { json: { token, new_password: "mor kedi on iki saat" } });
    assert.equal((await use(first)).status, 404);
    service.clock.advance(3600 * 1000);
    assert.equal((await use(second)).status, 404);
    assert.ok((await outboxOf(service.dataDir)).every(({ to }) => to !== "nobody@unknown.example"));
  });
});
