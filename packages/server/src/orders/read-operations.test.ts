/** An agent with write-only credentials reads what its order names, and nothing else. */

import assert from "node:assert/strict";
import { createCipheriv } from "node:crypto";
import { after, test } from "node:test";
import {
  decodeFound,
  decodeKeys,
  encodeFind,
  encodeKeyQuery,
  RemoteReadPort,
  RestoreWorkerPool,
  type SealedFrame,
} from "@emanet/engine";
import { codeOf } from "../agents/testing.ts";
import { manyRestores, readRestore } from "../restores/testing.ts";
import { type SnapshotJson, snapshotTest, tarOf } from "../snapshots/testing.ts";
import { orderCalls, orderTo, TestRun, writeOnlyAgent } from "./testing.ts";

const env = await snapshotTest({ after }, manyRestores);
const pool = new RestoreWorkerPool(1);
after(() => pool.close());

function noise(bytes: number, seed: number): Buffer {
  return createCipheriv("aes-128-ctr", Buffer.alloc(16, seed), Buffer.alloc(16)).update(Buffer.alloc(bytes));
}

const wanted = noise(1_500_000, 1);
const secret = noise(1_500_000, 2);
const files = { "a/istenen.bin": wanted, "a/b/küçük.txt": "merhaba", "gizli/sir.bin": secret, "z.txt": "son" };
const snapshot = (await env.upload("source=orders", tarOf(files))).json as SnapshotJson;
const other = (await env.upload("source=others", tarOf({ "s.bin": noise(1_500_000, 3) }))).json as SnapshotJson;
const agent = await writeOnlyAgent(env);
const run = new TestRun(env, agent);

test("an agent reads every file of its order by sealed frames, compares it, and ends the order", async () => {
  const id = await orderTo(env, agent, { snapshot_id: snapshot.id });
  const read = await run.perform(id, pool);
  assert.deepEqual(Object.keys(read).sort(), ["a/b/küçük.txt", "a/istenen.bin", "gizli/sir.bin", "z.txt"]);
  assert.ok(read["a/istenen.bin"]?.equals(wanted) && read["gizli/sir.bin"]?.equals(secret));
  const { status, files_restored: count, bytes_restored: bytes } = await readRestore(env, id);
  assert.deepEqual([status, count, bytes], ["completed", 4, 3_000_010]);
});

test("of an order with paths, everything below them is read", async () => {
  const id = await orderTo(env, agent, { snapshot_id: snapshot.id, paths: ["a", "z.txt"] });
  const read = await run.perform(id, pool);
  assert.deepEqual(Object.keys(read).sort(), ["a/b/küçük.txt", "a/istenen.bin", "z.txt"]);
  assert.ok(read["a/istenen.bin"]?.equals(wanted));
});

/** The sealed frames whose keys a run asked for. */
async function framesOf(id: string): Promise<readonly SealedFrame[]> {
  const asked: SealedFrame[] = [];
  const original = RemoteReadPort.prototype.frameKeys;
  RemoteReadPort.prototype.frameKeys = function (frames) {
    asked.push(...frames);
    return original.call(this, frames);
  };
  try {
    await run.readFiles(await run.take(id), pool);
  } finally {
    RemoteReadPort.prototype.frameKeys = original;
  }
  return asked;
}

