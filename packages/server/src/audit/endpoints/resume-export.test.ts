import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { auditTest } from "../testing.ts";

const env = await auditTest({ after });
await env.act(3);

const formats = ["ndjson", "csv", "cef", "json"];

test("every part of an export joins to the whole, also of one that was never sent to its end", async () => {
  for (const format of formats) {
    const whole = await env.get(`/v1/audit/export?format=${format}`);
    const id = whole.headers["x-export-id"];
    // As if the first answer had been broken off.
    if (format === "csv")
      await env.rows(
        "update emanet.audit_exports set size_bytes = null, statement = null, identities = null where id = $1",
        [id],
      );
    env.service.clock.advance(60_000);
    const { length } = whole.body;
    const half = Math.floor(length / 2);
    const headers = { range: `bytes=${half}-`, "if-range": whole.headers.etag ?? "" };
    const rest = await env.get(`/v1/audit/export/${id}`, headers);
    assert.deepEqual([rest.status, rest.headers["content-range"]], [206, `bytes ${half}-${length - 1}/${length}`]);
    assert.equal(rest.headers["x-export-id"], id);
    assert.deepEqual(Buffer.concat([whole.body.subarray(0, half), rest.body]), whole.body, format);
    const tail = await env.get(`/v1/audit/export/${id}`, { range: "bytes=-10" });
    assert.deepEqual(tail.body, whole.body.subarray(-10));
    assert.equal((await env.get(`/v1/audit/export/${id}`, { range: `bytes=${length}-` })).status, 416);
  }
});

test("new records, later exports and their checkpoints change no byte of an older export", async () => {
  const whole = await env.get("/v1/audit/export");
  const id = whole.headers["x-export-id"];
  await env.act(2);
  const from = (
    await env.rows<{ at: Date }>(
      "select occurred_at as at from emanet.audit_records where seq = 2 and account_id = $1",
      [env.accountId],
    )
  )[0]?.at;
  env.service.clock.advance(60 * 60_000);
  assert.equal((await env.get(`/v1/audit/export?from=${from?.toISOString()}`)).status, 200);
  const again = await env.get(`/v1/audit/export/${id}`);
  assert.deepEqual([again.status, again.body, again.headers.etag], [200, whole.body, whole.headers.etag]);
});

test("a compressed export is resumed as compressed bytes", async () => {
  const zipped = { "accept-encoding": "gzip" };
  const whole = await env.get("/v1/audit/export", zipped);
  const id = whole.headers["x-export-id"];
  const headers = { ...zipped, range: "bytes=0-1", "if-range": whole.headers.etag ?? "" };
  const { ca, url } = env.service;
  const { sendHttp1 } = await import("../../testing/https.ts");
  const part = await sendHttp1(`${url}/v1/audit/export/${id}`, ca, {
    method: "GET",
    headers: { ...(await env.signIn()), ...headers },
  });
  assert.deepEqual([part.status, part.headers["content-encoding"], [...part.body]], [206, "gzip", [0x1f, 0x8b]]);
});

test("a changed name gives another ETag and the whole export instead of a part", async () => {
  const whole = await env.get("/v1/audit/export");
  const id = whole.headers["x-export-id"];
  await env.rows("update emanet.people set full_name = 'Yeni Ad' where account_id = $1", [env.accountId]);
  const answer = await env.get(`/v1/audit/export/${id}`, { range: "bytes=5-", "if-range": whole.headers.etag ?? "" });
  assert.equal(answer.status, 200);
  assert.notEqual(answer.headers.etag, whole.headers.etag);
  assert.ok(answer.body.includes("Yeni Ad"));
});

test("404: after 24 hours, an unknown one, and that of another account", async () => {
  const whole = await env.get("/v1/audit/export");
  const target = `/v1/audit/export/${whole.headers["x-export-id"]}`;
  const other = await tokenFor(env.service);
  assert.equal((await env.service.send("GET", target, { headers: other.auth })).status, 404);
  assert.equal((await env.get(`/v1/audit/export/${randomUUID()}`)).status, 404);
  env.service.clock.advance(24 * 60 * 60_000 - 1000);
  assert.equal((await env.get(target)).status, 200);
  env.service.clock.advance(1000);
  assert.equal((await env.get(target)).status, 404);
});
