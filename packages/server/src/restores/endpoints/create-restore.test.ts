import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { auditOf, eventsOf, snapshotTest } from "../../snapshots/testing.ts";
import { tokenFor } from "../../testing/accounts.ts";
import { listIn } from "../../testing/lists.ts";
import { endedRestore, startRestore } from "../testing.ts";

const env = await snapshotTest({ after }, { EMANET_LIMIT_RESTORE_CREATE: "1000/3600" });
const snapshot = await env.completed("create", { "d/a.txt": "merhaba", b: "2" });
const target = { kind: "download", format: "tar" };

test("202: accepted, with its events, its audit records and its path", async () => {
  const id = await startRestore(env, { snapshot_id: snapshot.id, paths: ["d"], target: { ...target, format: "zip" } });
  const ended = await endedRestore(env, id);
  assert.deepEqual(
    [ended.status, ended.snapshot_id, ended.vault_id, ended.target, ended.paths, ended.path_count, ended.on_damage],
    ["completed", snapshot.id, snapshot.vault_id, { kind: "download", format: "zip" }, ["d"], 1, "fail"],
  );
  const events = (await eventsOf(env)).filter((event) => event.restore_id === id);
  assert.deepEqual(
    events.map(({ event, snapshot_id: of, files_restored: files, bytes_restored: bytes, warning_count: warnings }) => [
      ...[event, of, files, bytes, warnings],
    ]),
    [
      ["restore.started", snapshot.id, undefined, undefined, undefined],
      ["restore.completed", snapshot.id, 1, 7, 0],
    ],
  );
  const audit = await auditOf(env);
  assert.deepEqual(audit.slice(-2), ["restore.created by client", "restore.completed by system"]);
});

test("422: a path that is not there, no path, another target, another format, an unknown field", async () => {
  const wrong: readonly (readonly [object, string])[] = [
    [{ paths: ["d/a.txt", "yok"] }, "/paths/1"],
    [{ paths: ["../b"] }, "/paths/0"],
    [{ paths: [] }, "/paths"],
    [{ target: { kind: "storage", connection_id: randomUUID(), prefix: "x" } }, ""],
    [{ target: { kind: "download", format: "rar" } }, ""],
    [{ on_damage: "ignore" }, ""],
    [{ to: "x" }, ""],
  ];
  for (const [more, pointer] of wrong) {
    const answer = await env.send("POST", "/v1/restore", { snapshot_id: snapshot.id, target, ...more });
    assert.equal(answer.status, 422, JSON.stringify(more));
    const [first] = listIn<{ pointer: string }>(answer, "errors");
    assert.ok(first?.pointer.startsWith(pointer), String(first?.pointer));
  }
});

test("404: a snapshot that is not there, another account's, one of another vault; 409 and 410 by state", async () => {
  const post = (id: unknown, headers: Readonly<Record<string, string>>) =>
    env.service.send("POST", "/v1/restore", { json: { snapshot_id: id, target }, headers });
  assert.equal((await post(randomUUID(), env.auth)).status, 404);
  const other = await tokenFor(env.service, { as: "client", kind: "api" });
  assert.equal((await post(snapshot.id, other.auth)).status, 404);
  const held = await env.as({ as: "client", kind: "api", vaultIds: [randomUUID()] });
  assert.equal((await post(snapshot.id, held)).status, 404);
  const { json } = await env.upload("source=states");
  for (const [state, status] of [
    ["expired", 410],
    ["running", 409],
  ] as const) {
    await env.rows("update emanet.snapshots set state = $2, expired_at = now() where id = $1", [json?.id, state]);
    assert.equal((await post(json?.id, env.auth)).status, status);
  }
});

test("403: a viewer, and a client without the scope; a suspended account restores", async () => {
  const json = { snapshot_id: snapshot.id, target };
  for (const wanted of [{ role: "viewer" }, { as: "client", kind: "api", scopes: ["restores:read"] }] as const) {
    const headers = await env.as(wanted);
    assert.equal((await env.service.send("POST", "/v1/restore", { json, headers })).status, 403);
  }
  await env.rows("update emanet.accounts set state = 'suspended' where id = $1", [env.accountId]);
  try {
    const { id, status } = await endedRestore(env, await startRestore(env, json));
    assert.equal(status, "completed");
    const link = await env.send("POST", `/v1/restore/${id}/download-link`);
    assert.equal((await env.service.send("GET", new URL(String(link.json?.url)).pathname)).status, 200);
  } finally {
    await env.rows("update emanet.accounts set state = 'active' where id = $1", [env.accountId]);
  }
});

test("429: the eleventh in an hour", async (t) => {
  const limited = await snapshotTest(t);
  const { id } = await limited.completed("limit", { a: "1" });
  const statuses: number[] = [];
  for (let count = 0; count < 11; count++) {
    const answer = await limited.send("POST", "/v1/restore", { snapshot_id: id, target });
    statuses.push(answer.status);
    if (answer.status === 429) assert.equal(answer.json?.policy, "restore_create");
  }
  assert.deepEqual(statuses, [...Array.from({ length: 10 }, () => 202), 429]);
});
