import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { listIn } from "../../testing/lists.ts";
import type { Sent } from "../../testing/running.ts";
import { auditTest } from "../testing.ts";

interface RecordJson {
  readonly seq: number;
  readonly action: string;
  readonly actor: { readonly kind: string; readonly id?: string };
  readonly targets: readonly { readonly type: string; readonly id: string }[];
  readonly context: Readonly<Record<string, string>>;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly person: string | null;
  readonly masked: boolean;
  readonly occurred_at: string;
}

const env = await auditTest({ after });
await env.act(3);
const manager = await tokenFor(env.service, { accountId: env.accountId, role: "manager" });
await env.service.send("POST", "/v1/vaults", { json: { name: "Kasa" }, headers: manager.auth });
const staff = await tokenFor(env.service, { as: "staff" });
const reason = "Ali Veli aradı: /muhasebe/gizli.xlsx";
await env.service.send("POST", `/v1/admin/accounts/${env.accountId}/early-access`, {
  json: { early_access: true, reason },
  headers: staff.auth,
});

const records = (answer: Sent) => {
  assert.equal(answer.status, 200, answer.body.toString());
  return listIn<RecordJson>(answer, "data");
};

test("people are names of the share: the same for one person, different in another share, and nothing leads to them", async () => {
  const [one, two] = [await env.share(), await env.share()];
  const answer = await one.read("events?to=2099-01-01T00:00:00Z");
  const changes = records(answer).filter(({ action }) => action === "account.changed");
  assert.equal(new Set(changes.map(({ actor }) => actor.id)).size, 1);
  const [first] = changes;
  assert.match(first?.actor.id ?? "", /^masked-[0-9a-f]{16}$/);
  assert.deepEqual([first?.masked, first?.person, first?.context.operation], [true, null, "account.update"]);
  for (const name of ["request_id", "session_id", "address"]) assert.ok(!(name in (first?.context ?? {})), name);
  const others = records(await two.read("events")).filter(({ action }) => action === "account.changed");
  assert.notEqual(others[0]?.actor.id, first?.actor.id);
  const people = await env.rows<{ id: string }>("select id from emanet.people union select id from emanet.sessions");
  for (const { id } of people) assert.ok(!answer.body.includes(id), "an id of a person or session");
  for (const text of ["Test Person", "Ali Veli", "gizli.xlsx", "127.0.0.0"])
    assert.ok(!answer.body.includes(text), text);
});

test("what the maker of the share says is shown: people, and with paths also texts", async () => {
  const people = await env.share({ show_persons: true });
  const shown = records(await people.read("events"));
  assert.equal(shown.find(({ action }) => action === "account.changed")?.person, "Test Person");
  assert.equal(shown.find(({ metadata }) => "reason" in metadata)?.metadata.reason, "masked");
  const both = await env.share({ show_persons: true, show_paths: true });
  const all = records(await both.read("events"));
  assert.equal(all.find(({ metadata }) => "reason" in metadata)?.metadata.reason, reason);
  assert.ok(all.every(({ masked }) => !masked));
  const paths = records(await (await env.share({ show_paths: true })).read("events"));
  assert.equal(paths.find(({ metadata }) => "reason" in metadata)?.metadata.reason, "masked");
});

describe("the filter of a share", () => {
  test("holds whatever the request asks for", async () => {
    const share = await env.share({ filter: { action: "vault.created", actor_id: manager.personId } });
    assert.deepEqual(
      records(await share.read("events")).map(({ action }) => action),
      ["vault.created"],
    );
    for (const query of ["action=account.*", "action=account.changed", "actor_kind=staff", "outcome=failure"])
      assert.deepEqual(records(await share.read(`events?${query}`)), [], query);
    assert.equal(records(await share.read("events?action=vault.*&outcome=success")).length, 1);
    for (const query of [
      "actor_id=x",
      "target_id=x",
      "chain=platform",
      "account_id=x",
      "filter=x",
      "show_persons=true",
    ])
      assert.equal((await share.read(`events?${query}`)).status, 400, query);
    assert.equal((await share.read("events?action=vault.created&action=account.changed")).status, 400);
  });

  test("by time: from and to of the request do not widen it", async () => {
    const times = records(await (await env.share()).read("events?action=account.changed")).map(
      (one) => one.occurred_at,
    );
    const share = await env.share({ filter: { from: times[1], to: times[0] } });
    const read = async (query: string) => records(await share.read(`events?${query}`)).map((one) => one.occurred_at);
    assert.deepEqual(await read(""), [times[1]]);
    assert.deepEqual(await read("from=2001-01-01T00:00:00Z&to=2099-01-01T00:00:00Z"), [times[1]]);
  });

  test("a cursor is bound to its share and its filters", async () => {
    const [one, two] = [await env.share(), await env.share()];
    const cursor = (await one.read("events?limit=1")).json?.next_cursor;
    assert.equal((await one.read(`events?limit=1&cursor=${cursor}`)).status, 200);
    for (const answer of [
      await two.read(`events?limit=1&cursor=${cursor}`),
      await one.read(`events?limit=1&outcome=success&cursor=${cursor}`),
      await one.read(`events?limit=1&sort=occurred_at&cursor=${cursor}`),
    ])
      assert.deepEqual([answer.status, answer.json?.code], [400, "invalid_cursor"]);
  });
});

