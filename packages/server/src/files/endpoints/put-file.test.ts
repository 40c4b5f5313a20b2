import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import https from "node:https";
import { after, test } from "node:test";
import { codeOf } from "../../agents/testing.ts";
import { snapshotTest, tarOf } from "../../snapshots/testing.ts";
import { tokenFor } from "../../testing/accounts.ts";
import { fileTest, nothingLeft } from "../testing.ts";

const env = await snapshotTest({ after });
const files = fileTest(env);

test("201, then 200: a file is stored, and the next one of its path replaces it", async () => {
  const id = await files.create("a");
  const first = await files.put(id, "2026/a.txt", "bir");
  assert.deepEqual([first.status, first.json?.size_bytes], [201, 3]);
  assert.equal(first.headers.etag, `"${first.json?.hash}"`);
  assert.equal((await env.get(`/v1/snapshots/${id}`)).json?.status, "running");
  const second = await files.put(id, "2026/a.txt", "ikinci");
  assert.deepEqual([second.status, second.json?.size_bytes], [200, 6]);
  assert.notEqual(second.json?.hash, first.json?.hash);
  assert.equal((await files.put(id, "leer", "")).status, 201);
  const done = await files.complete(id);
  assert.deepEqual([done.json?.file_count, done.json?.size_bytes], [2, 6]);
  assert.deepEqual([await files.read(id, "2026/a.txt"), await files.read(id, "leer")], ["ikinci", ""]);
  const read = await env.get(`/v1/snapshots/${id}/files/2026/a.txt`);
  assert.equal(read.headers.etag, second.headers.etag);
});

test("412: with `If-None-Match: *` a file that is there stays; of several at once one is stored", async () => {
  const id = await files.create("only new");
  const onlyNew = { "if-none-match": "*" };
  assert.equal((await files.put(id, "a", "bir", onlyNew)).status, 201);
  assert.equal(codeOf(await files.put(id, "a", "iki", onlyNew)), "412 precondition_failed");
  const answers = await Promise.all(["1", "2", "3", "4"].map((body) => files.put(id, "d/b", body, onlyNew)));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 412, 412, 412]);
  assert.equal(codeOf(await files.put(id, "d", "x", onlyNew)), "409 state_conflict");
  for (const other of ['"abc"', "a", '*, "abc"'])
    assert.equal(codeOf(await files.put(id, "c", "x", { "if-none-match": other })), "400 invalid_header", other);
  assert.equal((await files.complete(id)).json?.file_count, 2);
  assert.equal(await files.read(id, "a"), "bir");
});

test("a digest is compared: what differs is 422 and not in the snapshot, what cannot be read is 400", async () => {
  const id = await files.create("digests");
  const digest = (algorithm: string, text: string) =>
    `${algorithm.replace("sha", "sha-")}=:${createHash(algorithm).update(text).digest("base64")}:`;
  const put = (path: string, value: string) => files.put(id, path, "merhaba", { "content-digest": value });
  assert.equal((await put("a", digest("sha256", "merhaba"))).status, 201);
  assert.equal((await put("b", digest("sha512", "merhaba"))).status, 201);
  assert.equal(
    (await put("c", `md5=:AAAA:, ${digest("sha256", "merhaba")}, ${digest("sha512", "merhaba")}`)).status,
    201,
  );
  assert.equal(codeOf(await put("d", digest("sha256", "başka"))), "422 content_mismatch");
  assert.equal(codeOf(await put("d", digest("sha512", "başka"))), "422 content_mismatch");
  const both = `${digest("sha256", "merhaba")},${digest("sha512", "başka")}`;
  assert.equal(codeOf(await put("d", both)), "422 content_mismatch");
  for (const wrong of ["sha-256=:AAAA:", "sha-512=abc", "sha-256=::"])
    assert.equal(codeOf(await put("d", wrong)), "400 invalid_header");
  assert.equal((await files.complete(id)).json?.file_count, 3);
  const { data } = (await env.get(`/v1/snapshots/${id}/tree`)).json as unknown as { data: { sha256?: string }[] };
  const sha256 = createHash("sha256").update("merhaba").digest("hex");
  assert.deepEqual(
    data.map((entry) => entry.sha256),
    [sha256, undefined, sha256],
  );
});

