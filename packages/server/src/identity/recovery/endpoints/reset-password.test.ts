import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { enter } from "../../../testing/pages.ts";
import { noSignInLimits, readFirstRun, signInAs } from "../../../testing/people.ts";
import { startTestService } from "../../../testing/running.ts";
import { messageTo, sentMessages, tokenIn } from "../../../testing/sent-messages.ts";

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

  const tokens = async (count: number) => {
    if (count > 0) await messageTo(service.dataDir, demo.email, "password_reset", count);
    const mails = (await sentMessages(service.dataDir)).filter(({ template }) => template === "password_reset");
    return mails.map(tokenIn);
  };

  const use = async (token: string | undefined) => {
    const json = { token, new_password: "mor kedi on iki saat" };
    return (await service.send("POST", "/v1/auth/password-reset", { json })).status;
  };

  /** Opens the page of a link, which spends nothing. */
  const isGood = async (token: string) => {
    const { status } = await (await enter(service, "/reset-password", token)).jar.get("/reset-password/new");
    return status === 200;
  };

  const goodOnes = async () => {
    const good: boolean[] = [];
    for (const token of await tokens(0)) good.push(await isGood(token));
    return good.filter(Boolean).length;
  };

  test("using one link ends all others, also when two are used at once", async () => {
    service.clock.advance(1000);
    const before = (await tokens(0)).length;
    await ask(demo.email);
    await ask(demo.email);
    const [one, two] = (await tokens(before + 2)).slice(before);
    assert.deepEqual((await Promise.all([use(one), use(two)])).sort(), [204, 404]);
    assert.equal(await goodOnes(), 0);
  });
});
