import assert from "node:assert/strict";
import { createCipheriv } from "node:crypto";
import { after, test } from "node:test";
import { codeOf } from "../../agents/testing.ts";
import { endUploads } from "../../snapshots/jobs.ts";
import { auditOf, endMark, eventsOf, member, runTask, snapshotTest, tarOf } from "../../snapshots/testing.ts";
import { jobsDone } from "../../testing/sent-messages.ts";
import { fileTest, nothingLeft } from "../testing.ts";

const env = await snapshotTest({ after });
const files = fileTest(env);

/** Does not compress. */
function noise(bytes: number, seed: number): Buffer {
  return createCipheriv("aes-128-ctr", Buffer.alloc(16, seed), Buffer.alloc(16)).update(Buffer.alloc(bytes));
}

test("200 with the snapshot, the same again on repetition; events, audit and verification as in one call", async () => {
  const id = await files.create("a");
  await files.put(id, "a.txt", "merhaba");
  const done = await files.complete(id);
  assert.deepEqual([done.status, done.json?.status, done.json?.file_count], [200, "completed", 1]);
  assert.ok(Number(done.json?.stored_bytes) > 0);
  await jobsDone(env.service, "snapshots.verify");
  const again = await files.complete(id);
  const { verified_at: verifiedAt, version: _version, ...rest } = again.json ?? {};
  assert.ok(typeof verifiedAt === "string");
  const { verified_at: _at, version: _first, ...first } = done.json ?? {};
  assert.deepEqual(rest, first);
  const events = (await eventsOf(env)).filter((event) => event.snapshot_id === id).map(({ event }) => event);
  assert.deepEqual(events, ["snapshot.started", "snapshot.completed"]);
  const actions = (await auditOf(env)).slice(-2);
  assert.deepEqual(actions, ["snapshot.created by client", "snapshot.completed by client"]);
  await files.settle();
  assert.deepEqual(await files.left(id), nothingLeft);
  assert.equal(await files.read(id, "a.txt"), "merhaba");
});

test("the same files make the same tree file by file and as a tar, and the second stores almost nothing", async () => {
  const content: Record<string, string | Buffer> = { "b/large": noise(700_000, 1), "b/zeros": Buffer.alloc(300_000) };
  for (let i = 0; i < 30; i++) content[`a/${i % 7}/f${i}`] = `fatura ${i} `.repeat(i * 40);
  const mtime = { "x-emanet-mtime": new Date(1_700_000_000_000).toISOString() };
  const one = await files.completed("ways", content, mtime);
  assert.ok(Number(one.stored_bytes) > 700_000);
  await jobsDone(env.service, "snapshots.verify");
  const tar = await env.upload("source=ways", tarOf(content));
  assert.equal(tar.json?.root_hash, one.root_hash);
  assert.equal(tar.json?.stored_bytes, 0);
  const second = await files.completed("ways", content);
  assert.deepEqual([second.root_hash, second.stored_bytes, second.parent_id], [one.root_hash, 0, tar.json?.id]);
  for (const [path, bytes] of Object.entries(content)) {
    const { body } = await env.get(`/v1/snapshots/${second.id}/files/${path}`);
    assert.ok(body.equals(Buffer.from(bytes as string)), path);
  }
});

test("without a time a file keeps the parent's if its content is equal; else it has the time of receipt", async () => {
  const body = Buffer.concat([member({ name: "d/a", mtime: 5 }, "1"), member({ name: "d/b", mtime: 5 }, "2"), endMark]);
  await env.upload("source=times", body);
  const { id } = await files.completed("times", { "d/a": "1", "d/b": "new", "d/c": "3" });
  const { data } = (await env.get(`/v1/snapshots/${id}/tree?path=d`)).json as unknown as { data: { mtime: string }[] };
  const now = env.service.clock.now().getTime();
  assert.deepEqual(
    data.map(({ mtime }) => Date.parse(mtime)),
    [5000, now, now],
  );
});

test("a client that only writes completes its own, and is told nothing of what others stored", async () => {
  const content = noise(20_000, 9);
  await files.completed("reader", { "d/a": content });
  await jobsDone(env.service, "snapshots.verify");
  const writer = await env.as({ as: "client", kind: "api", scopes: ["snapshots:write"] });
  const send = (method: string, path: string, call: object) =>
    env.service.send(method, `/v1/snapshots${path}`, { ...call, headers: writer });
  const { id } = (await send("POST", "", { json: { source: "writer" } })).json as { id: string };
  assert.equal((await send("PUT", `/${id}/files/d/a`, { body: content })).status, 201);
  const done = await send("POST", `/${id}/complete`, {});
  assert.deepEqual([done.status, done.json?.file_count, done.json?.stored_bytes], [200, 1, undefined]);
  const stored = "select stored_bytes::float8 as bytes from emanet.snapshots where id = $1";
  const [row] = await env.rows<{ bytes: number }>(stored, [id]);
  assert.ok((row?.bytes ?? 0) > content.length, "it is stored again");
  assert.ok((await env.get(`/v1/snapshots/${id}/files/d/a`)).body.equals(content));
});

