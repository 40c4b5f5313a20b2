import assert from "node:assert/strict";
import { after, test } from "node:test";
import { auditOf, snapshotTest } from "../testing.ts";

const env = await snapshotTest({ after });
const { id } = await env.completed("ofis", { a: "1" });
const path = `/v1/snapshots/${id}`;

test("200: label and metadata change alone and together, and are audited", async () => {
  const first = await env.send("PATCH", path, { label: "Ay sonu", metadata: { dönem: "2026-10" } });
  assert.deepEqual([first.status, first.json?.label, first.json?.metadata], [200, "Ay sonu", { dönem: "2026-10" }]);
  const second = await env.send("PATCH", path, { label: null });
  assert.deepEqual([second.json?.label, second.json?.metadata], [null, { dönem: "2026-10" }]);
  assert.equal((await auditOf(env)).filter((action) => action.startsWith("snapshot.updated")).length, 2);
});

test("412 with an old ETag; the answer has the new one", async () => {
  // The verification in the background changes the snapshot too.
  await env.until(async () => ((await env.get(path)).json?.verified_at === null ? null : true));
  const { etag } = (await env.get(path)).headers;
  const patch = (ifMatch: string) =>
    env.service.send("PATCH", path, { json: { label: "x" }, headers: { ...env.auth, "if-match": ifMatch } });
  const changed = await patch(etag ?? "");
  assert.equal(changed.status, 200);
  assert.equal((await patch(etag ?? "")).status, 412);
  assert.equal((await patch(changed.headers.etag ?? "")).status, 200);
});

test("422: what is too long, too much or not changeable", async () => {
  const many = Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`k${i}`, "v"]));
  for (const body of [
    { label: "x".repeat(201) },
    { label: "" },
    { metadata: many },
    { metadata: { a: "v".repeat(501) } },
    { status: "failed" },
  ])
    assert.equal((await env.send("PATCH", path, body)).status, 422, JSON.stringify(body).slice(0, 50));
});

test("404: a client that only writes changes nothing of others", async () => {
  const headers = await env.as({ as: "client", kind: "api", scopes: ["snapshots:write"] });
  const answer = await env.service.send("PATCH", path, { json: { label: "mine" }, headers });
  assert.equal(answer.status, 404);
  const own = await env.upload("source=own", undefined, headers);
  const changed = await env.service.send("PATCH", `/v1/snapshots/${own.json?.id}`, {
    json: { label: "mine" },
    headers,
  });
  assert.deepEqual([changed.status, changed.json?.label, changed.json?.stored_bytes], [200, "mine", undefined]);
});
