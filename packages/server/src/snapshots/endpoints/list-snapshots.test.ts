import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, describe, test } from "node:test";
import { listIn } from "../../testing/lists.ts";
import type { Sent } from "../../testing/running.ts";
import { type SnapshotJson, snapshotTest, tarOf } from "../testing.ts";

const env = await snapshotTest({ after });
const made: SnapshotJson[] = [];
for (const source of ["a", "b", "a"]) {
  made.push(await env.completed(source, { f: source }));
  env.service.clock.advance(60_000);
}
const failed = await env.upload("source=b&trigger=schedule", Buffer.from("no tar".repeat(100)));
const queued = await env.send("POST", "/v1/snapshots", { source: "c", trigger: "e_archive" });
const [vault] = await env.rows<{ id: string }>("select id from emanet.vaults where account_id = $1", [env.accountId]);

const ids = (answer: Sent) => {
  assert.equal(answer.status, 200, answer.body.toString());
  return listIn<SnapshotJson>(answer, "data").map(({ id }) => id);
};
const all = [...made.map(({ id }) => id), failed.json?.snapshot_id as string, queued.json?.id as string];

test("the newest come first, or the oldest; both spellings are one operation", async () => {
  assert.deepEqual(ids(await env.get("/v1/snapshots")), all.toReversed());
  assert.deepEqual(ids(await env.get("/snapshots?sort=created_at")), all);
});

test("pages lose and repeat nothing, also where times are equal", async () => {
  const found: string[] = [];
  for (let cursor: unknown = ""; cursor !== null; ) {
    const page = await env.get(`/v1/snapshots?limit=2${cursor === "" ? "" : `&cursor=${cursor}`}`);
    found.push(...ids(page));
    cursor = page.json?.next_cursor;
  }
  assert.deepEqual(found, all.toReversed());
});

describe("filters", () => {
  const [a1, b1, a2] = made;
  const cases: readonly (readonly [string, readonly (string | undefined)[]])[] = [
    ["status=completed", [a2?.id, b1?.id, a1?.id]],
    ["status=failed", [all[3]]],
    ["source=a", [a2?.id, a1?.id]],
    [`source=${b1?.source.id}`, [all[3], b1?.id]],
    ["source=unknown", []],
    [`vault_id=${vault?.id}&status=queued`, [all[4]]],
    [`vault_id=${randomUUID()}`, []],
    [`taxpayer_id=${randomUUID()}`, []],
    ["trigger=schedule", [all[3]]],
    [`created_after=${b1?.created_at}&created_before=${a2?.created_at}`, [b1?.id]],
  ];
  for (const [query, expected] of cases)
    test(query.replace(/[0-9a-f-]{36}/, "…"), async () => {
      assert.deepEqual(ids(await env.get(`/v1/snapshots?${query}`)), expected);
    });
});

test("400: an unknown filter, a cursor of another filter; 422: an unknown status", async () => {
  assert.equal((await env.get("/v1/snapshots?colour=red")).json?.code, "unknown_parameter");
  const cursor = (await env.get("/v1/snapshots?limit=1")).json?.next_cursor;
  assert.equal((await env.get(`/v1/snapshots?limit=1&status=failed&cursor=${cursor}`)).json?.code, "invalid_cursor");
  assert.equal((await env.get("/v1/snapshots?status=lost")).status, 422);
});

test("a client that is held to another vault, and another account, see none of them", async () => {
  const held = await env.as({ as: "client", kind: "api", vaultIds: [randomUUID()] });
  assert.deepEqual(ids(await env.service.send("GET", "/v1/snapshots", { headers: held })), []);
  const within = await env.as({ as: "client", kind: "api", vaultIds: [vault?.id ?? ""] });
  assert.equal(ids(await env.service.send("GET", "/v1/snapshots", { headers: within })).length, 5);
  const { tokenFor } = await import("../../testing/accounts.ts");
  const other = await tokenFor(env.service, { as: "client", kind: "api" });
  assert.deepEqual(ids(await env.service.send("GET", "/v1/snapshots", { headers: other.auth })), []);
});

test("60 lists and 10 creations a minute, over both spellings together", async (context) => {
  const limits = { EMANET_LIMIT_SNAPSHOTS_CREATE: "10/60", EMANET_LIMIT_SNAPSHOTS_CREATE_HOUR: "30/3600" };
  const limited = await snapshotTest({ after: (done) => context.after(done) }, limits);
  const statuses: number[] = [];
  for (let i = 0; i < 61; i++) statuses.push((await limited.get(i % 2 === 0 ? "/v1/snapshots" : "/snapshots")).status);
  assert.deepEqual([statuses.filter((status) => status === 200).length, statuses.at(-1)], [60, 429]);
  const create = async (path: string) =>
    limited.service.send("POST", `${path}?source=x`, { body: tarOf({}), headers: limited.auth });
  const answers: Sent[] = [];
  for (let i = 0; i < 11; i++) answers.push(await create(i % 2 === 0 ? "/v1/snapshots" : "/snapshots"));
  assert.deepEqual([...new Set(answers.slice(0, 10).map(({ status }) => status))], [201]);
  assert.deepEqual([answers[10]?.status, answers[10]?.json?.policy], [429, "snapshots_create"]);
});
