import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../packages/server/src/testing/accounts.ts";
import { limitedEndpoints } from "../../packages/server/src/testing/limited.ts";
import { storedRows } from "../../packages/server/src/testing/rows.ts";
import { type Sent, startTestService, type TestCall, testToken } from "../../packages/server/src/testing/running.ts";

const service = await startTestService({ after }, { extra: limitedEndpoints });
const behindProxy = await startTestService({ after }, { settings: { EMANET_TRUSTED_PROXIES: "127.0.0.0/8" } });

/** A well-formed sign-in with a wrong password. It counts. */
function attempt(email: string, call: TestCall & { readonly path?: string } = {}): Promise<Sent> {
  const json = { email, password: "nobody's password", totp_code: "000000", client: "dashboard" };
  return service.send("POST", call.path ?? "/v1/auth/login", { json, ...call });
}

function from(address: string): TestCall {
  const json = { email: "proxy@test.example", password: "nobody's password", totp_code: "000000", client: "dashboard" };
  return { json, headers: { "x-forwarded-for": address } };
}

describe("the sign-in limit", () => {
  test("counts all spellings of the path, HTTP versions, capital letters in the e-mail and forwarded headers together", async () => {
    const spellings: readonly (() => Promise<Sent>)[] = [
      () => attempt("mehmet@test.example"),
      () => attempt("Mehmet@Test.Example", { path: "/auth/login" }),
      () => attempt("MEHMET@TEST.EXAMPLE", { http2: true }),
      () => attempt("mehmet@test.example", { headers: { "x-forwarded-for": "203.0.113.7" } }),
      () => attempt("mehmet@test.example", { headers: { forwarded: "for=203.0.113.8", "x-real-ip": "203.0.113.9" } }),
    ];
    for (const send of spellings) assert.equal((await send()).json?.code, "invalid_credentials");
    for (const send of spellings) {
      const refused = await send();
      assert.equal(refused.status, 429);
      assert.equal(refused.json?.policy, "login");
      assert.equal(refused.headers["retry-after"], "60");
    }
    for (const path of [
      "//v1/auth/login",
      "/v1/auth/login/",
      "/V1/auth/login",
      "/v1/auth/%6cogin",
      "/v1/./auth/login",
      "/auth/login?x=1",
    ]) {
      const other = await attempt("mehmet@test.example", { path });
      assert.ok([400, 404, 429].includes(other.status), `${path} answered ${other.status}`);
    }
  });

  test("behind a configured proxy counts the forwarded address, IPv6 by its /64; earlier addresses in the header are ignored", async () => {
    const send = (address: string) => behindProxy.send("POST", "/v1/auth/login", from(address));
    for (let host = 1; host <= 5; host++) assert.equal((await send(`2001:db8:1:2::${host}`)).status, 401);
    assert.equal((await send("2001:db8:1:2:ffff::9")).status, 429);
    assert.equal((await send("198.51.100.1, 2001:db8:1:2::77")).status, 429);
    assert.equal((await send("2001:db8:1:3::1")).status, 401);
    assert.equal((await send("198.51.100.1")).status, 401);
  });

  test("a refused sign-in spends neither the limit of the address nor the anonymous limit", async () => {
    service.clock.advance(120_000);
    const left = (answer: Sent, policy: string) =>
      Number(new RegExp(`"${policy}";r=(\\d+)`).exec(answer.headers.ratelimit ?? "")?.[1]);
    for (let sent = 0; sent < 5; sent++) await attempt("ayse@test.example");
    const before = await attempt("fatma@test.example");
    for (let sent = 0; sent < 7; sent++) assert.equal((await attempt("ayse@test.example")).status, 429);
    const next = await attempt("fatma@test.example");
    assert.equal(left(before, "login_ip") - left(next, "login_ip"), 1);
    assert.equal(left(before, "anonymous") - left(next, "anonymous"), 1);
    const malformed = await service.send("POST", "/v1/auth/login", { json: { email: 1 } });
    assert.equal(malformed.status, 422);
    assert.equal(left(next, "login_ip") - left(malformed, "login_ip"), 1, "a malformed request counts");
  });
});

