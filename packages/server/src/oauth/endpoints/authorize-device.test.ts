import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { agentClientId } from "../index.ts";
import { askWho, CookieJar, decideDevice, fieldOf, pollDevice, post, startDevice, startOauth } from "../testing.ts";

const { service, site, demo } = await startOauth({ after });
const start = () => startDevice(site);
const poll = (deviceCode: unknown) => pollDevice(site, deviceCode);
const decide = (userCode: string, decision: "approve" | "deny") => decideDevice(site, demo, userCode, decision);

describe("the device flow", () => {
  test("leads to tokens of the agent, a program, for what the agent may", async () => {
    const codes = await start();
    assert.equal(codes.status, 200);
    assert.match(String(codes.json?.user_code), /^[A-Z]{4}-[A-Z]{4}$/);
    assert.equal(codes.json?.verification_uri, `${service.url}/oauth2/device`);
    assert.equal(codes.json?.expires_in, 600);
    assert.equal((await poll(codes.json?.device_code)).json?.error, "authorization_pending");
    const done = await decide(String(codes.json?.user_code).toLowerCase().replace("-", " "), "approve");
    assert.equal(done.status, 200);
    const tokens = await poll(codes.json?.device_code);
    assert.equal(tokens.status, 200);
    assert.ok(typeof tokens.json?.refresh_token === "string");
    const who = await askWho(site, tokens.json?.access_token);
    assert.equal(who.json?.kind, "client");
    assert.equal(who.json?.token_kind, "agent");
    assert.equal(who.json?.account_id, demo.account_id);
    assert.equal(who.json?.client_id, agentClientId);
    assert.equal((await poll(codes.json?.device_code)).json?.error, "invalid_grant");
    assert.equal((await askWho(site, tokens.json?.access_token)).status, 401);
  });

  test("a device that asks too soon hears slow_down, and has to wait five seconds longer from then on", async () => {
    const codes = await start();
    assert.equal(codes.json?.interval, 5);
    const ask = async (afterSeconds: number) => {
      service.clock.advance(afterSeconds * 1000);
      const answer = await poll(codes.json?.device_code);
      return [answer.status, answer.json?.error];
    };
    const [pending, slow] = [
      [400, "authorization_pending"],
      [400, "slow_down"],
    ];
    assert.deepEqual(await ask(0), pending, "the first question is never too soon");
    assert.deepEqual(await ask(5), pending);
    assert.deepEqual(await ask(2), slow, "now ten seconds");
    assert.deepEqual(await ask(5), slow, "now fifteen");
    assert.deepEqual(await ask(15), pending);
    assert.deepEqual(await ask(13), slow, "now twenty");
    assert.deepEqual(await ask(19.5), pending, "half a second early is the network's");
    const other = await start();
    assert.deepEqual(
      (await poll(other.json?.device_code)).json?.error,
      "authorization_pending",
      "each code is counted separately",
    );
    await decide(String(codes.json?.user_code), "approve");
    assert.equal((await poll(codes.json?.device_code)).status, 200, "what is decided is not held back");
  });

  test("of twenty questions at once one is on time, and the interval grows to a minute at most", async () => {
    const codes = await start();
    const answers = await Promise.all(Array.from({ length: 20 }, () => poll(codes.json?.device_code)));
    const count = (error: string) => answers.filter(({ json }) => json?.error === error).length;
    assert.deepEqual([count("authorization_pending"), count("slow_down")], [1, 19]);
    service.clock.advance(60_000);
    assert.equal((await poll(codes.json?.device_code)).json?.error, "authorization_pending");
  });

  test("denied, the device hears access_denied", async () => {
    const codes = await start();
    await decide(String(codes.json?.user_code), "deny");
    assert.equal((await poll(codes.json?.device_code)).json?.error, "access_denied");
  });

  test("a code lives ten minutes", async () => {
    const codes = await start();
    service.clock.advance(601_000);
    assert.equal((await poll(codes.json?.device_code)).json?.error, "expired_token");
    const jar = new CookieJar(site);
    const form = await jar.get("/oauth2/device");
    const fields = { xsrf: fieldOf(form, "xsrf"), user_code: String(codes.json?.user_code) };
    assert.match((await jar.post("/oauth2/device", fields)).body.toString(), /expired/);
  });

  test("ten questions at once after the decision: one answer with tokens", async () => {
    const codes = await start();
    await decide(String(codes.json?.user_code), "approve");
    const answers = await Promise.all(Array.from({ length: 10 }, () => poll(codes.json?.device_code)));
    assert.equal(answers.filter((answer) => answer.status === 200).length, 1);
  });

  test("400 invalid_scope and 401 invalid_client at the start", async () => {
    const wrong = { client_id: agentClientId, scope: "audit:read" };
    assert.equal((await post(site, "/oauth2/device_authorization", wrong)).json?.error, "invalid_scope");
    const unknown = { client_id: "00000000-0000-7000-8000-000000000000" };
    assert.equal((await post(site, "/oauth2/device_authorization", unknown)).json?.error, "invalid_client");
    const machine = { client_id: demo.client_id, client_secret: demo.client_secret };
    assert.equal((await post(site, "/oauth2/device_authorization", machine)).status, 400);
  });
});
