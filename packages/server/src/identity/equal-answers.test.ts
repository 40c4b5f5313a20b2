import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { objectIn } from "../testing/lists.ts";
import { invited } from "../testing/pages.ts";
import { type Login, noSignInLimits, readFirstRun, signInAs } from "../testing/people.ts";
import { storedRows } from "../testing/rows.ts";
import { type Sent, startTestService, type TestService } from "../testing/running.ts";
import { scaled } from "../testing/scale.ts";
import { codeAt } from "./factors/totp.ts";

const service = await startTestService({ after }, { settings: noSignInLimits });
const { demo, staff } = await readFirstRun(service.dataDir);

/** What names one request, or counts requests; everything else has to be the same. */
const own = new Set(["date", "x-request-id", "x-ratelimit-remaining", "x-ratelimit-reset", "ratelimit"]);

function comparable({ status, headers, json }: Sent): string {
  const rest = Object.entries(headers).filter(([name]) => !own.has(name));
  return JSON.stringify([status, rest, { ...json, instance: "", request_id: "" }]);
}

/** A person with a password and an authenticator, in a new account. */
async function enrolled(on: TestService, email: string): Promise<Login & { accountId: string; personId: string }> {
  const token = await invited(on, { email });
  const begun = await on.send("POST", "/v1/enrolment", { json: { token } });
  const { totp_secret } = objectIn<{ totp_secret: string }>(begun, "totp");
  const password = "gümüş kayık otuz dokuz";
  const json = { token, password, totp_code: codeAt(totp_secret, on.clock.now()) };
  assert.equal((await on.send("POST", "/v1/enrolment/complete", { json })).status, 200);
  on.clock.advance(60_000);
  const query = "select id, account_id from emanet.people where email = $1";
  const [row] = await storedRows<{ id: string; account_id: string }>(on.database, query, [email]);
  return { email, password, totp_secret, accountId: row?.account_id ?? "", personId: row?.id ?? "" };
}

/** People whose accounts are not as they were, and one who has left. */
async function changedPeople(on: TestService) {
  const suspended = await enrolled(on, "askida@ornek.example");
  const closed = await enrolled(on, "kapali@ornek.example");
  const removed = await enrolled(on, "ayrilan@ornek.example");
  // Longer than the 90 days in which a closed account can be read.
  const longAgo = new Date(on.clock.now().getTime() - 91 * 24 * 3600 * 1000);
  const change = (text: string, values: readonly unknown[]) => storedRows(on.database, text, values);
  const state = "update emanet.accounts set state = $2, state_changed_at = $3 where id = $1";
  await change(state, [suspended.accountId, "suspended", longAgo]);
  await change(state, [closed.accountId, "closed", longAgo]);
  await change("update emanet.people set state = 'removed' where id = $1", [removed.personId]);
  return { suspended, closed, removed };
}

const { suspended, closed, removed } = await changedPeople(service);
await invited(service, { email: "davetli@ornek.example" });

describe("a sign-in that is refused", () => {
  test("is answered alike whatever is wrong: address, password, code, challenge, person or account, over and over", async () => {
    const codeOf = ({ totp_secret }: Login) => codeAt(totp_secret, service.clock.now());
    const right = () => codeOf(demo);
    await signInAs(service, demo);
    const used = right();
    const unknownId = "0199c0de-0000-7000-8000-00000000dead";
    const wrong = [
      () => ({ email: demo.email, password: "not the password", totp_code: "000000" }),
      () => ({ email: "nobody@unknown.example", password: "not the password", totp_code: "000000" }),
      () => ({ email: demo.email, password: "not the password", totp_code: right() }),
      () => ({ email: demo.email, password: demo.password, totp_code: "aaaaa-bbbbb" }),
      () => ({ email: "nobody@unknown.example", password: demo.password, totp_code: "aaaaa-bbbbb" }),
      () => ({ email: staff.email, password: "not the password", totp_code: "123456" }),
      () => ({ email: demo.email, password: demo.password, totp_code: used }),
      () => ({ email: demo.email, password: demo.password, totp_code: "000000", otp_challenge_id: unknownId }),
      () => ({ email: "nobody@unknown.example", password: "x", totp_code: "000000", otp_challenge_id: unknownId }),
      () => ({ email: suspended.email, password: "not the password", totp_code: codeOf(suspended) }),
      () => ({ email: suspended.email, password: suspended.password, totp_code: "aaaaa-bbbbb" }),
      // Right credentials of people who may no longer sign in, or not yet.
      () => ({ email: closed.email, password: closed.password, totp_code: codeOf(closed) }),
      () => ({ email: removed.email, password: removed.password, totp_code: codeOf(removed) }),
      () => ({ email: "davetli@ornek.example", password: demo.password, totp_code: "000000" }),
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

  test("by the lockout is answered alike for known, unknown, suspended and removed addresses, with right passwords too", async (t) => {
    const { EMANET_LIMIT_LOCKOUT: _lockout, ...settings } = noSignInLimits;
    const strict = await startTestService(t, { settings });
    const known = (await readFirstRun(strict.dataDir)).demo;
    const changed = Object.values(await changedPeople(strict));
    const people: Login[] = [known, ...changed, { ...known, email: "nobody@unknown.example" }];
    const fail = (email: string) =>
      strict.send("POST", "/v1/auth/login", { json: { email, password: "not the password", totp_code: "000000" } });
    for (const { email } of people) for (let at = 0; at < 10; at++) assert.equal((await fail(email)).status, 401);
    const seen = new Set<string>();
    for (const { email, password, totp_secret } of people) {
      seen.add(comparable(await fail(email)));
      const json = { email, password, totp_code: codeAt(totp_secret, strict.clock.now()) };
      seen.add(comparable(await strict.send("POST", "/v1/auth/login", { json })));
    }
    assert.equal(seen.size, 1, [...seen].join("\n"));
    assert.match([...seen][0] ?? "", /^\[429,.*too_many_attempts/);
  });

  test("does not use up the code when the password is wrong", async () => {
    service.clock.advance(120_000);
    const totp_code = codeAt(demo.totp_secret, service.clock.now());
    const attempt = (password: string) =>
      service.send("POST", "/v1/auth/login", { json: { email: demo.email, password, totp_code } });
    assert.equal((await attempt("not the password")).status, 401);
    assert.equal((await attempt(demo.password)).status, 200);
  });
});
