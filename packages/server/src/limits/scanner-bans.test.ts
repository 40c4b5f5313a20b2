import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { tokenFor } from "../testing/accounts.ts";
import { openKeptAlive } from "../testing/kept-alive.ts";
import { limitedEndpoints } from "../testing/limited.ts";
import { storedRows } from "../testing/rows.ts";
import { type Sent, startTestService, type TestCall } from "../testing/running.ts";
import { scaled } from "../testing/scale.ts";
import { messageTo } from "../testing/sent-messages.ts";

/** The contract's number of targets. */
const contractTargets = 1_000;

/** What a scanner may look at here: each of them costs a request. */
const fewTargets = scaled(100, contractTargets);

/** A ban is set when the answer has left, so it takes a moment. */
async function eventually(work: () => Promise<boolean>): Promise<void> {
  for (let waited = 0; waited < 30_000; waited += 20) {
    if (await work()) return;
    await delay(20);
  }
  assert.fail("did not happen");
}

/** A service, a client with eight connections, and a member of the staff. */
async function open(settings: Readonly<Record<string, string>> = {}) {
  // Corporate's own rate, so that what is refused by it counts as it would; staff ask more often here.
  const wide = { EMANET_LIMIT_ADMIN: "1000000/60", ...settings };
  const service = await startTestService({ after }, { extra: limitedEndpoints, settings: wide });
  const client = openKeptAlive({ after }, service, 8);
  let staff = await tokenFor(service, { as: "staff" });
  const bans = async (): Promise<readonly Record<string, unknown>[]> => {
    const answer = await service.send("GET", "/v1/admin/bans?state=active", { headers: staff.auth });
    assert.equal(answer.status, 200, JSON.stringify(answer.json));
    return answer.json?.data as Record<string, unknown>[];
  };
  return {
    service,
    client,
    bans,
    renewStaff: async () => {
      staff = await tokenFor(service, { as: "staff" });
    },
    /** Asks for so many different paths that do not exist. */
    lookAround: (count: number, headers: Record<string, string> = {}) =>
      client.all(Array.from({ length: count }, () => ({ path: `/v1/${randomUUID()}`, headers }))),
    lift: async (id: unknown) => {
      const call: TestCall = { json: { reason: "a test is over" }, headers: staff.auth };
      assert.equal((await service.send("POST", `/v1/admin/bans/${id}/lift`, call)).status, 200);
    },
    auditOf: async (action: string, chain: string): Promise<number> => {
      const text = "select id from emanet.audit_records where action = $1 and chain = $2";
      return (await storedRows(service.database, text, [action, chain])).length;
    },
    /** 401 unless the address is banned: health and the like stay open. */
    anonymous: () => service.send("GET", "/v1/account"),
    hasBan: (kind: string, subject: string | null) => async () =>
      (await bans()).some((ban) => ban.kind === kind && (subject === null || ban.subject === subject)),
  };
}

const { service, client, bans, renewStaff, lookAround, lift, auditOf, anonymous, hasBan } = await open({
  EMANET_LIMIT_SUSPICIOUS: String(fewTargets),
});

