import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { cookieOf, noSignInLimits, readFirstRun, signInAs } from "../../../testing/people.ts";
import { storedRows } from "../../../testing/rows.ts";
import { startTestService } from "../../../testing/running.ts";
import { messageTo } from "../../../testing/sent-messages.ts";

const service = await startTestService({ after }, { settings: noSignInLimits });
const { demo, staff } = await readFirstRun(service.dataDir);
const dayMs = 24 * 3600 * 1000;

async function refresh(token: string, headers: Record<string, string> = {}) {
  return service.send("POST", "/v1/auth/refresh", { headers: { cookie: `__Host-refresh=${token}`, ...headers } });
}

describe("POST /v1/auth/refresh", () => {
  test("answers like login and hands on the next cookie; the session stays the same", async () => {
    const first = await signInAs(service, demo);
    const answer = await refresh(first.refresh);
    assert.equal(answer.status, 200);
    assert.deepEqual(Object.keys(answer.json ?? {}).sort(), ["access_token", "expires_in", "token_type"]);
    assert.notEqual(cookieOf(answer, "__Host-refresh"), first.refresh);
  });

  test("an empty JSON object, which many libraries send with every POST, is no body", async () => {
    let { refresh: token } = await signInAs(service, demo);
    const type = { "content-type": "application/json" };
    for (const body of ["{}", "{ }\n", ""]) {
      const headers = { cookie: `__Host-refresh=${token}`, ...type };
      const answer = await service.send("POST", "/v1/auth/refresh", { body, headers });
      assert.equal(answer.status, 200, answer.body.toString());
      token = cookieOf(answer, "__Host-refresh");
    }
    const full = { body: '{"refresh_token":"x"}', headers: { cookie: `__Host-refresh=${token}`, ...type } };
    assert.equal(
      (await service.send("POST", "/v1/auth/refresh", full)).status,
      413,
      "what says something is not dropped",
    );
  });

  test("401: missing, made up, changed by one letter", async () => {
    const { refresh: token } = await signInAs(service, demo);
    assert.equal((await service.send("POST", "/v1/auth/refresh")).json?.code, "refresh_token_missing");
    const changed = `${token.slice(0, -1)}${token.endsWith("A") ? "B" : "A"}`;
    for (const wrong of ["x", "A".repeat(70), changed, `${token}A`]) {
      assert.equal((await refresh(wrong)).json?.code, "refresh_token_invalid", wrong);
    }
    assert.equal((await refresh(token)).status, 200, "the attempts cost the session nothing");
  });

  test("an old cookie ends the family: audited, and told by mail", async () => {
    const { refresh: first } = await signInAs(service, demo);
    const second = cookieOf(await refresh(first), "__Host-refresh");
    await refresh(second);
    assert.equal((await refresh(first)).json?.code, "refresh_token_reused");
    await messageTo(service.dataDir, demo.email, "session_reused");
    const rows = await storedRows(
      service.database,
      "select from emanet.audit_records where action = 'session.refresh_reused'",
    );
    assert.equal(rows.length, 1);
  });

  test("idle for 7 days or older than 30: over; staff after 1 hour and 12", async () => {
    const idle = await signInAs(service, demo);
    service.clock.advance(7 * dayMs);
    assert.equal((await refresh(idle.refresh)).json?.code, "refresh_token_invalid");
    for (const { login, step, steps } of [
      { login: demo, step: 6 * dayMs, steps: 5 },
      { login: staff, step: 50 * 60 * 1000, steps: 14 },
    ]) {
      let { refresh: token } = await signInAs(service, login);
      const statuses: number[] = [];
      for (let at = 0; at < steps + 1; at++) {
        service.clock.advance(step);
        const answer = await refresh(token);
        statuses.push(answer.status);
        if (answer.status === 200) token = cookieOf(answer, "__Host-refresh");
      }
      assert.deepEqual(new Set(statuses.slice(0, steps - 1)), new Set([200]), login.email);
      assert.equal(statuses.at(-1), 401, login.email);
    }
  });

  test("403: another origin; our own origin and programs pass", async () => {
    const { refresh: token } = await signInAs(service, demo);
    const foreign = await refresh(token, { origin: "https://evil.example" });
    assert.equal(foreign.json?.code, "origin_not_allowed");
    const sameSite = await refresh(token, { "sec-fetch-site": "same-site" });
    assert.equal(sameSite.json?.code, "origin_not_allowed");
    assert.equal((await refresh(token, { origin: service.url, "sec-fetch-site": "same-origin" })).status, 200);
  });
});