test("outside its paths, and of other snapshots, an order gives out no item, no place and no key", async () => {
  const whole = await orderTo(env, agent, { snapshot_id: snapshot.id });
  const foreign = await orderTo(env, agent, { snapshot_id: other.id });
  const part = await orderTo(env, agent, { snapshot_id: snapshot.id, paths: ["a"] });
  const [all, others, own] = [await framesOf(whole), await framesOf(foreign), await framesOf(part)];
  const isOwn = ({ frame }: SealedFrame) => own.some((one) => one.frame === frame);
  const outside = [...all, ...others].filter((frame) => !isOwn(frame));
  assert.ok(own.length > 0 && all.some((frame) => !isOwn(frame)) && others.some((frame) => !isOwn(frame)));
  const calls = orderCalls(env, part, agent.auth);
  const reach = Array.from({ length: 100 }, (_, ordinal) => ordinal);
  const seen = async (id: string) => {
    const port = await RemoteReadPort.open(orderCalls(env, id, agent.auth));
    return (await port.itemsByOrdinal(reach)).flatMap((item, ordinal) => (item === null ? [] : [ordinal]));
  };
  const [ofPart, ofWhole] = [await seen(part), await seen(whole)];
  assert.ok(ofPart.length < ofWhole.length && ofPart.every((ordinal) => ofWhole.includes(ordinal)));
  // Paths outside the order's are not found, and those inside bring nothing of the others.
  const query = encodeFind({
    withContent: true,
    paths: ["", "gizli/sir.bin", "a/istenen.bin"].map((path) => Buffer.from(path)),
  });
  const { found } = decodeFound(await calls.call("find", query));
  assert.ok(found.items.every(({ ordinal }) => ofPart.includes(ordinal)));
  assert.ok(found.keys.length > 0 && found.keys.every(({ frame }) => own.some((one) => one.frame === frame)));
  // A client that lies: every item it can name, for each frame that is not the order's.
  for (const frame of outside) {
    const lies = reach.map((ordinal) => ({ ...frame, ordinal }));
    const keys = decodeKeys(await calls.call("keys", encodeKeyQuery(lies)), lies.length);
    assert.ok(keys.every((key) => typeof key === "string"));
  }
});

test("403 and 404: write-only credentials read no snapshot beside an order; other agents find no order", async () => {
  const id = await orderTo(env, agent, { snapshot_id: snapshot.id });
  await run.take(id);
  const headers = { "content-type": "application/vnd.emanet.read" };
  const open = (target: string, auth: Readonly<Record<string, string>>) =>
    env.service.send("POST", target, { body: Buffer.from([1, 16, 0]), headers: { ...headers, ...auth } });
  assert.equal((await open(`/v1/orders/${id}/read/open`, agent.auth)).status, 200);
  const beside = await open(`/v1/snapshots/${snapshot.id}/read/open`, agent.auth);
  assert.equal(codeOf(beside), "403 insufficient_scope");
  const neighbour = await writeOnlyAgent(env);
  assert.equal(codeOf(await open(`/v1/orders/${id}/read/open`, neighbour.auth)), "404 not_found");
  // The one who gave the order is not its agent.
  assert.equal(codeOf(await open(`/v1/orders/${id}/read/open`, env.auth)), "404 not_found");
});

test("409: an order that waits, was canceled, or has ended gives out nothing", async () => {
  // An empty query of items.
  const items = (id: string) => orderCalls(env, id, agent.auth).call("items", Buffer.from([1, 17, 0, 0]));
  const waiting = await orderTo(env, agent, { snapshot_id: snapshot.id });
  await run.until(waiting);
  await assert.rejects(items(waiting), /409 state_conflict/);
  await run.take(waiting);
  assert.ok(await items(waiting));
  assert.equal((await env.send("POST", `/v1/restore/${waiting}/cancel`)).status, 200);
  await assert.rejects(items(waiting), /409 state_conflict/);
  const done = await orderTo(env, agent, { snapshot_id: snapshot.id });
  await run.perform(done, pool);
  await assert.rejects(items(done), /409 state_conflict/);
});

test("422: a message that is none", async () => {
  const id = await orderTo(env, agent, { snapshot_id: snapshot.id });
  await run.take(id);
  const headers = { ...agent.auth, "content-type": "application/vnd.emanet.read" };
  const answer = await env.service.send("POST", `/v1/orders/${id}/read/keys`, { body: Buffer.from("no"), headers });
  assert.equal(answer.status, 422);
});