test("every read is a record of the chain, with the share as its actor", async () => {
  const share = await env.share();
  await share.read("events");
  await share.read("events?limit=1");
  const found = await env.get(`/v1/audit/events?actor_id=${share.id}`);
  assert.deepEqual(
    listIn<RecordJson>(found, "data").map(({ action, actor, targets }) => [action, actor, targets]),
    Array.from({ length: 2 }, () => [
      "audit.shared_read",
      { kind: "share", id: share.id },
      [{ type: "audit_share", id: share.id }],
    ]),
  );
});

describe("the token", () => {
  const read = (authorization: string, target = "/v1/audit/shared/events") =>
    env.service.send("GET", target, { headers: { authorization } });

  test("401: none, an unknown one, one of another form or scheme, an access token", async () => {
    const missing = await env.service.send("GET", "/v1/audit/shared/events");
    assert.deepEqual([missing.status, missing.json?.code], [401, "missing_token"]);
    assert.match(missing.headers["www-authenticate"] ?? "", /^Bearer/);
    const { token } = await env.share();
    const wrong = [
      `Bearer shr_${"A".repeat(43)}`,
      `Bearer ${token}x`,
      `Bearer ${token.slice(0, -1)}`,
      `Basic ${token}`,
    ];
    for (const authorization of [...wrong, (await env.signIn()).authorization]) {
      const refused = await read(authorization);
      assert.deepEqual([refused.status, refused.json?.code], [401, "invalid_token"], authorization.slice(0, 10));
      assert.ok(!refused.body.includes(token.slice(4)));
    }
    assert.equal((await env.service.send("GET", `/v1/audit/shared/events?token=${token}`)).status, 400);
  });

  test("is good for nothing else", async () => {
    const { token } = await env.share();
    for (const target of ["/v1/audit/events", "/v1/audit/export", "/v1/account", "/v1/admin/audit", "/v1/audit/shares"])
      assert.equal((await read(`Bearer ${token}`, target)).status, 401, target);
  });

  test("410: from the moment at which it expires, and of a closed account", async () => {
    const short = await env.share({ days: 1 });
    env.service.clock.advance(24 * 60 * 60_000 - 1);
    assert.equal((await short.read("events")).status, 200);
    env.service.clock.advance(1);
    assert.deepEqual((await short.read("events")).json?.code, "share_revoked");
    const { accountId, auth } = await tokenFor(env.service);
    const made = await env.service.send("POST", "/v1/audit/shares", { json: { label: "x" }, headers: auth });
    await env.rows("update emanet.accounts set state = 'closed' where id = $1", [accountId]);
    assert.equal((await read(`Bearer ${made.json?.token}`)).status, 410);
  });
});

test("429: each share has its own limit", async (context) => {
  const settings = { EMANET_LIMIT_AUDIT_SHARED_EVENTS: "2/60" };
  const limited = await auditTest({ after: (done) => context.after(done) }, settings);
  const [one, two] = [await limited.share(), await limited.share()];
  for (let count = 0; count < 2; count += 1) assert.equal((await one.read("events")).status, 200);
  const refused = await one.read("events");
  assert.deepEqual([refused.status, refused.json?.policy], [429, "audit_shared_events"]);
  assert.equal((await two.read("events")).status, 200);
});