describe("limits of an account", () => {
  test("each limit allows N requests and refuses the next, for all credentials of the account together", async () => {
    const cases = [
      ["GET", "/v1/test-snapshots", 60, "snapshots_list"],
      ["POST", "/v1/test-snapshots", 10, "snapshots_create"],
      ["POST", "/v1/test-restores", 10, "restore_create"],
      ["GET", "/v1/test-audit-export", 5, "audit_export"],
    ] as const;
    for (const [method, path, limit, policy] of cases) {
      const first = await tokenFor(service);
      const { accountId } = first;
      assert.ok(accountId);
      const second = await tokenFor(service, { accountId, as: "client" });
      for (let sent = 0; sent < limit; sent++) {
        const { auth } = sent % 2 === 0 ? first : second;
        assert.equal((await service.send(method, path, { headers: auth })).status, 200, `${policy} ${sent}`);
      }
      const refused = await service.send(method, path, { headers: first.auth });
      assert.equal(refused.status, 429);
      assert.deepEqual([refused.json?.policy, refused.json?.limit], [policy, limit]);
      const stranger = await tokenFor(service);
      assert.equal((await service.send(method, path, { headers: stranger.auth })).status, 200);
    }
  });

  test("creating snapshots has two limits: 10 a minute and 30 an hour", async () => {
    const headers = { authorization: `Bearer ${testToken(randomUUID(), randomUUID(), ["account:read"])}` };
    const make = () => service.send("POST", "/v1/test-snapshots", { headers });
    for (let minute = 0; minute < 3; minute++) {
      for (let sent = 0; sent < 10; sent++) assert.equal((await make()).status, 200);
      assert.equal((await make()).json?.policy, minute < 2 ? "snapshots_create" : "snapshots_create_hour");
      service.clock.advance(60_000);
    }
    const refused = await make();
    assert.deepEqual([refused.status, refused.json?.policy], [429, "snapshots_create_hour"]);
    service.clock.advance(Number(refused.headers["retry-after"]) * 1000);
    assert.equal((await make()).status, 200);
  });

  test("the package bucket of a starter account allows 100 at once, and then the rate of the price list", async () => {
    const { auth, accountId } = await tokenFor(service, { package: "starter" });
    const read = () => service.send("GET", `/v1/test-things/${randomUUID()}`, { headers: auth });
    const statuses: number[] = [];
    for (let sent = 0; sent < 103; sent++) statuses.push((await read()).status);
    assert.deepEqual([statuses.filter((one) => one === 200).length, statuses.at(-1)], [100, 429]);
    const refused = await read();
    assert.deepEqual([refused.json?.policy, refused.headers["retry-after"]], ["package", "1"]);
    service.clock.advance(1_000);
    assert.equal((await read()).status, 200);
    await storedRows(service.database, "update emanet.accounts set early_access = true where id = $1", [accountId]);
    assert.equal((await read()).status, 200, "early access is not refused by planned limits");
  });
});

describe("every answer", () => {
  test("has both forms of rate headers: 200, 304, 401, 403, 404, 405, 422, 429, docs", async () => {
    const { auth } = await tokenFor(service);
    const asked: readonly [string, string, TestCall][] = [
      ["GET", "/v1/account", { headers: auth }],
      ["GET", "/v1/account", {}],
      ["GET", "/v1/admin/accounts", { headers: auth }],
      ["GET", "/v1/nothing-here", {}],
      ["DELETE", "/v1/account", { headers: auth }],
      ["POST", "/v1/applications", { json: {} }],
      ["GET", "/docs", {}],
      ["GET", "/health/live", {}],
    ];
    const statuses = new Set<number>();
    for (const [method, path, call] of asked) {
      const answer = await service.send(method, path, call);
      statuses.add(answer.status);
      for (const name of ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"]) {
        assert.match(answer.headers[name] ?? "", /^\d+$/, `${method} ${path} ${name}`);
      }
      assert.match(answer.headers.ratelimit ?? "", /^"\w+";r=\d+;t=\d+/, path);
      assert.match(answer.headers["ratelimit-policy"] ?? "", /^"\w+";q=\d+;w=\d+/, path);
    }
    const seen = await service.send("GET", "/docs/json");
    const same = await service.send("GET", "/docs/json", { headers: { "if-none-match": seen.headers.etag ?? "" } });
    assert.equal(same.status, 304);
    assert.match(same.headers.ratelimit ?? "", /^"anonymous"/);
    assert.ok(
      [200, 401, 403, 404, 405, 422].every((status) => statuses.has(status)),
      [...statuses].join(" "),
    );
  });
});

test("long windows survive a restart, and addresses are not on disk in clear text", async () => {
  const application = { json: {} };
  const dataDir = service.dataDir;
  const before = await service.send("POST", "/v1/applications", application);
  assert.equal(before.headers["x-ratelimit-limit"], "5");
  await service.running.stop();
  const kept = await readFile(`${dataDir}/limits.sqlite`);
  assert.ok(!kept.includes("127.0.0.1"));
  const { database, clock } = service;
  const again = await startTestService({ after }, { database, clock, dataDir, extra: limitedEndpoints });
  const next = await again.send("POST", "/v1/applications", application);
  assert.equal(Number(next.headers["x-ratelimit-remaining"]), Number(before.headers["x-ratelimit-remaining"]) - 1);
});
