import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { type Bearer, tokenFor } from "../../testing/accounts.ts";
import { storedRows } from "../../testing/rows.ts";
import { startTestService } from "../../testing/running.ts";
import { emitEvents } from "../testing/emit-events.ts";

const service = await startTestService({ after });

interface Page {
  readonly data: readonly { readonly sequence: number; readonly event: string }[];
  readonly last_sequence: number;
}

async function reader(more: Bearer = {}) {
  const bearer = await tokenFor(service, { as: "client", kind: "api", ...more });
  const get = (query: string) => service.send("GET", `/v1/events${query}`, { headers: bearer.auth });
  const read = async (query: string) => {
    const answer = await get(query);
    assert.equal(answer.status, 200, answer.body.toString());
    return answer.json as unknown as Page;
  };
  return { ...bearer, get, read };
}

const numbers = ({ data }: Page) => data.map(({ sequence }) => sequence);

test("events come in their order, page by page, each exactly once", async () => {
  const { accountId, read } = await reader();
  await emitEvents(service, accountId, 7);
  const seen: number[] = [];
  let last = 0;
  for (let page = 0; page < 4; page += 1) {
    const answer = await read(`?after=${last}&limit=3`);
    seen.push(...numbers(answer));
    last = answer.last_sequence;
  }
  assert.deepEqual([seen, last], [[1, 2, 3, 4, 5, 6, 7], 7]);
  assert.deepEqual(numbers(await read("")), seen, "without after from the oldest kept");
});

test("a payload is what was stored, with the five fields of the seed", async () => {
  const { accountId, read } = await reader();
  await emitEvents(service, accountId, 1);
  const [event] = (await read("")).data;
  assert.deepEqual(Object.keys(event ?? {}), [
    ...["event", "event_id", "sequence", "account_id", "created_at", "snapshot_id", "size_bytes"],
  ]);
});

test("a request that waits is answered by the next event, and by nothing else", async () => {
  const { accountId, read } = await reader();
  await emitEvents(service, accountId, 1);
  const waiting = read("?after=1&wait=30");
  const other = await reader();
  await emitEvents(service, other.accountId, 1);
  await emitEvents(service, accountId, 1);
  assert.deepEqual(numbers(await waiting), [2]);
});

test("without an event the answer is empty after the wait, and says where to go on", async () => {
  const { accountId, read } = await reader();
  await emitEvents(service, accountId, 2);
  assert.deepEqual(await read("?after=2&wait=1"), { data: [], last_sequence: 2 });
  assert.deepEqual(await read("?after=2"), { data: [], last_sequence: 2 });
});

test("a number above the newest is answered at once with the newest, also with a wait", async () => {
  const { accountId, read } = await reader();
  await emitEvents(service, accountId, 2);
  const ahead = `?after=${Number.MAX_SAFE_INTEGER}`;
  assert.deepEqual(await read(ahead), { data: [], last_sequence: 2 });
  const waiting = read(`${ahead}&wait=30`);
  assert.deepEqual(await waiting, { data: [], last_sequence: 2 });
});

test("an account without events has an empty stream", async () => {
  const { read } = await reader();
  assert.deepEqual(await read(""), { data: [], last_sequence: 0 });
});

test("a client that is held to vaults gets the events of these alone, and waits for them alone", async () => {
  const vaultId = randomUUID();
  const owner = await reader();
  const held = await reader({ accountId: owner.accountId ?? "", vaultIds: [vaultId] });
  await emitEvents(service, owner.accountId, 2);
  await emitEvents(service, owner.accountId, 1, { vaultId });
  await emitEvents(service, owner.accountId, 1);
  const page = await held.read("");
  assert.deepEqual([numbers(page), page.last_sequence], [[3], 4]);
  const waiting = held.read("?after=4&wait=30");
  await emitEvents(service, owner.accountId, 1);
  await emitEvents(service, owner.accountId, 1, { vaultId });
  assert.deepEqual(numbers(await waiting), [6]);
});

test("another account's events are never seen", async () => {
  const one = await reader();
  const other = await reader();
  await emitEvents(service, one.accountId, 3);
  assert.deepEqual(await other.read(""), { data: [], last_sequence: 0 });
});

test("410: events that are not kept any more; without after the oldest kept one is the first", async () => {
  const { accountId, get, read } = await reader();
  await emitEvents(service, accountId, 3);
  await storedRows(service.database, "delete from emanet.events where account_id = $1 and sequence <= 2", [accountId]);
  await storedRows(service.database, "update emanet.event_heads set expired_through = 2 where account_id = $1", [
    accountId,
  ]);
  const gone = await get("?after=1");
  assert.deepEqual([gone.status, gone.json?.code], [410, "events_expired"]);
  assert.deepEqual(numbers(await read("?after=2")), [3]);
  assert.deepEqual(numbers(await read("")), [3]);
});

test("403: a program whose account has webhooks off; the service's own pages answer for every role", async () => {
  const { accountId, get } = await reader();
  await emitEvents(service, accountId, 1);
  const staff = await tokenFor(service, { as: "staff" });
  const json = { early_access: true, reason: "test gerekçesi" };
  const place = `/v1/admin/accounts/${accountId}/early-access`;
  assert.equal((await service.send("POST", place, { json, headers: staff.auth })).status, 200);
  const refused = await get("");
  assert.deepEqual([refused.status, refused.json?.code], [403, "feature_not_enabled"]);
  for (const role of ["owner", "manager", "operator", "viewer", "auditor"]) {
    const page = await reader({ as: "member", kind: "dashboard", role, accountId: accountId ?? "", scopes: [] });
    assert.deepEqual(numbers(await page.read("")), [1], role);
  }
});

test("403: a program without the scope, and a member of another role with a token for programs", async () => {
  const without = await reader({ scopes: ["snapshots:read"] });
  assert.equal((await without.get("")).json?.code, "insufficient_scope");
  const viewer = await reader({ as: "member", kind: "api", role: "viewer" });
  assert.equal((await viewer.get("")).json?.code, "insufficient_role");
});

test("a session that is revoked gets no event that it waited for", async () => {
  const { accountId, sessionId, get } = await reader();
  const waiting = get("?after=0&wait=25");
  await storedRows(service.database, "update emanet.sessions set revoked_at = $2 where id = $1", [
    ...[sessionId, service.clock.now()],
  ]);
  const answer = await waiting;
  assert.equal(answer.status, 401, `${accountId}: ${answer.body}`);
});

test("a removed member's wait ends, and brings no event", async () => {
  const owner = await tokenFor(service, { role: "owner" });
  const gone = await reader({ as: "member", kind: "dashboard", role: "viewer", accountId: owner.accountId ?? "" });
  const waiting = gone.get("?after=0&wait=25");
  await gone.get("?after=0");
  const removed = await service.send("DELETE", `/v1/members/${gone.personId}`, { headers: owner.auth });
  assert.equal(removed.status, 204, removed.body.toString());
  const answer = await waiting;
  assert.equal(answer.status, 401, answer.body.toString());
});

test("the stop of the service ends a wait with an answer", async () => {
  const own = await startTestService({ after });
  const { auth } = await tokenFor(own, { as: "client", kind: "api" });
  const waiting = own.send("GET", "/v1/events?wait=30", { headers: auth });
  // Another answer shows that the service has begun with the first.
  await own.send("GET", "/v1/events", { headers: auth });
  await own.running.stop();
  assert.deepEqual((await waiting).json, { data: [], last_sequence: 0 });
});
