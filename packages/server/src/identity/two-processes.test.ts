import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { sendHttp1, type TestAnswer } from "../testing/https.ts";
import { startTwoServices, untilAnswered } from "../testing/two-services.ts";
import { codeAt } from "./factors/totp.ts";

const { peers, firstRun } = await startTwoServices({ after });
const [one, other] = peers;
const { demo, staff } = firstRun;

/** How far the sandbox's clock is ahead of this machine's. */
let aheadMs = 0;

function now(): Date {
  return new Date(Date.now() + aheadMs);
}

function bodyOf(answer: TestAnswer): Record<string, unknown> {
  return JSON.parse(answer.body.toString()) as Record<string, unknown>;
}

function loginOf(login: typeof staff, code = codeAt(login.totp_secret, now())) {
  return { json: { email: login.email, password: login.password, totp_code: code, client: "dashboard" } };
}

function refreshOf(answer: TestAnswer): string {
  const found = /__Host-refresh=([^;]+)/.exec(answer.headers["set-cookie"] ?? "")?.[1];
  assert.ok(found, answer.body.toString());
  return found;
}

function cookie(value: string) {
  return { headers: { cookie: `__Host-refresh=${value}` } };
}

const staffLogin = await one.post("/v1/auth/login", loginOf(staff));
assert.equal(staffLogin.status, 200, staffLogin.body.toString());
const staffAuth = { authorization: `Bearer ${bodyOf(staffLogin).access_token}` };

async function advance(seconds: number): Promise<void> {
  const answer = await one.post("/v1/sandbox/clock", { json: { advance_s: seconds }, headers: staffAuth });
  assert.equal(answer.status, 200, answer.body.toString());
  aheadMs += seconds * 1000;
}

async function signedIn(): Promise<TestAnswer> {
  await advance(60);
  const answer = await one.post("/v1/auth/login", loginOf(demo));
  assert.equal(answer.status, 200, answer.body.toString());
  return answer;
}

