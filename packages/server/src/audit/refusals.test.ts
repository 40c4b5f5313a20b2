import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { tokenFor } from "../testing/accounts.ts";
import { maxKinds } from "./refusals.ts";
import { auditTest } from "./testing.ts";

const env = await auditTest({ after });
const hourMs = 60 * 60_000;

interface Refused {
  readonly operation: string;
  readonly code: string;
  readonly count: number;
  readonly kind: string;
  readonly outcome: string;
}

async function refused(chain: string): Promise<Refused[]> {
  await env.service.running.services?.audit.refusals.settled();
  return env.rows<Refused>(
    `select context->>'operation' as operation, metadata->>'code' as code, (metadata->>'count')::int as count,
       actor->>'kind' as kind, outcome from emanet.audit_records where chain = $1 and action = 'access.refused' order by seq`,
    [chain],
  );
}

type Auth = { readonly authorization: string };
const ask = async (method: string, target: string, headers: Auth) =>
  (await env.service.send(method, target, { headers })).status;

describe("a refusal", () => {
  test("is in the chain of the account, with who, what and why: role, scope, second factor, vaults, staff's paths", async () => {
    const owner = await tokenFor(env.service);
    const accountId = owner.accountId ?? "";
    const viewer = await tokenFor(env.service, { accountId, role: "viewer" });
    assert.equal(await ask("GET", "/v1/audit/events", viewer.auth), 403);
    const old = await tokenFor(env.service, { accountId, factorAgeMs: 601_000 });
    assert.equal(await ask("POST", "/v1/vaults", old.auth), 403);
    const scoped = await tokenFor(env.service, { accountId, as: "client", scopes: ["account:read"] });
    assert.equal(await ask("GET", "/v1/webhooks", scoped.auth), 403);
    const held = await tokenFor(env.service, { accountId, as: "client", vaultIds: [] });
    assert.equal(await ask("GET", "/v1/audit/export", held.auth), 403);
    assert.equal(await ask("GET", "/v1/admin/overview", owner.auth), 403);
    assert.deepEqual(
      (await refused(accountId))
        .map(({ operation, code, kind, count, outcome }) => [operation, code, kind, count, outcome].join(" "))
        .sort(),
      [
        "admin.overview admin_required member 1 failure",
        "audit.export insufficient_scope client 1 failure",
        "audit.list_events insufficient_role member 1 failure",
        "vaults.create step_up_required member 1 failure",
        "webhooks.list insufficient_scope client 1 failure",
      ],
    );
  });

  test("of staff is in the chain of the platform, and of nobody in none", async () => {
    const staff = await tokenFor(env.service, { as: "staff" });
    assert.equal(await ask("GET", "/v1/account", staff.auth), 403);
    const before = await refused("platform");
    assert.deepEqual([before.at(-1)?.operation, before.at(-1)?.kind], ["account.get", "staff"]);
    assert.equal((await env.service.send("GET", "/v1/account")).status, 401);
    assert.equal((await refused("platform")).length, before.length);
  });

  test("that is repeated is one record and, after an hour, one count", async () => {
    const { accountId, auth } = await tokenFor(env.service, { role: "viewer" });
    for (let count = 0; count < 50; count += 1) assert.equal(await ask("GET", "/v1/audit/events", auth), 403);
    assert.deepEqual(
      (await refused(accountId ?? "")).map(({ count }) => count),
      [1],
    );
    env.service.clock.advance(hourMs - 1);
    assert.equal((await refused(accountId ?? "")).length, 1);
    env.service.clock.advance(1);
    assert.deepEqual(
      (await refused(accountId ?? "")).map(({ count }) => count),
      [1, 49],
    );
    const again = await tokenFor(env.service, { accountId: accountId ?? "", role: "viewer" });
    assert.equal(await ask("GET", "/v1/audit/events", again.auth), 403);
    assert.deepEqual(
      (await refused(accountId ?? "")).map(({ count }) => count),
      [1, 49, 1],
    );
  });

  test("of many kinds fills no chain: what is beyond them is counted together", async () => {
    const { accountId } = await tokenFor(env.service);
    for (let made = 0; made < maxKinds + 10; made += 1) {
      const viewer = await tokenFor(env.service, { accountId: accountId ?? "", role: "viewer" });
      assert.equal(await ask("GET", "/v1/audit/events", viewer.auth), 403);
    }
    assert.equal((await refused(accountId ?? "")).length, maxKinds + 1);
    env.service.clock.advance(hourMs);
    const all = await refused(accountId ?? "");
    assert.equal(
      all.reduce((sum, { count }) => sum + count, 0),
      maxKinds + 10,
    );
  });
});

test("what is counted is recorded when the service stops", async (context) => {
  const other = await auditTest({ after: (done) => context.after(done) });
  const viewer = await tokenFor(other.service, { accountId: other.accountId, role: "viewer" });
  for (let count = 0; count < 3; count += 1)
    await other.service.send("GET", "/v1/audit/events", { headers: viewer.auth });
  await other.service.running.services?.audit.refusals.close();
  const rows = await other.rows<{ count: number }>(
    "select (metadata->>'count')::int as count from emanet.audit_records where action = 'access.refused' order by seq",
  );
  assert.deepEqual(
    rows.map(({ count }) => count),
    [1, 2],
  );
});
