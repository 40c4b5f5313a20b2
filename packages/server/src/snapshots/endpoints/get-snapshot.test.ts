import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { objectIn } from "../../testing/lists.ts";
import { snapshotTest } from "../testing.ts";

const env = await snapshotTest({ after });

test("200: a snapshot has every published field; both spellings answer the same", async () => {
  const made = await env.completed("ofis", { a: "1" });
  // The verification in the background changes the snapshot.
  const answer = await env.until(async () => {
    const found = await env.get(`/v1/snapshots/${made.id}`);
    return found.json?.verified_at === null ? null : found;
  });
  assert.deepEqual(Object.keys(answer.json ?? {}), [
    ...[
      "id",
      "account_id",
      "vault_id",
      "source",
      "label",
      "trigger",
      "status",
      "size_bytes",
      "stored_bytes",
      "file_count",
    ],
    ...["warning_count", "root_hash", "parent_id", "failure", "verified_at", "retention", "metadata"],
    ...["external_reference", "created_by", "created_at", "started_at", "completed_at", "version", "verification"],
  ]);
  const other = await env.get(`/snapshots/${made.id}`);
  assert.deepEqual(other.json, answer.json);
  assert.equal((await env.get(`/v1/snapshots/${made.id}`, { "if-none-match": answer.headers.etag ?? "" })).status, 304);
});

test("the failure of a snapshot is told in the language of the request", async () => {
  const failed = await env.upload("source=x", Buffer.from("no tar".repeat(100)));
  const path = `/v1/snapshots/${failed.json?.snapshot_id}`;
  const detail = async (language: string) =>
    objectIn<{ detail: string }>(await env.get(path, { "accept-language": language }), "failure").detail;
  assert.match(await detail("en"), /no tar archive/);
  assert.match(await detail("tr"), /tar arşivi değil/);
});

test("404: an unknown snapshot, another account's, a vault that the client is not held to", async () => {
  const { id } = await env.completed("ofis", { a: "1" });
  assert.equal((await env.get(`/v1/snapshots/${randomUUID()}`)).status, 404);
  const { tokenFor } = await import("../../testing/accounts.ts");
  const other = await tokenFor(env.service, { as: "client", kind: "api" });
  const held = await env.as({ as: "client", kind: "api", vaultIds: [randomUUID()] });
  for (const headers of [other.auth, held])
    assert.equal((await env.service.send("GET", `/v1/snapshots/${id}`, { headers })).status, 404);
});
