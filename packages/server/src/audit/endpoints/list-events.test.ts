import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { listIn } from "../../testing/lists.ts";
import type { Sent } from "../../testing/running.ts";
import { auditTest } from "../testing.ts";

interface RecordJson {
  readonly seq: number;
  readonly action: string;
  readonly occurred_at: string;
  readonly person: string | null;
  readonly prev_hash: string;
  readonly hash: string;
  readonly targets: readonly { readonly type: string; readonly id: string }[];
}

const env = await auditTest({ after });
await env.act(4);
const vault = await env.service.send("POST", "/v1/vaults", { json: { name: "Kasa" }, headers: env.auth });
assert.equal(vault.status, 201);
const manager = await tokenFor(env.service, { accountId: env.accountId, role: "manager" });
await env.service.send("PATCH", `/v1/vaults/${vault.json?.id}`, { json: { name: "Yeni" }, headers: manager.auth });

const records = (answer: Sent) => {
  assert.equal(answer.status, 200, answer.body.toString());
  return listIn<RecordJson>(answer, "data");
};
const seqs = (answer: Sent) => records(answer).map(({ seq }) => seq);

test("records come newest first with their hashes, which chain them, and with the name of who acted", async () => {
  const found = records(await env.get("/v1/audit/events"));
  assert.deepEqual(
    found.map(({ seq }) => seq),
    [6, 5, 4, 3, 2, 1],
  );
  for (const [at, record] of found.entries()) {
    assert.equal(record.prev_hash, found[at + 1]?.hash ?? "0".repeat(64));
    assert.equal(record.person, "Test Person");
  }
});

test("pages lose and repeat nothing, and a cursor is bound to its filters", async () => {
  const found: number[] = [];
  let cursor: unknown = "";
  do {
    const page = await env.get(`/v1/audit/events?limit=2&sort=occurred_at${cursor === "" ? "" : `&cursor=${cursor}`}`);
    found.push(...seqs(page));
    cursor = page.json?.next_cursor;
  } while (cursor !== null);
  assert.deepEqual(found, [1, 2, 3, 4, 5, 6]);
  const first = await env.get("/v1/audit/events?limit=1");
  const other = await env.get(`/v1/audit/events?limit=1&outcome=failure&cursor=${first.json?.next_cursor}`);
  assert.equal(other.json?.code, "invalid_cursor");
});

describe("filters", () => {
  const all = [6, 5, 4, 3, 2, 1];
  const cases: readonly (readonly [string, () => Promise<string> | string, readonly number[]])[] = [
    ["action", () => "action=vault.created", [5]],
    ["kind of action", () => "action=vault.*", [6, 5]],
    ["kind of action that is the beginning of another word", () => "action=acc.*", []],
    ["actor", () => `actor_id=${manager.personId}`, [6]],
    ["unknown actor", () => `actor_id=${randomUUID()}`, []],
    ["kind of actor", () => "actor_kind=member", all],
    ["target", () => `target_id=${vault.json?.id}`, [6, 5]],
    ["kind of target", () => "target_type=account", [4, 3, 2, 1]],
    ["kind and id of different targets", () => `target_type=account&target_id=${vault.json?.id}`, []],
    ["outcome", () => "outcome=failure", []],
    [
      "time: from is included, to is not",
      async () => {
        const [third, second] = records(await env.get("/v1/audit/events?action=account.*")).slice(1, 3);
        return `from=${second?.occurred_at}&to=${third?.occurred_at}`;
      },
      [2],
    ],
  ];
  for (const [name, query, expected] of cases)
    test(name, async () => {
      assert.deepEqual(seqs(await env.get(`/v1/audit/events?${await query()}`)), expected);
    });
});

test("another account sees none of it; viewers are refused; a client that is held to vaults too", async () => {
  const other = await tokenFor(env.service);
  assert.deepEqual(seqs(await env.service.send("GET", "/v1/audit/events", { headers: other.auth })), []);
  const viewer = await tokenFor(env.service, { accountId: env.accountId, role: "viewer" });
  const refused = await env.service.send("GET", "/v1/audit/events", { headers: viewer.auth });
  assert.deepEqual([refused.status, refused.json?.code], [403, "insufficient_role"]);
  const held = await tokenFor(env.service, { accountId: env.accountId, as: "client", kind: "api", vaultIds: [] });
  assert.equal((await env.service.send("GET", "/v1/audit/events", { headers: held.auth })).status, 403);
});