describe("a client that scans many targets", () => {
  test("is banned at the contract's thousandth target", async () => {
    const usual = await open();
    await usual.lookAround(contractTargets - 10);
    assert.equal((await usual.anonymous()).status, 401);
    await usual.lookAround(20);
    await eventually(usual.hasBan("address", "127.0.0.1"));
    assert.equal((await usual.anonymous()).json?.code, "banned");
  });

  test("without a credential: the address is banned for an hour, audited and mailed; who signed in behind it goes on", async () => {
    const member = await tokenFor(service);
    await lookAround(fewTargets - 10);
    assert.equal((await anonymous()).status, 401);
    await lookAround(20);
    await eventually(hasBan("address", "127.0.0.1"));
    const refused = await anonymous();
    assert.deepEqual([refused.status, refused.json?.code], [403, "banned"]);
    assert.match(refused.headers["x-ratelimit-remaining"] ?? "", /^\d+$/);
    assert.equal((await service.send("GET", "/v1/account", { headers: member.auth })).status, 200);
    // An expired token gets 401, so that its holder can refresh it; the refresh checks its own credential.
    service.clock.advance(16 * 60_000);
    assert.equal((await service.send("GET", "/v1/account", { headers: member.auth })).json?.code, "token_expired");
    await renewStaff();
    assert.equal((await service.send("POST", "/v1/auth/refresh")).json?.code, "refresh_token_missing");
    assert.equal(await auditOf("ban.set", "platform"), 1);
    await messageTo(service.dataDir, "staff@emanet.invalid", "ban_set");
    const [ban] = await bans();
    assert.equal(Date.parse(String(ban?.expires_at)) - Date.parse(String(ban?.created_at)), 3_600_000);
    service.clock.advance(3_600_000);
    assert.equal((await anonymous()).status, 401);
    await renewStaff();
    await lookAround(fewTargets);
    await eventually(hasBan("address", "127.0.0.1"));
    const [second] = await bans();
    assert.equal(Date.parse(String(second?.expires_at)) - Date.parse(String(second?.created_at)), 24 * 3_600_000);
    await lift(second?.id);
    await eventually(async () => (await anonymous()).status === 401);
    assert.equal(await auditOf("ban.lifted", "platform"), 1);
  });

  test("with one: the credential is banned, for an hour, a day, then until it is lifted; the rest of the account goes on", async () => {
    const scanner = await tokenFor(service, { as: "client" });
    const { accountId } = scanner;
    assert.ok(accountId);
    const owner = await tokenFor(service, { accountId });
    const ask = (auth: Record<string, string>): Promise<Sent> => service.send("GET", "/v1/account", { headers: auth });
    const lengths: (number | null)[] = [];
    for (let round = 0; round < 3; round++) {
      await lookAround(fewTargets, scanner.auth);
      await eventually(async () => (await ask(scanner.auth)).json?.code === "banned");
      assert.equal((await ask(owner.auth)).status, 200);
      assert.equal((await anonymous()).status, 401);
      const [ban] = (await bans()).filter((one) => one.account_id === accountId);
      const { created_at: from, expires_at: until } = ban ?? {};
      lengths.push(until === null ? null : Date.parse(String(until)) - Date.parse(String(from)));
      // As if the time had passed, so that no new token is needed.
      const ended = "update emanet.bans set expires_at = $2 where id = $1 and expires_at is not null";
      await storedRows(service.database, ended, [ban?.id, service.clock.now()]);
      // The package's bucket fills up again.
      service.clock.advance(120_000);
    }
    assert.deepEqual(lengths, [3_600_000, 24 * 3_600_000, null]);
    assert.equal(await auditOf("ban.set", accountId), 3);
    await messageTo(service.dataDir, `${owner.personId}@test.example`, "ban_set", 3);
    assert.equal((await ask(scanner.auth)).status, 403);
    const [held] = (await bans()).filter((one) => one.account_id === accountId);
    await lift(held?.id);
    assert.equal((await ask(scanner.auth)).status, 200);
  });

  test("a customer who reads 1 400 resources of their own in a minute is not banned", async () => {
    const corporate = await tokenFor(service, { as: "client" });
    const paths = Array.from({ length: 1_400 }, () => ({
      path: `/v1/test-things/${randomUUID()}`,
      headers: corporate.auth,
    }));
    const statuses = await client.all(paths);
    assert.ok(statuses.every((status) => status === 200));
    // Bans are set after the answer. When a later scanner is banned, earlier bans would be set too.
    const scanner = await tokenFor(service, { as: "client" });
    await lookAround(fewTargets, scanner.auth);
    await eventually(hasBan("client", scanner.personId));
    const [ban, ...others] = await bans();
    assert.deepEqual(others, []);
    await lift(ban?.id);
  });

  test("a forged token bans the address it came from, not the credential it names", async () => {
    const victim = await tokenFor(service, { as: "client" });
    const forged = { authorization: `${victim.auth.authorization.slice(0, -4)}AAAA` };
    await lookAround(fewTargets, forged);
    await eventually(hasBan("address", "127.0.0.1"));
    assert.equal((await service.send("GET", "/v1/account", { headers: victim.auth })).status, 200);
    for (const ban of await bans()) await lift(ban.id);
  });
});

describe("a configured proxy", () => {
  test("is never banned; the client behind it is", async () => {
    const { service: proxied, lookAround: scan } = await open({
      EMANET_TRUSTED_PROXIES: "127.0.0.0/8",
      EMANET_LIMIT_SUSPICIOUS: String(fewTargets),
    });
    await scan(fewTargets);
    await scan(fewTargets, { "x-forwarded-for": "198.51.100.7" });
    const from = (address: string) => proxied.send("GET", "/v1/account", { headers: { "x-forwarded-for": address } });
    await eventually(async () => (await from("198.51.100.7")).status === 403);
    assert.equal((await from("198.51.100.8")).status, 401);
    assert.equal((await proxied.send("GET", "/v1/account")).status, 401);
  });
});
