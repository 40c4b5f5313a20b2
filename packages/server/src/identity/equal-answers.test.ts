import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { noSignInLimits, readFirstRun } from "../testing/people.ts";
import { type Sent, startTestService } from "../testing/running.ts";
import { scaled } from "../testing/scale.ts";
import { codeAt } from "./totp.ts";

const service = await startTestService({ after }, { settings: noSignInLimits });
const { demo, staff } = await readFirstRun(service.dataDir);

/** What names one request, or counts requests; everything else has to be the same. */
const own = new Set(["date", "x-request-id", "x-ratelimit-remaining", "x-ratelimit-reset", "ratelimit"]);

function comparable({ status, headers, json }: Sent): string {
  const rest = Object.entries(headers).filter(([name]) => !own.has(name));
  return JSON.stringify([status, rest, { ...json, instance: "", request_id: "" }]);
}

describe("a sign-in that is refused", () => {
  test("is answered alike for known and unknown addresses, wrong passwords and wrong codes, over and over", async () => {
    const right = () => codeAt(demo.totp_secret, service.clock.now());
    const wrong = [
      () => ({ email: demo.email, password: "not the password", totp_code: "000000" }),
      () => ({ email: "nobody@unknown.example", password: "not the password", totp_code: "000000" }),
      () => ({ email: demo.email, password: "not the password", totp_code: right() }),
      () => ({ email: demo.email, password: demo.password, totp_code: "aaaaa-bbbbb" }),
      () => ({ email: "nobody@unknown.example", password: demo.password, totp_code: "aaaaa-bbbbb" }),
      () => ({ email: staff.email, password: "not the password", totp_code: "123456" }),
    ];
    const seen = new Map<string, number>();
    for (let at = 0; at < scaled(60, 2000); at++) {
      const json = wrong[at % wrong.length]?.();
      const answer = comparable(await service.send("POST", "/v1/auth/login", { json }));
      seen.set(answer, (seen.get(answer) ?? 0) + 1);
    }
    assert.equal(seen.size, 1, [...seen.keys()].join("\n"));
    assert.match([...seen.keys()][0] ?? "", /^\[401,.*invalid_credentials/);
  });

  test("costs the code of nobody who knows only half: a wrong password leaves the step usable", async () => {
    service.clock.advance(120_000);
    const totp_code = codeAt(demo.totp_secret, service.clock.now());
    const attempt = (password: string) =>
      service.send("POST", "/v1/auth/login", { json: { email: demo.email, password, totp_code } });
    assert.equal((await attempt("not the password")).status, 401);
    assert.equal((await attempt(demo.password)).status, 200);
  });
});