test("400, 415: a part of a file, a content coding", async () => {
  const id = await files.create("parts");
  assert.equal(codeOf(await files.put(id, "a", "x", { "content-range": "bytes 5-5/6" })), "400 invalid_header");
  assert.equal(codeOf(await files.put(id, "a", "x", { "content-encoding": "gzip" })), "415 unsupported_media_type");
  assert.equal(codeOf(await files.put(id, "a", "x", { "x-emanet-mode": "9" })), "400 invalid_header");
  assert.equal(codeOf(await files.put(id, "a", "x", { "x-emanet-mtime": "gestern" })), "400 invalid_header");
});

test("400: a time on a day that does not exist; days that exist stay as they are", async () => {
  const id = await files.create("days");
  const put = (path: string, mtime: string) => files.put(id, path, "x", { "x-emanet-mtime": mtime });
  for (const time of [
    ...["2026-02-30T00:00:00Z", "2025-02-29T12:00:00Z", "2025-04-31T00:00:00Z", "1900-02-29T00:00:00Z"],
    ...["0000-01-01T00:00:00Z", "0000-02-29T23:59:59.5Z", "2026-03-01T00:30:00+03:00"],
  ]) {
    assert.equal(codeOf(await put("a", time)), "400 invalid_header", time);
    assert.equal(codeOf(await files.begin(id, "a", 5, { "x-emanet-mtime": time })), "400 invalid_header", time);
  }
  const times = ["2024-02-29T23:59:59Z", "2000-02-29T00:00:00Z", "2025-04-30T00:00:00Z", "1969-12-31T23:59:58.250Z"];
  for (const [i, time] of times.entries()) assert.equal((await put(`${i}`, time)).status, 201, time);
  await files.complete(id);
  const { data } = (await env.get(`/v1/snapshots/${id}/tree`)).json as unknown as { data: { mtime: string }[] };
  assert.deepEqual(
    data.map(({ mtime }) => Date.parse(mtime)),
    times.map((time) => Date.parse(time)),
  );
});

test("422: what is no path of a file; names are bytes and stay as they are", async () => {
  const id = await files.create("paths");
  for (const path of ["%2E%2E/a", "a/%2E%2E/b", "a//b", "/a", "a/", "a/%2E/b", "a%00b", "b".repeat(4097)])
    assert.equal(codeOf(await files.put(id, path)), "422 validation_failed", path.slice(0, 20));
  const kept = ["%98%FF", "%C4%B0", "I%CC%87", `${"d".repeat(250)}/${"e".repeat(250)}/f%0Ag`, "c".repeat(4096)];
  for (const path of kept) assert.equal((await files.put(id, path, path)).status, 201, path.slice(0, 20));
  assert.equal((await files.complete(id)).json?.file_count, kept.length);
  for (const path of kept) assert.equal(await files.read(id, path), path);
});

test("409: a file is in the place of a directory, or the other way round", async () => {
  const id = await files.create("conflicts");
  assert.equal((await files.put(id, "a/b/c")).status, 201);
  for (const path of ["a", "a/b", "a/b/c/d"]) {
    const answer = await files.put(id, path);
    assert.deepEqual([codeOf(answer), answer.json?.reason], ["409 state_conflict", "path_is_no_directory"], path);
  }
  assert.equal((await files.put(id, "a/b/d")).status, 201);
  assert.equal((await files.complete(id)).json?.file_count, 2);
});

test("time and mode are kept, to the nanosecond", async () => {
  const headers = { "x-emanet-mtime": "1969-12-31T23:59:58.123456789Z", "x-emanet-mode": "0600" };
  const { id } = await files.completed("stats", { "d/a": "1" }, headers);
  const { data } = (await env.get(`/v1/snapshots/${id}/tree?path=d`)).json as unknown as { data: object[] };
  const { mtime, mode } = data[0] as { mtime: string; mode: string };
  assert.deepEqual([mtime, mode], ["1969-12-31T23:59:58.123456789Z", "0600"]);
  const above = (await env.get(`/v1/snapshots/${id}/tree`)).json as unknown as { data: { mode: string }[] };
  assert.equal(above.data[0]?.mode, "0755");
});

test("of two files that come for one path at once one stays, whole", async () => {
  const id = await files.create("race");
  const bodies = Array.from({ length: 8 }, (_, i) => String(i).repeat(1000 * (i + 1)));
  const answers = await Promise.all(bodies.map((body) => files.put(id, "d/a", body)));
  const statuses = answers.map(({ status }) => status).sort();
  assert.deepEqual(statuses, [...Array(7).fill(200), 201]);
  await files.complete(id);
  assert.ok(bodies.includes(await files.read(id, "d/a")));
});

