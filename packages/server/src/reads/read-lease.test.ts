/** A snapshot that somebody reads does not expire meanwhile, and its content is there, wherever upkeep moves it. */
// long: 10 s

import assert from "node:assert/strict";
import { createCipheriv } from "node:crypto";
import { after, test } from "node:test";
import { entriesOf, FileReader, prune, RemoteReadPort, RestoreWorkerPool, repack, rootEntry } from "@emanet/engine";
import { makeAgent } from "../agents/testing.ts";
import { openDownload } from "../downloads/testing.ts";
import { endRestores } from "../restores/jobs.ts";
import { dayMs, hourMs, type RetentionTest, retentionTest } from "../retention/testing.ts";
import { runTask } from "../snapshots/testing.ts";
import { readCalls } from "./testing.ts";

const env = await retentionTest({ after });
const { accountId, vaultId } = env;
// The tests run retention themselves: a snapshot must not go before its reader has begun.
await env.rows("update emanet.jobs set run_at = 'infinity' where task = 'retention.find_vaults_to_apply'");
const pool = new RestoreWorkerPool(1);
after(() => pool.close());
const minuteMs = 60_000;

function noise(bytes: number, seed: number): Buffer {
  return createCipheriv("aes-128-ctr", Buffer.alloc(16, seed), Buffer.alloc(16)).update(Buffer.alloc(bytes));
}

/** A snapshot that nothing keeps any more: the next run of retention ends it. */
async function due(source: string, files: Parameters<RetentionTest["backUp"]>[1]): Promise<string> {
  const old = await env.backUp(source, files);
  env.wait(20 * dayMs);
  await env.backUp(source, { other: `${source} başka` });
  const [row] = await env.rows<{ id: string }>("select source_id as id from emanet.snapshots where id = $1", [old]);
  const put = await env.putPolicy(`/v1/sources/${row?.id}/retention`, { keep_last: 1 });
  assert.equal(put.status, 202, put.body.toString());
  env.wait(72 * hourMs);
  return old;
}

async function openVault() {
  return (await env.service.running.services?.vaults.open(accountId, vaultId)) ?? assert.fail("no vault");
}

const contents = Array.from({ length: 3 }, (_, at) => noise(1_500_000, at + 1));
const files = Object.fromEntries(contents.map((content, at) => [`${at}.bin`, content]));

test("an agent reads on for hours through retention, repack and prune; an hour after its last call the snapshot goes", async () => {
  const id = await due("read", files);
  // Tokens end, the reader's port goes on with new ones.
  const port = await RemoteReadPort.open({
    call: async (...args) => readCalls(env.service, id, await env.client()).call(...args),
    readPack: async (...args) => readCalls(env.service, id, await env.client()).readPack(...args),
  });
  const reader = new FileReader({ port, pool, hashesAll: true, cacheBytes: 1 });
  const root = await rootEntry(reader.frames, { rootOrdinal: port.root.ordinal, rootId: port.root.id });
  let count = 0;
  for await (const entry of entriesOf(reader.frames, root.root)) {
    if (entry.type !== "file") continue;
    assert.ok(Buffer.concat(await Array.fromAsync(reader.read(entry))).equals(contents[count] ?? Buffer.alloc(0)));
    // Between two files: time passes, retention looks, frames move and their old packs go.
    env.wait(50 * minuteMs);
    await env.apply();
    const vault = await openVault();
    await repack(vault);
    await prune(vault, {});
    assert.equal(await env.status(id), "completed", `after file ${count}`);
    count++;
  }
  assert.equal(count, contents.length);
  env.wait(hourMs);
  await env.apply();
  assert.equal(await env.status(id), "expired");
  const headers = { ...(await env.client()), "content-type": "application/vnd.emanet.read" };
  const refused = await env.service.send("POST", `/v1/snapshots/${id}/read/items`, { body: Buffer.alloc(3), headers });
  assert.equal(refused.json?.code, "snapshot_expired");
});

test("a large download keeps its snapshot while it is sent; a small one does not", async () => {
  const id = await due("stream", { ...files, small: "küçük" });
  const stream = await openDownload(env, `/v1/snapshots/${id}/archive`, await env.client());
  await env.apply();
  assert.equal(await env.status(id), "completed");
  assert.ok((await stream.end()).isWhole);
  env.wait(hourMs);
  assert.equal((await env.call("GET", `/v1/snapshots/${id}/files/small`)).body.toString(), "küçük");
  env.wait(dayMs);
  await env.apply();
  assert.equal(await env.status(id), "expired");
});

test("an order that waits for its agent keeps its snapshot; when the agent was absent for a day, it goes", async () => {
  const id = await due("order", { f: "sipariş" });
  const agent = await makeAgent(env.service, accountId, { json: { roots: ["/srv/geri"], allow_overwrite: false } });
  const bound = await env.call("PATCH", agent.target, { vaults: [vaultId] });
  assert.equal(bound.status, 200, bound.body.toString());
  const target = { kind: "agent", agent_id: agent.id };
  const ordered = await env.call("POST", "/v1/restore", { snapshot_id: id, target });
  assert.equal(ordered.status, 202, ordered.body.toString());
  env.wait(23 * hourMs);
  await env.apply();
  assert.equal(await env.status(id), "completed");
  env.wait(2 * hourMs);
  await runTask(env, endRestores, {});
  await env.apply();
  assert.equal(await env.status(id), "expired");
});
