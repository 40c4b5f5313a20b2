import assert from "node:assert/strict";
import { after, test } from "node:test";
import { codeOf } from "../../agents/testing.ts";
import { eventsOf, snapshotTest } from "../testing.ts";

const env = await snapshotTest({ after }, { EMANET_LIMIT_SNAPSHOTS_CREATE: "12/60" });

interface Result {
  readonly index: number;
  readonly status: number;
  readonly snapshot?: { readonly id: string; readonly status: string; readonly source_created: boolean };
  readonly problem?: { readonly code: string; readonly errors?: readonly { readonly pointer: string }[] };
}

async function batch(items: readonly object[], headers: Readonly<Record<string, string>> = {}) {
  const call = { json: { items }, headers: { ...env.auth, ...headers } };
  const answer = await env.service.send("POST", "/v1/snapshots/batch", call);
  return { answer, results: (answer.json?.results ?? []) as readonly Result[] };
}

const statuses = (results: readonly Result[]) => results.map(({ status }) => status);
const unknown = "019a0000-0000-7000-8000-000000000000";

test("200: each item has its snapshot or its problem, and a refused one leaves nothing", async () => {
  const other = await env.as({ as: "client", kind: "api" });
  await env.service.send("POST", "/v1/snapshots", { json: { source: "bound" }, headers: other });
  const items = [
    { source: "a", label: "Gece", metadata: { host: "srv-1" } },
    { source: "b", taxpayer_id: unknown },
    { source: "bound" },
    { source: unknown },
    { source: "a" },
  ];
  const { answer, results } = await batch(items);
  assert.equal(answer.status, 200, answer.body.toString());
  assert.deepEqual(statuses(results), [201, 422, 403, 422, 201]);
  assert.deepEqual(
    results.map(({ index }) => index),
    [0, 1, 2, 3, 4],
  );
  assert.deepEqual([results[0]?.snapshot?.status, results[0]?.snapshot?.source_created], ["queued", true]);
  assert.equal(results[4]?.snapshot?.source_created, false);
  assert.equal(results[2]?.problem?.code, "writer_not_bound");
  assert.equal(results[3]?.problem?.errors?.[0]?.pointer, "/items/3/source");
  const sources = await env.rows<{ name: string }>(
    "select name from emanet.sources where account_id = $1 order by name",
    [env.accountId],
  );
  assert.deepEqual(
    sources.map(({ name }) => name),
    ["a", "bound"],
  );
  const shown = await env.get(`/v1/snapshots/${results[0]?.snapshot?.id}`);
  assert.deepEqual([shown.json?.label, shown.json?.metadata], ["Gece", { host: "srv-1" }]);
  assert.equal((await eventsOf(env)).length, 0, "nothing has started");
});

test("a repetition answers the same for what was created and tries again what may succeed now", async () => {
  const other = await env.as({ as: "client", kind: "api" });
  const made = await env.service.send("POST", "/v1/snapshots", { json: { source: "later" }, headers: other });
  const items = [{ source: "first" }, { source: "later" }, { source: "c", vault_id: unknown }];
  const key = { "idempotency-key": "gece-1" };
  const first = await batch(items, key);
  assert.deepEqual(statuses(first.results), [201, 403, 422]);
  assert.equal(first.answer.headers["idempotency-replayed"], undefined);
  const source = made.json?.source as { id: string } | undefined;
  await env.rows("update emanet.source_writers set writer_id = $2 where source_id = $1", [source?.id, env.clientId]);
  const second = await batch(items, key);
  assert.equal(second.answer.headers["idempotency-replayed"], "true");
  assert.deepEqual(statuses(second.results), [201, 201, 422]);
  assert.deepEqual(second.results[0], first.results[0]);
  const third = await batch(items, key);
  assert.deepEqual(third.results, second.results);
  const [row] = await env.rows<{ count: string }>(
    "select count(*) from emanet.snapshots s join emanet.sources o on o.id = s.source_id where o.name in ('first', 'later')",
  );
  assert.equal(Number(row?.count), 3, "the other client's, and one for each item");
  assert.equal(codeOf((await batch([{ source: "first" }], key)).answer), "422 idempotency_key_reused");
});

test("300 in one call spend one of the limits; more are refused, and so is what is no item", async () => {
  const before = Number((await env.get("/v1/rate-limits")).headers["x-ratelimit-remaining"]);
  assert.ok(before >= 0);
  const items = Array.from({ length: 300 }, (_, i) => ({ source: `many-${i % 5}` }));
  const { results, answer } = await batch(items);
  assert.deepEqual([...new Set(statuses(results))], [201]);
  assert.equal(new Set(results.map(({ snapshot }) => snapshot?.id)).size, 300);
  assert.ok(Number(answer.headers["x-ratelimit-remaining"]) > 0);
  assert.equal(codeOf((await batch([...items, { source: "x" }])).answer), "422 validation_failed");
  assert.equal(codeOf((await batch([])).answer), "422 validation_failed");
  assert.equal(codeOf((await batch([{ source: "x", size: 1 }])).answer), "422 validation_failed");
  // 400 uploads may be open: those that do not fit are refused one by one.
  const full = await batch(items);
  assert.ok(statuses(full.results).includes(201));
  assert.equal(full.results.at(-1)?.problem?.code, "quota_exceeded");
});

test("404 inside the result: a client that is held to vaults creates in no other", async () => {
  const [vault] = await env.rows<{ id: string }>("select id from emanet.vaults where account_id = $1", [env.accountId]);
  await env.rows("update emanet.oauth_clients set vault_ids = array[$2::uuid] where account_id = $1", [
    env.accountId,
    unknown,
  ]);
  const { results } = await batch([{ source: "a" }, { source: "a", vault_id: vault?.id }]);
  await env.rows("update emanet.oauth_clients set vault_ids = null where account_id = $1", [env.accountId]);
  assert.ok(
    statuses(results).every((status) => status === 404 || status === 422),
    JSON.stringify(results),
  );
});