describe("two processes on one database", () => {
  test("both write the same first-run secrets, and a token of one is good at the other", async () => {
    const me = await other.get("/v1/me", { headers: staffAuth });
    assert.equal(me.status, 200, me.body.toString());
    assert.equal(bodyOf(me).email, staff.email);
  });

  test("the same code shown to both at once signs in exactly once", async () => {
    for (let round = 0; round < 5; round++) {
      await advance(60);
      const login = loginOf(demo);
      const answers = await Promise.all([one, other, one, other].map((peer) => peer.post("/v1/auth/login", login)));
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 401, 401, 401]);
    }
  });

  test("100 refreshes at once with one cookie, over both: 100 × 200, one new generation, no logout", async () => {
    const first = refreshOf(await signedIn());
    const calls = Array.from({ length: 100 }, (_, at) =>
      (at % 2 === 0 ? one : other).post("/v1/auth/refresh", cookie(first)),
    );
    const answers = await Promise.all(calls);
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    const successors = new Set(answers.map(refreshOf));
    assert.equal(successors.size, 1);
    const [second = ""] = successors;
    const next = await other.post("/v1/auth/refresh", cookie(second));
    assert.equal(next.status, 200);
    const auth = { authorization: `Bearer ${bodyOf(next).access_token}` };
    assert.equal((await one.get("/v1/me", { headers: auth })).status, 200);

    const reused = await one.post("/v1/auth/refresh", cookie(first));
    assert.equal(bodyOf(reused).code, "refresh_token_reused");
    assert.equal((await one.get("/v1/me", { headers: auth })).status, 401, "at once in the process itself");
    await untilAnswered(401, () => other.get("/v1/me", { headers: auth }));
    assert.equal(bodyOf(await other.post("/v1/auth/refresh", cookie(refreshOf(next)))).code, "refresh_token_invalid");
  });

  test("the predecessor gets its successor for 30 seconds, and after that ends the family", async () => {
    const first = refreshOf(await signedIn());
    const second = refreshOf(await one.post("/v1/auth/refresh", cookie(first)));
    await advance(20);
    assert.equal(refreshOf(await other.post("/v1/auth/refresh", cookie(first))), second);
    await advance(20);
    assert.equal(bodyOf(await other.post("/v1/auth/refresh", cookie(first))).code, "refresh_token_reused");
    assert.equal(bodyOf(await one.post("/v1/auth/refresh", cookie(second))).code, "refresh_token_invalid");
  });

  describe("what one process changes, the other knows although it has just served the same token", () => {
    const signInBoth = async () => {
      const auth = { authorization: `Bearer ${bodyOf(await signedIn()).access_token}` };
      for (const peer of peers) assert.equal((await peer.get("/v1/account", { headers: auth })).status, 200);
      return auth;
    };

    test("the end of a session", async () => {
      const auth = await signInBoth();
      assert.equal((await one.post("/v1/auth/logout", { headers: auth })).status, 204);
      assert.equal((await one.get("/v1/account", { headers: auth })).status, 401, "at once in the process itself");
      await untilAnswered("invalid_token", () => other.get("/v1/account", { headers: auth }));
    });

    test("the suspension of an account, and its end", async () => {
      const auth = await signInBoth();
      const staffMember = {
        authorization: `Bearer ${bodyOf(await one.post("/v1/auth/login", loginOf(staff))).access_token}`,
      };
      const account = `/v1/admin/accounts/${demo.account_id}`;
      const write = (peer: typeof one) => peer.post("/v1/oauth-clients", { json: {}, headers: auth });
      assert.equal(bodyOf(await write(other)).code, "validation_failed");
      const json = { cause: "unpaid", reason: "a test" };
      const suspended = await one.post(`${account}/suspend`, { json, headers: staffMember });
      assert.equal(suspended.status, 200, suspended.body.toString());
      assert.equal(bodyOf(await write(one)).code, "account_suspended");
      await untilAnswered("account_suspended", () => write(other));
      const back = await other.post(`${account}/resume`, { json: { reason: "a test" }, headers: staffMember });
      assert.equal(back.status, 200, back.body.toString());
      await untilAnswered("validation_failed", () => write(one));
    });

    test("a package, and the ban of a session", async () => {
      const form = new URLSearchParams({
        grant_type: "client_credentials",
        client_id: demo.client_id,
        client_secret: demo.client_secret,
      });
      const issued = await sendHttp1(`${one.url}/oauth2/token`, one.ca, {
        method: "POST",
        headers: { "content-type": "application/x-www-form-urlencoded" },
        body: form.toString(),
      });
      const token = String(bodyOf(issued).access_token);
      const auth = { authorization: `Bearer ${token}` };
      const read = (peer: typeof one) => peer.get("/v1/oauth-clients", { headers: auth });
      for (const peer of peers) assert.equal((await read(peer)).status, 200, (await read(peer)).body.toString());
      await advance(60);
      const staffMember = {
        authorization: `Bearer ${bodyOf(await one.post("/v1/auth/login", loginOf(staff))).access_token}`,
      };
      const setPackage = (name: string) =>
        one.post(`/v1/admin/accounts/${demo.account_id}/package`, {
          json: { package: name, reason: "a test" },
          headers: staffMember,
        });
      assert.equal((await setPackage("starter")).status, 200);
      assert.equal(bodyOf(await read(one)).code, "package_required");
      await untilAnswered("package_required", () => read(other));
      assert.equal((await setPackage(demo.package)).status, 200);
      await untilAnswered(200, () => read(other));
      const { sid } = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as { sid: string };
      const json = { kind: "session", subject: sid, hours: 1, reason: "a test" };
      const banned = await other.post("/v1/admin/bans", { json, headers: staffMember });
      assert.equal(banned.status, 201, banned.body.toString());
      assert.equal(bodyOf(await read(other)).code, "banned");
      await untilAnswered("banned", () => read(one));
    });

    test("the ban of an address", async () => {
      await advance(60);
      const staffMember = {
        authorization: `Bearer ${bodyOf(await one.post("/v1/auth/login", loginOf(staff))).access_token}`,
      };
      assert.equal(bodyOf(await other.get("/v1/account")).code, "missing_token");
      const json = { kind: "address", subject: "127.0.0.1", hours: 1, reason: "a test" };
      assert.equal((await one.post("/v1/admin/bans", { json, headers: staffMember })).status, 201);
      assert.equal(bodyOf(await one.get("/v1/account")).code, "banned");
      await untilAnswered("banned", () => other.get("/v1/account"));
    });
  });

  test("the clock that staff move is the clock of both", async () => {
    await advance(3600);
    const later = await other.post("/v1/auth/login", loginOf(demo));
    assert.equal(later.status, 200, later.body.toString());
  });
});
