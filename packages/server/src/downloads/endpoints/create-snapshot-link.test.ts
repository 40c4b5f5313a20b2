import assert from "node:assert/strict";
import { createHash, randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { auditOf, endMark, member, snapshotTest } from "../../snapshots/testing.ts";
import { tokenFor } from "../../testing/accounts.ts";
import { makeLink } from "../testing.ts";

const env = await snapshotTest({ after });
const made = await env.upload(
  "source=links",
  Buffer.concat([
    member({ name: "d/a.txt" }, "merhaba"),
    member({ name: Buffer.from([0x66, 0x98]) }, "bytes"),
    member({ name: "d/link", type: "2", linkName: "a.txt" }),
    endMark,
  ]),
);
const id = String(made.json?.id);
const target = `/v1/snapshots/${id}/download-link`;

test("201: a link under the public address, for five minutes; no secret is stored", async () => {
  const answer = await env.send("POST", target, { path: "d/a.txt" });
  assert.equal(answer.status, 201);
  const { url, expires_at: expiresAt } = answer.json as { url: string; expires_at: string };
  assert.match(url, new RegExp(`^${env.service.url}/v1/downloads/[A-Za-z0-9_-]{43}$`));
  assert.equal(new Date(expiresAt).getTime() - env.service.clock.now().getTime(), 5 * 60_000);
  const token = url.split("/").at(-1) ?? "";
  const [row] = await env.rows<Record<string, unknown>>("select * from emanet.download_links where snapshot_id = $1", [
    id,
  ]);
  const stored = JSON.stringify(row, (_, value: unknown) => (Buffer.isBuffer(value) ? value.toString("hex") : value));
  for (const form of [
    token,
    Buffer.from(token, "base64url").toString("hex"),
    createHash("sha256").update(token).digest("hex"),
  ])
    assert.ok(!stored.includes(form));
  assert.ok((await auditOf(env)).includes("download_link.created by client"));
});

test("a name that is not UTF-8 is given as base64; links and directories are archives", async () => {
  const bytes = await env.service.send("GET", await makeLink(env, id, { path: { base64: "Zpg=" } }));
  assert.equal(bytes.body.toString(), "bytes");
  for (const path of ["d", "d/link", "d/a.txt"]) {
    const answer = await env.service.send("GET", await makeLink(env, id, { path, format: "zip" }));
    assert.deepEqual([answer.status, answer.headers["content-type"]], [200, "application/zip"], path);
  }
  const whole = await env.service.send("GET", await makeLink(env, id));
  const archive = await env.get(`/v1/snapshots/${id}/archive`);
  assert.ok(whole.body.equals(archive.body));
  assert.equal(whole.headers["content-disposition"], `attachment; filename="${id}.tar"`);
});

test("404: a path or a snapshot that is not there, another account's, one of another vault; 422: a wrong body", async () => {
  for (const path of ["yok", "d/a.txt/x", "../d", "d//a.txt"])
    assert.equal((await env.send("POST", target, { path })).status, 404, path);
  assert.equal((await env.send("POST", `/v1/snapshots/${randomUUID()}/download-link`, {})).status, 404);
  const other = await tokenFor(env.service, { as: "client", kind: "api" });
  assert.equal((await env.service.send("POST", target, { json: {}, headers: other.auth })).status, 404);
  const held = await env.as({ as: "client", kind: "api", vaultIds: [randomUUID()] });
  assert.equal((await env.service.send("POST", target, { json: {}, headers: held })).status, 404);
  for (const body of [{ format: "rar" }, { path: "" }, { path: { base64: "!" } }, { url: "x" }])
    assert.equal((await env.send("POST", target, body)).status, 422, JSON.stringify(body));
});

test("409 and 410 by the state of the snapshot; a suspended account gets its link", async () => {
  const { json } = await env.upload("source=states");
  for (const [state, status] of [
    ["expired", 410],
    ["running", 409],
  ] as const) {
    await env.rows("update emanet.snapshots set state = $2, expired_at = now() where id = $1", [json?.id, state]);
    assert.equal((await env.send("POST", `/v1/snapshots/${json?.id}/download-link`, {})).status, status);
  }
  await env.rows("update emanet.accounts set state = 'suspended' where id = $1", [env.accountId]);
  try {
    const answer = await env.service.send("GET", await makeLink(env, id, { path: "d/a.txt" }));
    assert.equal(answer.body.toString(), "merhaba");
  } finally {
    await env.rows("update emanet.accounts set state = 'active' where id = $1", [env.accountId]);
  }
});

test("403: an auditor, and a client that only writes", async () => {
  for (const wanted of [{ role: "auditor" }, { as: "client", kind: "api", scopes: ["snapshots:write"] }] as const) {
    const headers = await env.as(wanted);
    assert.equal((await env.service.send("POST", target, { json: {}, headers })).status, 403);
  }
});