test("a snapshot without a file is empty, and passes through running", async () => {
  const id = await files.create("empty");
  const done = await files.complete(id);
  assert.deepEqual([done.status, done.json?.file_count, done.json?.size_bytes], [200, 0, 0]);
  const events = (await eventsOf(env)).filter((event) => event.snapshot_id === id).map(({ event }) => event);
  assert.deepEqual(events, ["snapshot.started", "snapshot.completed"]);
});

test("completed twice at once it is completed once, and both answers are the snapshot", async () => {
  const id = await files.create("twice");
  await files.put(id, "a");
  const answers = await Promise.all([1, 2, 3, 4].map(() => files.complete(id)));
  assert.deepEqual(
    answers.map(({ status, json }) => [status, json?.status]),
    Array(4).fill([200, "completed"]),
  );
  const events = (await eventsOf(env)).filter((event) => event.snapshot_id === id).map(({ event }) => event);
  assert.deepEqual(events, ["snapshot.started", "snapshot.completed"]);
});

test("a file beside the completion is in the snapshot if it was taken, and refused otherwise", async () => {
  const id = await files.create("beside");
  await files.put(id, "first");
  const paths = Array.from({ length: 12 }, (_, i) => `f${i}`);
  const puts = paths.map((path) => files.put(id, path, path));
  const done = files.complete(id);
  const answers = await Promise.all(puts);
  assert.equal((await done).status, 200);
  const taken = paths.filter((_, i) => answers[i]?.status === 201);
  const refused = answers.filter((answer) => codeOf(answer) === "409 state_conflict");
  assert.equal(taken.length + refused.length, paths.length);
  const { data } = (await env.get(`/v1/snapshots/${id}/tree`)).json as unknown as { data: { name: string }[] };
  assert.deepEqual(
    data.map(({ name }) => name),
    ["first", ...taken].sort(),
  );
});

test("a cancel beside files ends it: no file is taken afterwards, and nothing is left", async () => {
  const id = await files.create("canceled");
  await files.put(id, "first", noise(1000, 2));
  const puts = Array.from({ length: 6 }, (_, i) => files.put(id, `f${i}`, noise(1000, i + 3)));
  const cancel = await env.send("POST", `/v1/snapshots/${id}/cancel`);
  assert.deepEqual([cancel.status, cancel.json?.status], [200, "canceled"]);
  for (const answer of await Promise.all(puts))
    assert.ok(answer.status === 201 || codeOf(answer) === "409 state_conflict");
  assert.equal(codeOf(await files.put(id, "late")), "409 state_conflict");
  assert.equal(codeOf(await files.complete(id)), "409 state_conflict");
  await files.settle();
  assert.deepEqual(await files.left(id), nothingLeft);
});

test("completed and canceled at once it is one of both, for every client and in the catalog", async () => {
  for (let round = 0; round < 6; round++) {
    const id = await files.create("race");
    await files.put(id, "a", `${round}`);
    const calls = [() => files.complete(id), () => env.send("POST", `/v1/snapshots/${id}/cancel`)];
    const answers = await Promise.all((round % 2 === 0 ? calls : calls.toReversed()).map((call) => call()));
    const good = answers.filter(({ status }) => status === 200);
    assert.equal(good.length, 1, answers.map(codeOf).join());
    assert.ok(
      answers.some((answer) => codeOf(answer) === "409 state_conflict"),
      answers.map(codeOf).join(),
    );
    const { status } = (await env.get(`/v1/snapshots/${id}`)).json ?? {};
    assert.equal(status, good[0]?.json?.status);
    assert.equal(await env.inCatalog(id), status === "completed");
    assert.equal((await env.get(`/v1/snapshots/${id}/files/a`)).status, status === "completed" ? 200 : 409);
    await files.settle();
    assert.deepEqual(await files.left(id), nothingLeft);
  }
});

test("a file whose content is stored already keeps its upload alive too", async () => {
  const id = await files.create("unchanged");
  await files.put(id, "a", "1");
  env.service.clock.advance(2 * 60_000);
  assert.equal((await files.put(id, "b", "1")).status, 201);
  const [row] = await env.rows<{ active_at: Date }>("select active_at from emanet.snapshots where id = $1", [id]);
  assert.equal(row?.active_at.getTime(), env.service.clock.now().getTime());
});

test("an upload without a byte for 24 hours is abandoned, one with a byte a day after seven; nothing is left", async () => {
  const idle = await files.create("idle");
  await files.put(idle, "a");
  const busy = await files.create("busy");
  const states = async () => {
    const select = "select state, failure_code as code from emanet.snapshots where id = any($1) order by id";
    return (await env.rows<{ state: string; code: string }>(select, [[idle, busy]])).map(({ state, code }) => [
      state,
      code,
    ]);
  };
  const abandoned = ["failed", "upload_abandoned"];
  for (let day = 1; day <= 7; day++) {
    // Before the clock moves, because the recurring task runs too.
    const active = new Date(env.service.clock.now().getTime() + 24 * 3_600_000 - 1000);
    await env.rows("update emanet.snapshots set active_at = $2 where id = $1", [busy, active]);
    env.service.clock.advance(24 * 3_600_000);
    await runTask(env, endUploads, {});
    assert.deepEqual(await states(), [abandoned, day === 7 ? abandoned : ["queued", null]], `day ${day}`);
  }
  await files.settle();
  assert.deepEqual(await files.left(idle), nothingLeft);
});
