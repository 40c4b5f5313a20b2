import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { noSignInLimits, readFirstRun, signInAs } from "../../../testing/people.ts";
import { storedRows } from "../../../testing/rows.ts";
import { startTestService } from "../../../testing/running.ts";
import { codeAt } from "../../factors/totp.ts";

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

  const stepUp = async (auth: Record<string, string>, totp_code: string) => {
    const { json } = await service.send("POST", "/v1/auth/step-up", { json: { totp_code }, headers: auth });
    return json?.code ?? "ok";
  };
  const logIn = async (password: string) => {
    const json = { email: demo.email, password, totp_code: codeAt(demo.totp_secret, service.clock.now()) };
    const answer = await service.send("POST", "/v1/auth/login", { json });
    return answer.json?.code ?? "ok";
  };
  const nextCode = () => {
    service.clock.advance(30_000);
    return codeAt(demo.totp_secret, service.clock.now());
  };

  test("429: wrong codes lock this session, also for right ones; no other session and no sign-in", async () => {
    const other = await signInAs(service, demo);
    const { auth } = await signInAs(service, demo);
    const codes: unknown[] = [];
    for (let at = 0; at < 5; at++) codes.push(await stepUp(auth, "000000"));
    assert.deepEqual(codes, [...Array(4).fill("invalid_credentials"), "too_many_attempts"]);
    service.clock.advance(29_000);
    const code = codeAt(demo.totp_secret, new Date(service.clock.now().getTime() + 30_000));
    assert.equal(await stepUp(auth, code), "too_many_attempts");
    assert.equal(await stepUp(other.auth, code), "ok", "this session only");
    service.clock.advance(30_000);
    assert.equal(await stepUp(auth, nextCode()), "ok", "the wait is over");
    for (let at = 0; at < 4; at++) assert.equal(await stepUp(auth, "000000"), "invalid_credentials", "a new row");
    assert.equal(await stepUp(auth, "000000"), "too_many_attempts");
    nextCode();
    assert.equal(await logIn(demo.password), "ok");
  });

  test("strangers who fail with my address do not lock me out of stepping up", async () => {
    const { auth } = await signInAs(service, demo);
    for (let at = 0; at < 4; at++) assert.equal(await logIn("wrong password!"), "invalid_credentials");
    service.clock.advance(30_000);
    assert.equal(await logIn("wrong password!"), "invalid_credentials");
    const code = nextCode();
    assert.equal(await logIn(demo.password), "too_many_attempts");
    assert.equal(await stepUp(auth, code), "ok");
  });

  test("a hundred failures in a day lock the session for the rest of it, however often it stepped up between", async (t) => {
    const strict = await startTestService(t, { settings: { ...noSignInLimits, EMANET_LIMIT_LOCKOUT: "2/1" } });
    const login = (await readFirstRun(strict.dataDir)).demo;
    const { auth } = await signInAs(strict, login);
    const send = async (totp_code: string) =>
      (await strict.send("POST", "/v1/auth/step-up", { json: { totp_code }, headers: auth })).status;
    const seen = new Set<number>();
    // The sandbox's lockout of two in a row makes twenty a day.
    for (let at = 0; at < 20; at++) {
      seen.add(await send("000000"));
      strict.clock.advance(31_000);
      if (at < 19) assert.equal(await send(codeAt(login.totp_secret, strict.clock.now())), 200, `${at}`);
    }
    assert.deepEqual(seen, new Set([401]));
    assert.equal(await send(codeAt(login.totp_secret, strict.clock.now())), 429);
  });

  test("gives no scope that the session has lost or the token did not have", async () => {
    const { token, auth } = await signInAs(service, demo);
    const scopesOf = (jwt: unknown) => {
      const claims = JSON.parse(Buffer.from(String(jwt).split(".")[1] ?? "", "base64url").toString());
      return { scopes: String(claims.scope).split(" ").sort(), sessionId: String(claims.sid), subject: claims.sub };
    };
    const { sessionId, subject, scopes } = scopesOf(token);
    const stepped = async (headers: Record<string, string>) => {
      const json = { totp_code: nextCode() };
      const answer = await service.send("POST", "/v1/auth/step-up", { json, headers });
      assert.equal(answer.status, 200, answer.body.toString());
      return scopesOf(answer.json?.access_token).scopes;
    };
    assert.deepEqual(await stepped(auth), scopes);
    const narrow = ["account:read", "snapshots:read"] as const;
    const made = await service.tokens.issue({
      ...{ subject, sessionId, clientId: "emanet-dashboard", accountId: demo.account_id, scopes: narrow },
      ...{ amr: ["pwd", "otp", "mfa"], authTime: service.clock.now() },
    });
    assert.deepEqual(await stepped({ authorization: `Bearer ${made.token}` }), [...narrow]);
    const left = "update emanet.sessions set scopes = '{account:read,account:write}' where id = $1";
    await storedRows(service.database, left, [sessionId]);
    assert.deepEqual(await stepped(auth), ["account:read", "account:write"]);
    assert.deepEqual(await stepped({ authorization: `Bearer ${made.token}` }), ["account:read"]);
  });
});