test("404: a snapshot of another account, of another client or outside the client's vaults is like none", async () => {
  const id = await files.create("others");
  const put = (headers: Readonly<Record<string, string>>) =>
    env.service.send("PUT", `/v1/snapshots/${id}/files/a`, { body: "x", headers });
  const missing = await files.put("019a0000-0000-7000-8000-000000000000", "a");
  assert.equal(codeOf(missing), "404 not_found");
  assert.equal(codeOf(await put(await env.as({ as: "client", kind: "api" }))), "404 not_found");
  assert.equal(codeOf(await put(await env.as({ role: "owner" }))), "404 not_found");
  assert.equal(codeOf(await put(await env.as({ role: "viewer" }))), "403 insufficient_role");
  await env.rows("update emanet.oauth_clients set vault_ids = array[gen_random_uuid()] where account_id = $1", [
    env.accountId,
  ]);
  const outside = await files.put(id, "a");
  await env.rows("update emanet.oauth_clients set vault_ids = null where account_id = $1", [env.accountId]);
  assert.equal(codeOf(outside), "404 not_found");
  assert.equal((await files.put(id, "a")).status, 201);
});

test("409: a snapshot that is completed, canceled or came in one call takes no file", async () => {
  const done = await files.completed("ended", { a: "1" });
  assert.equal(codeOf(await files.put(done.id, "b")), "409 state_conflict");
  const canceled = await files.create("ended");
  await files.put(canceled, "a");
  await env.send("POST", `/v1/snapshots/${canceled}/cancel`);
  assert.equal(codeOf(await files.put(canceled, "b")), "409 state_conflict");
  const oneCall = await env.upload("source=ended", tarOf({ a: "1" }));
  assert.equal(codeOf(await files.put(String(oneCall.json?.id), "b")), "409 state_conflict");
});

test("409: a full vault ends the snapshot with `quota_exceeded`, and nothing is left of it", async () => {
  const id = await files.create("full");
  const noise = createHash("sha512").update("x").digest();
  assert.equal((await files.put(id, "a", noise)).status, 201);
  await env.rows("update emanet.vaults set quota_bytes = stored_bytes + 100 where account_id = $1", [env.accountId]);
  const answer = await files.put(id, "b", createHash("sha512").update("y").digest());
  await env.rows("update emanet.vaults set quota_bytes = null where account_id = $1", [env.accountId]);
  assert.deepEqual([codeOf(answer), answer.json?.snapshot_id], ["409 quota_exceeded", id]);
  const { status, failure } = (await env.get(`/v1/snapshots/${id}`)).json ?? {};
  assert.deepEqual([status, (failure as { code: string }).code], ["failed", "quota_exceeded"]);
  await files.settle();
  assert.deepEqual(await files.left(id), nothingLeft);
});

test("a file that breaks off is not in the snapshot, and leaves nothing in the spool", async () => {
  const id = await files.create("broken");
  assert.equal((await files.put(id, "a", "eski")).status, 201);
  const { url, ca } = env.service;
  const headers = { ...env.auth, "content-length": "100000" };
  const broken = https.request(`${url}/v1/snapshots/${id}/files/a`, { method: "PUT", headers, ca, agent: false });
  broken.on("error", () => undefined);
  broken.write("neu".repeat(10_000));
  const { spool } = env.service.running.services?.snapshots ?? assert.fail("no services");
  await env.until(async () => (spool.usedBytes > 0 ? true : null));
  broken.destroy();
  await env.until(async () => (spool.usedBytes === 0 ? true : null));
  assert.equal((await files.complete(id)).status, 200);
  assert.equal(await files.read(id, "a"), "eski");
});

test("files spend no requests of the package", async () => {
  const id = await files.create("limits");
  const staff = await tokenFor(env.service, { as: "staff" });
  const json = { policy: "package", limit: 1, window_s: 60, burst: 2, reason: "test gerekçesi" };
  const limited = await env.service.send("POST", `/v1/admin/accounts/${env.accountId}/limits`, {
    json,
    headers: staff.auth,
  });
  assert.ok(limited.status < 300, limited.body.toString());
  for (let i = 0; i < 6; i++) assert.equal((await files.put(id, `f${i}`)).status, 201);
  const answers = await Promise.all(Array.from({ length: 4 }, () => env.get("/v1/account")));
  assert.ok(answers.some((answer) => codeOf(answer) === "429 rate_limited"));
});
