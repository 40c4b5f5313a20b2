import assert from "node:assert/strict";
import { after, beforeEach, describe, test } from "node:test";
import pg from "pg";
import { connectionConfig } from "../kernel/database/pool.ts";
import { tokenFor } from "../testing/accounts.ts";
import { messageTo } from "../testing/sent-messages.ts";
import { auditTest } from "./testing.ts";

const env = await auditTest({ after });
const staff = async () => (await tokenFor(env.service, { as: "staff" })).auth;
const dayMs = 24 * 60 * 60_000;

/** Somebody who has the database: no trigger and no row-level security stops them. */
async function byHand(text: string, values: readonly unknown[]): Promise<void> {
  const client = new pg.Client(connectionConfig(env.service.database.adminTarget, { search_path: "emanet" }));
  await client.connect();
  try {
    await client.query("begin");
    await client.query("set local session_replication_role = replica");
    await client.query(text, [...values]);
    await client.query("commit");
  } finally {
    await client.end();
  }
}

interface ChainJson {
  readonly checked_at: string | null;
  readonly bad_seq: number | null;
  readonly finding: string | null;
}

async function stateOf(chain: string): Promise<ChainJson> {
  const answer = await env.service.send("GET", `/v1/admin/audit/chains/${chain}`, { headers: await staff() });
  assert.equal(answer.status, 200, answer.body.toString());
  return answer.json as unknown as ChainJson;
}

/** What the next nightly self-check says of a chain. */
async function nextCheck(chain: string): Promise<ChainJson> {
  const before = (await stateOf(chain)).checked_at;
  env.service.clock.advance(dayMs);
  return env.until(async () => {
    const state = await stateOf(chain);
    return state.checked_at === before ? null : state;
  });
}

/** The metric, when a self-check has found a bad chain. */
async function badChains(): Promise<number | null> {
  const text = await (await fetch(env.service.running.metricsUrl ?? "")).text();
  const [, count] = /^emanet_audit_bad_chains (\d+)$/m.exec(text) ?? assert.fail("no metric");
  return Number(count) === 0 ? null : Number(count);
}

let chain = "";
let auth = { authorization: "" };

beforeEach(async () => {
  const owner = await tokenFor(env.service);
  chain = owner.accountId ?? "";
  auth = owner.auth;
  for (let i = 0; i < 5; i++)
    await env.service.send("PATCH", "/v1/account", { json: { name: `Ad ${i}` }, headers: owner.auth });
  // Its checkpoint is in the object store from here on.
  assert.equal((await env.service.send("GET", "/v1/audit/export", { headers: auth })).status, 200);
  await env.until(async () => {
    const query = "select 1 from emanet.audit_checkpoints where chain = $1 and seq >= 5 and stored_at is not null";
    return (await env.rows(query, [chain]))[0] ?? null;
  });
});

describe("the nightly self-check", () => {
  test("says nothing about a good chain", async () => {
    assert.deepEqual({ ...(await nextCheck(chain)), checked_at: "" }.bad_seq, null);
  });

  test("names a record that was changed, mails staff and counts it", async () => {
    await byHand("update audit_records set action = 'nothing.happened' where chain = $1 and seq = 3", [chain]);
    const { bad_seq, finding } = await nextCheck(chain);
    assert.deepEqual([bad_seq, finding], [3, "its hash is not that of its content"]);
    const mail = await messageTo(env.service.dataDir, "staff@emanet.invalid", "audit_check_failed_staff");
    assert.ok(mail.text.includes(chain) && mail.text.includes("İlk bozuk kayıt: 3"), mail.text);
    assert.ok((await env.until(badChains)) >= 1);
  });

  test("names a record that was deleted", async () => {
    await byHand("delete from audit_records where chain = $1 and seq = 2", [chain]);
    const { bad_seq, finding } = await nextCheck(chain);
    assert.deepEqual([bad_seq, finding], [2, "it is missing"]);
  });

  test("names the last record when it was deleted", async () => {
    await byHand("delete from audit_records where chain = $1 and seq = 6", [chain]);
    assert.equal((await nextCheck(chain)).bad_seq, 6);
  });

  test("names a record that was put in at the end", async () => {
    const columns = "account_id, occurred_at, action, actor, targets, context, outcome, metadata, prev_hash, hash";
    await byHand(
      `insert into audit_records (chain, seq, id, ${columns})
       select chain, 7, gen_random_uuid(), ${columns} from audit_records where chain = $1 and seq = 5`,
      [chain],
    );
    assert.equal((await nextCheck(chain)).bad_seq, 7);
  });

  test("names the end when it and the head were taken out together: a checkpoint in the object store has more", async () => {
    await byHand("delete from audit_records where chain = $1 and seq > 3", [chain]);
    await byHand("delete from audit_checkpoints where chain = $1 and seq > 3", [chain]);
    await byHand(
      "update audit_heads h set seq = 3, hash = r.hash, prev_hash = r.prev_hash from audit_records r where h.chain = $1 and r.chain = $1 and r.seq = 3",
      [chain],
    );
    assert.equal((await nextCheck(chain)).bad_seq, 4);
  });

  test("finds a chain that was rewritten with right hashes: the object store has the old checkpoint", async () => {
    await byHand("delete from audit_records where chain = $1", [chain]);
    await byHand("delete from audit_heads where chain = $1", [chain]);
    await byHand("delete from audit_checkpoints where chain = $1", [chain]);
    const { auth: again } = await tokenFor(env.service, { accountId: chain });
    for (let i = 0; i < 7; i++)
      await env.service.send("PATCH", "/v1/account", { json: { name: `Yeni ${i}` }, headers: again });
    const { bad_seq, finding } = await nextCheck(chain);
    assert.equal(bad_seq, 5);
    assert.match(finding ?? "", /rewritten/);
  });
});

test("404: a chain that does not exist", async () => {
  const answer = await env.service.send("GET", `/v1/admin/audit/chains/${"0".repeat(36)}`, { headers: await staff() });
  assert.equal(answer.status, 404);
});
