import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { noSignInLimits, readFirstRun, signInAs } from "../../testing/people.ts";
import { startTestService } from "../../testing/running.ts";
import { lockedUntil } from "./attempts.ts";

const { EMANET_LIMIT_LOCKOUT: _default, ...limits } = noSignInLimits;
const service = await startTestService({ after }, { settings: limits });
const { demo } = await readFirstRun(service.dataDir);

async function fail(email: string, cookie?: string): Promise<string> {
  const json = { email, password: "wrong password!", totp_code: "000000" };
  const answer = await service.send("POST", "/v1/auth/login", { json, ...(cookie && { headers: { cookie } }) });
  return `${answer.status} ${answer.headers["retry-after"] ?? ""}`.trim();
}

describe("the lockout", () => {
  test("begins with the tenth failure in a row, alike for addresses that exist and that do not", async () => {
    for (const email of [demo.email, "nobody@unknown.example"]) {
      const answers: string[] = [];
      for (let at = 0; at < 11; at++) answers.push(await fail(email));
      assert.deepEqual(answers, [...Array(10).fill("401"), "429 30"], email);
    }
  });

  test("a known device has its own counter: failures elsewhere do not lock it", async () => {
    service.clock.advance(24 * 3600 * 1000 + 1);
    const { device } = await signInAs(service, demo);
    for (let at = 0; at < 11; at++) await fail(demo.email);
    assert.match(await fail(demo.email), /^429/);
    const cookie = `__Host-device=${device}`;
    assert.equal(await fail(demo.email, cookie), "401");
    assert.equal((await signInAs(service, demo, { cookie })).answer.status, 200);
    // The first wait is over by now; one more failure begins the next.
    assert.equal(await fail(demo.email), "401");
    assert.equal(await fail(demo.email, `__Host-device=${"A".repeat(43)}`), "429 60");
  });

  test("a password alone never resets it, and right and wrong ones leave the same counter: nothing tells which it was", async () => {
    const claims = {
      right: { email: demo.email, password: demo.password },
      wrong: { email: demo.email, password: "wrong password!" },
      unknown: { email: "nobody-else@unknown.example", password: "wrong password!" },
    };
    const seen: Record<string, string[]> = {};
    for (const [name, claim] of Object.entries(claims)) {
      service.clock.advance(24 * 3600 * 1000 + 1);
      if (claim.email === demo.email) await signInAs(service, demo);
      const ask = async () => {
        const answer = await service.send("POST", "/auth/sms-otp/request", { json: claim });
        return `${answer.status} ${answer.headers["retry-after"] ?? ""}`.trim();
      };
      const answers: string[] = [];
      for (let at = 0; at < 5; at++) answers.push(await fail(claim.email), await ask());
      answers.push(await fail(claim.email), await ask());
      // The wait is over: what was asked for meanwhile counts on.
      service.clock.advance(30_000);
      answers.push(await ask(), await fail(claim.email));
      seen[name] = answers;
    }
    const all = [...Array(5).fill(["401", "202"]).flat(), "429 30", "429 30", "202", "429 60"];
    assert.deepEqual(seen, { right: all, wrong: all, unknown: all });
    service.clock.advance(60_000);
    await signInAs(service, demo);
    for (let at = 0; at < 10; at++) assert.equal(await fail(demo.email), "401", "a whole sign-in resets it");
    assert.equal(await fail(demo.email), "429 30");
  });

  test("parallel guesses cannot outrun it", async () => {
    const answers = await Promise.all(Array.from({ length: 30 }, () => fail("parallel@unknown.example")));
    assert.equal(answers.filter((answer) => answer === "401").length, 10, answers.join());
  });

  test("the wait doubles to 15 minutes, and a hundred failures in a day lock for the rest of it", () => {
    const now = new Date("2026-11-15T12:00:00Z");
    const wait = (consecutive: number, day_count = consecutive) => {
      const until = lockedUntil(
        { consecutive, day_count, day_started_at: new Date(now.getTime() - 3600_000) },
        now,
        null,
      );
      return until === null ? 0 : (until.getTime() - now.getTime()) / 1000;
    };
    assert.deepEqual(
      [9, 10, 11, 12, 13, 14, 15, 40].map((count) => wait(count)),
      [0, 30, 60, 120, 240, 480, 900, 900],
    );
    assert.equal(wait(1, 100), 23 * 3600);
  });
});
