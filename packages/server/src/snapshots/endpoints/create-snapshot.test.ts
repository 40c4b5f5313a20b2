import assert from "node:assert/strict";
import { createHash, randomUUID } from "node:crypto";
import { readdir } from "node:fs/promises";
import path from "node:path";
import { after, describe, test } from "node:test";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { listIn, objectIn } from "../../testing/lists.ts";
import { auditOf, eventsOf, member, type SnapshotJson, snapshotTest, tarOf } from "../testing.ts";

const env = await snapshotTest({ after });
const { service, upload, get, send } = env;

async function spooledFiles(): Promise<readonly string[]> {
  const folder = path.join(service.dataDir, "spool", String(process.pid));
  return readdir(folder);
}

describe("one call", () => {
  test("201: a tar becomes a completed snapshot, with its events, its audit records and its source", async () => {
    const answer = await upload("source=ofis&label=Gece&trigger=schedule&external_reference=no-7");
    const made = answer.json as SnapshotJson;
    assert.equal(answer.status, 201, answer.body.toString());
    assert.equal(answer.headers.location, `/v1/snapshots/${made.id}`);
    assert.deepEqual(
      [made.status, made.label, made.trigger, made.external_reference, made.size_bytes, made.file_count],
      ["completed", "Gece", "schedule", "no-7", 7, 1],
    );
    assert.equal(made.source_created, true);
    assert.deepEqual(made.created_by, { kind: "client", id: env.clientId });
    const events = await eventsOf(env);
    const about = { snapshot_id: made.id };
    assert.deepEqual(
      events.map(({ event_id: _id, sequence: _n, created_at: _at, account_id: _a, ...own }) => own),
      [
        { event: "snapshot.started", ...about, source_id: made.source.id, trigger: "schedule" },
        { event: "snapshot.completed", ...about, size_bytes: 7 },
      ],
    );
    assert.deepEqual(await auditOf(env), [
      "source.created by client",
      "snapshot.created by client",
      "snapshot.completed by client",
    ]);
    const [source] = await env.rows("select last_snapshot_id, last_snapshot_status from emanet.sources where id = $1", [
      made.source.id,
    ]);
    assert.deepEqual(source, { last_snapshot_id: made.id, last_snapshot_status: "completed" });
    assert.deepEqual(await spooledFiles(), []);
  });

  test("snapshot.completed has the fields of the published payload among its own", async () => {
    const completed = (await eventsOf(env)).find(({ event }) => event === "snapshot.completed") ?? {};
    for (const name of ["event", "account_id", "snapshot_id", "size_bytes", "created_at"])
      assert.ok(name in completed, name);
  });

  test("the parent is the snapshot before it of the same source", async () => {
    const first = (await upload("source=nightly")).json as SnapshotJson;
    const second = (await upload("source=nightly")).json as SnapshotJson;
    assert.deepEqual([second.parent_id, second.source_created], [first.id, false]);
    assert.equal(second.root_hash, first.root_hash);
  });

  for (const [encoding, compress] of [
    ["gzip", gzipSync],
    ["zstd", zstdCompressSync],
  ] as const)
    test(`a tar that is compressed with ${encoding} gives the same snapshot`, async () => {
      const plain = (await upload("source=same")).json as SnapshotJson;
      const packed = await upload("source=same", compress(tarOf({ "a.txt": "merhaba" })), {
        "content-encoding": encoding,
      });
      assert.equal(packed.status, 201, packed.body.toString());
      assert.equal(packed.json?.root_hash, plain.root_hash);
    });

  test("with path the body is one file, whatever its type, with its time, mode and SHA-256", async () => {
    const content = '{"json": true}';
    const answer = await upload("source=tek&path=a/b/dosya.json", content, {
      "content-type": "application/json",
      "x-emanet-mtime": "1969-12-31T23:59:58.250Z",
      "x-emanet-mode": "0600",
    });
    assert.equal(answer.status, 201, answer.body.toString());
    const tree = await get(`/v1/snapshots/${answer.json?.id}/tree?path=a/b`);
    const [entry] = listIn<Record<string, unknown>>(tree, "data");
    assert.deepEqual(
      [entry?.path, entry?.mtime, entry?.mode, entry?.size_bytes, entry?.sha256],
      [
        "a/b/dosya.json",
        "1969-12-31T23:59:58.250000000Z",
        "0600",
        14,
        createHash("sha256").update(content).digest("hex"),
      ],
    );
    assert.equal((await get(`/v1/snapshots/${answer.json?.id}/files/a/b/dosya.json`)).body.toString(), content);
  });

  test("a path of any bytes is kept byte for byte, and tree, archive and file find it by these bytes alone", async () => {
    const one = { "content-type": "text/plain" };
    const answer = await upload("source=tek&path=%FFabc/f%FE%C5%9F", "bayt", one);
    assert.equal(answer.status, 201, answer.body.toString());
    const base = `/v1/snapshots/${answer.json?.id}`;
    assert.equal((await get(`${base}/files/%FFabc/f%FE%C5%9F`)).body.toString(), "bayt");
    const [entry] = listIn<Record<string, unknown>>(await get(`${base}/tree?path=%FFabc`), "data");
    const path = Buffer.concat([Buffer.from([0xff]), Buffer.from("abc/f"), Buffer.from([0xfe]), Buffer.from("ş")]);
    assert.deepEqual([entry?.name, entry?.path_base64], ["f\ufffdş", path.toString("base64")]);
    const archive = await get(`${base}/archive?path=%FFabc`);
    assert.ok(archive.status === 200 && archive.body.includes(path));
    // The same text, other bytes.
    for (const other of ["/tree?path=%FEabc", "/archive?path=%FEabc", "/files/%FEabc/f%FE%C5%9F"])
      assert.equal((await get(`${base}${other}`)).status, 404, other);
    for (const broken of ["%", "%FF%2", "%zz"])
      assert.equal((await get(`${base}/tree?path=${broken}`)).json?.code, "malformed_request", broken);
    const keyed = { ...one, "idempotency-key": "bayt" };
    assert.equal((await upload("source=tek&path=%FF", "x", keyed)).status, 201);
    assert.equal((await upload("source=tek&path=%FE", "x", keyed)).json?.code, "idempotency_key_reused");
    assert.equal((await upload("source=tek&path=%FF", "x", keyed)).headers["idempotency-replayed"], "true");
  });

  test("an empty file and an empty archive are snapshots", async () => {
    assert.equal((await upload("source=tek&path=empty", "")).json?.size_bytes, 0);
    assert.equal((await upload("source=tek", tarOf({}))).json?.file_count, 0);
  });

  test("a Content-Digest that fits is accepted, another is content_mismatch and leaves a failed snapshot", async () => {
    const body = tarOf({ a: "1" });
    const digest = (bytes: Uint8Array) => ({
      "content-digest": `sha-512=:AA==:, sha-256=:${createHash("sha256").update(bytes).digest("base64")}:`,
    });
    assert.equal((await upload("source=tek", body, digest(body))).status, 201);
    const refused = await upload("source=tek", body, digest(Buffer.from("other")));
    assert.deepEqual([refused.status, refused.json?.code], [422, "content_mismatch"]);
    const failed = await get(`/v1/snapshots/${refused.json?.snapshot_id}`);
    assert.equal(objectIn<{ code: string }>(failed, "failure").code, "content_mismatch");
  });
});

describe("refusals before the body leave nothing", () => {
  const countRows = async () =>
    (await env.rows<{ n: number }>("select count(*)::int as n from emanet.snapshots"))[0]?.n;
  const cases: readonly (readonly [string, number, string, string, Readonly<Record<string, string>>])[] = [
    ["no source", 422, "validation_failed", "", {}],
    [
      "a day that does not exist",
      400,
      "invalid_header",
      "source=x&path=a",
      { "x-emanet-mtime": "2026-02-30T00:00:00Z" },
    ],
    ["a time without a path", 400, "invalid_header", "source=x", { "x-emanet-mtime": "2026-11-16T09:30:00Z" }],
    ["a mode without a path", 400, "invalid_header", "source=x", { "x-emanet-mode": "0600" }],
    ["a path of broken encoding", 400, "malformed_request", "source=x&path=%F", {}],
    ["a source's name of two lines", 422, "validation_failed", "source=a%0Ab", {}],
    ["an unknown source id", 422, "validation_failed", `source=${randomUUID()}`, {}],
    ["an unknown vault", 422, "validation_failed", `source=x&vault_id=${randomUUID()}`, {}],
    ["a path that is absolute", 422, "validation_failed", "source=x&path=/etc/passwd", {}],
    ["a path with ..", 422, "validation_failed", "source=x&path=a/../b", {}],
    ["an unknown parameter", 400, "unknown_parameter", "source=x&colour=red", {}],
    ["another type", 415, "unsupported_media_type", "source=x", { "content-type": "text/plain" }],
    ["another coding", 415, "unsupported_media_type", "source=x", { "content-encoding": "br" }],
    ["a coded file", 415, "unsupported_media_type", "source=x&path=a", { "content-encoding": "gzip" }],
    ["no digest", 400, "invalid_header", "source=x&path=a", { "content-digest": "sha-256=:AAAA:" }],
    ["a part", 400, "invalid_header", "source=x&path=a", { "content-range": "bytes 0-1/2" }],
  ];
  for (const [what, status, code, query, headers] of cases)
    test(`${status} ${code}: ${what}`, async () => {
      const before = await countRows();
      const answer = await upload(query, undefined, headers);
      assert.deepEqual([answer.status, answer.json?.code], [status, code], answer.body.toString());
      assert.equal(answer.json?.snapshot_id, undefined);
      assert.equal(await countRows(), before);
    });

  test("403 writer_not_bound: another client does not write to the source", async () => {
    await upload("source=mine");
    const other = await env.as({ as: "client", kind: "api" });
    const answer = await upload("source=mine", undefined, other);
    assert.deepEqual([answer.status, answer.json?.code], [403, "writer_not_bound"]);
  });

  test("409 quota_exceeded: the vault's quota is used up", async () => {
    const [vault] = await env.rows<{ id: string }>(
      "update emanet.vaults set quota_bytes = stored_bytes where account_id = $1 returning id",
      [env.accountId],
    );
    const answer = await upload("source=full");
    await env.rows("update emanet.vaults set quota_bytes = null where id = $1", [vault?.id]);
    assert.deepEqual([answer.status, answer.json?.code, answer.json?.snapshot_id], [409, "quota_exceeded", undefined]);
  });
});

describe("until the first byte", () => {
  const expect = { expect: "100-continue" };

  test("nothing is written: a client that leaves before it leaves neither a source nor a writer", async () => {
    const open = env.openUpload("source=never", expect);
    await open.continued;
    const left = () => env.rows("select id from emanet.sources where name = 'never'");
    assert.deepEqual(await left(), []);
    open.destroy();
    await assert.rejects(open.answer);
    assert.deepEqual(await left(), []);
    const other = await upload("source=never", undefined, await env.as({ as: "client", kind: "api" }));
    assert.equal(other.status, 201, "the name is still free for every writer");
  });

  test("waiting uploads do not pass the limit of open ones together: the last place is taken once", async (t) => {
    await fillOpenUploads(399);
    const waiting = Array.from({ length: 6 }, () => env.openUpload("source=last-place", expect));
    t.after(async () => {
      for (const one of waiting) one.destroy();
      await emptyOpenUploads();
    });
    await Promise.all(waiting.map(({ continued }) => continued));
    const body = tarOf({ a: "x".repeat(100_000) });
    for (const one of waiting) one.write(body.subarray(0, 2_000));
    const open = () => env.rows("select 1 from emanet.snapshots where state in ('queued', 'running')");
    const refused = await env.until(async () => {
      const settled = await Promise.all(waiting.map(({ answer }) => Promise.race([answer, null])));
      const answers = settled.filter((answer) => answer !== null);
      return (await open()).length - 399 + answers.length >= waiting.length ? answers : null;
    });
    assert.deepEqual([(await open()).length, refused.length], [400, 5]);
    const problems = refused.map(({ status, body: problem }) => [status, JSON.parse(problem.toString())] as const);
    assert.deepEqual([...new Set(problems.map(([status, { code }]) => `${status} ${code}`))], ["409 quota_exceeded"]);
    assert.ok(problems.every(([, { snapshot_id: id }]) => id === undefined));
  });
});

/** Adds open uploads to the account. */
async function fillOpenUploads(count: number): Promise<void> {
  await env.rows(
    `insert into emanet.snapshots (id, account_id, vault_id, source_id, state, upload_kind, trigger, created_by_kind,
       created_by_id, is_write_only, created_at, active_at)
     select gen_random_uuid(), account_id, vault_id, source_id, 'queued', 'upload', 'api', 'client', created_by_id, false,
       created_at, active_at from emanet.snapshots cross join generate_series(1, $2) where account_id = $1 limit $2`,
    [env.accountId, count],
  );
}

function emptyOpenUploads() {
  return env.rows("update emanet.snapshots set state = 'canceled', failure_code = 'canceled' where state = 'queued'");
}

describe("a body without a byte", () => {
  for (const headers of [{}, { "content-encoding": "gzip" }])
    test(`422 invalid_archive, and no snapshot is left: ${JSON.stringify(headers)}`, async () => {
      const count = async () =>
        (await env.rows("select from emanet.snapshots where account_id = $1", [env.accountId])).length;
      const before = await count();
      const answer = await upload("source=nothing", Buffer.alloc(0), headers);
      assert.deepEqual([answer.status, answer.json?.code], [422, "invalid_archive"], answer.body.toString());
      assert.equal(listIn<{ code: string }>(answer, "errors")[0]?.code, "no_end_mark");
      assert.equal(answer.json?.snapshot_id, undefined);
      assert.equal(await count(), before);
    });
});

describe("failures after the first byte leave a failed snapshot, and nothing in the spool", () => {
  const half = tarOf({ "a.txt": "merhaba" }).subarray(0, 1024);
  const cases: readonly (readonly [string, Buffer, string, Readonly<Record<string, string>>])[] = [
    ["a tar without its end mark", half, "no_end_mark", {}],
    ["a tar that ends inside an entry", half.subarray(0, 700), "truncated", {}],
    ["what is no tar", Buffer.from("<html>".repeat(200)), "not_a_header", {}],
    ["a path that leaves the archive", tarOf({ "../a": "x" }), "unsafe_path", {}],
    ["a damaged gzip", gzipSync(half).subarray(0, 30), "damaged_compression", { "content-encoding": "gzip" }],
  ];
  for (const [what, body, reason, headers] of cases)
    test(`422 invalid_archive: ${what}`, async () => {
      const answer = await upload("source=broken", body, headers);
      assert.deepEqual([answer.status, answer.json?.code], [422, "invalid_archive"], answer.body.toString());
      const [error] = listIn<{ code: string }>(answer, "errors");
      assert.equal(error?.code, reason);
      const left = (await get(`/v1/snapshots/${answer.json?.snapshot_id}`)).json as SnapshotJson;
      assert.deepEqual([left.status, (left.failure as Record<string, unknown>).code], ["failed", "invalid_archive"]);
      assert.deepEqual(await spooledFiles(), []);
    });

  test("the error names the entry by its number, never by its path", async () => {
    const answer = await upload("source=broken", tarOf({ "gizli/ad": "1", "../gizli": "2" }));
    assert.equal(listIn<{ pointer: string }>(answer, "errors")[0]?.pointer, "/entries/1");
    assert.doesNotMatch(answer.body.toString(), /gizli/);
  });

  test("a failed upload is reported with snapshot.failed and its reason", async () => {
    const failed = (await eventsOf(env)).filter(({ event }) => event === "snapshot.failed");
    assert.ok(failed.length > 0 && failed.every(({ failure }) => typeof failure === "string"));
  });

  test("a quota that is reached midway fails the snapshot, and the content does not count as one", async () => {
    await env.rows("update emanet.vaults set quota_bytes = stored_bytes + 1000 where account_id = $1", [env.accountId]);
    const body = tarOf({ a: createHash("sha512").update("a").digest("hex").repeat(500) });
    const answer = await upload("source=big", body);
    await env.rows("update emanet.vaults set quota_bytes = null where account_id = $1", [env.accountId]);
    assert.deepEqual([answer.status, answer.json?.code], [409, "quota_exceeded"], answer.body.toString());
    const left = (await get(`/v1/snapshots/${answer.json?.snapshot_id}`)).json as SnapshotJson;
    assert.deepEqual([left.status, (left.failure as Record<string, unknown>).code], ["failed", "quota_exceeded"]);
  });

  test("a snapshot that is canceled while it is uploaded stays canceled", async () => {
    const body = tarOf({ a: "x".repeat(100_000) });
    const open = env.openUpload("source=canceled");
    open.write(body.subarray(0, 50_000));
    const { id } = await env.untilRunning("canceled");
    assert.equal((await send("POST", `/v1/snapshots/${id}/cancel`)).json?.status, "canceled");
    open.end(body.subarray(50_000));
    const answer = await open.answer;
    assert.deepEqual([answer.status, JSON.parse(answer.body.toString()).snapshot_id], [409, id]);
    const left = (await get(`/v1/snapshots/${id}`)).json as SnapshotJson;
    assert.deepEqual([left.status, (left.failure as Record<string, unknown>).code], ["canceled", "canceled"]);
    assert.equal(await env.inCatalog(id), false);
    const failures = (await eventsOf(env)).filter((event) => event.snapshot_id === id).map(({ event }) => event);
    assert.deepEqual(failures, ["snapshot.started", "snapshot.failed"]);
  });

  test("a client that leaves midway leaves a snapshot that was interrupted", async () => {
    const open = env.openUpload("source=gone");
    open.write(tarOf({ a: "x".repeat(100_000) }).subarray(0, 50_000));
    const { id } = await env.untilRunning("gone");
    open.destroy();
    const left = await env.until(async () => {
      const found = (await get(`/v1/snapshots/${id}`)).json as SnapshotJson;
      return found.status === "running" ? null : found;
    });
    assert.deepEqual([left.status, (left.failure as Record<string, unknown>).code], ["failed", "upload_interrupted"]);
    assert.deepEqual(await spooledFiles(), []);
  });
});

describe("with a JSON body", () => {
  test("201: the snapshot is queued, and no event is sent yet", async () => {
    const before = (await eventsOf(env)).length;
    const answer = await send("POST", "/v1/snapshots", { source: "adım adım", metadata: { host: "srv" } });
    assert.equal(answer.status, 201, answer.body.toString());
    assert.deepEqual([answer.json?.status, answer.json?.metadata], ["queued", { host: "srv" }]);
    assert.equal((await eventsOf(env)).length, before);
    const content = await get(`/v1/snapshots/${answer.json?.id}/tree`);
    assert.deepEqual([content.status, content.json?.code], [409, "state_conflict"]);
  });

  test("400: nothing of it may be in the query; 422: unknown members", async () => {
    assert.equal((await send("POST", "/v1/snapshots?label=x", { source: "a" })).json?.code, "unknown_parameter");
    assert.equal((await send("POST", "/v1/snapshots", { source: "a", status: "completed" })).status, 422);
  });

  test("409 quota_exceeded: 400 uploads are open", async () => {
    await fillOpenUploads(400);
    const answer = await send("POST", "/v1/snapshots", { source: "too many" });
    await emptyOpenUploads();
    assert.deepEqual([answer.status, answer.json?.code], [409, "quota_exceeded"]);
  });
});

describe("a client that only writes", () => {
  test("creates, and learns neither what it added nor what others have", async () => {
    const auth = await env.as({ as: "client", kind: "api", scopes: ["snapshots:write"] });
    const answer = await upload("source=write-only", undefined, auth);
    assert.equal(answer.status, 201, answer.body.toString());
    assert.equal(answer.json?.stored_bytes, undefined);
    for (const target of ["", `/${answer.json?.id}`, `/${answer.json?.id}/tree`, `/${answer.json?.id}/files/a.txt`]) {
      const read = await service.send("GET", `/v1/snapshots${target}`, { headers: auth });
      assert.deepEqual([read.status, read.json?.code], [403, "insufficient_scope"], target);
    }
  });

  test("stores again what another client has stored: it is not told that it is known", async () => {
    const body = tarOf({ "shared.bin": createHash("sha512").update("shared").digest("hex").repeat(200) });
    const first = (await upload("source=reader", body)).json as SnapshotJson;
    const auth = await env.as({ as: "client", kind: "api", scopes: ["snapshots:write"] });
    const second = await upload("source=writer", body, auth);
    const [row] = await env.rows<{ stored_bytes: number }>("select stored_bytes from emanet.snapshots where id = $1", [
      second.json?.id,
    ]);
    assert.ok((row?.stored_bytes ?? 0) > Number(first.stored_bytes) / 2, `${row?.stored_bytes}`);
    const again = (await upload("source=reader", body)).json as SnapshotJson;
    assert.ok(Number(again.stored_bytes) < Number(first.stored_bytes) / 2, `${again.stored_bytes}`);
  });
});

test("an Idempotency-Key makes one snapshot of two equal uploads", async () => {
  const key = { "idempotency-key": randomUUID() };
  const first = await upload("source=once", undefined, key);
  const again = await upload("source=once", undefined, key);
  assert.deepEqual([again.status, again.json?.id], [201, first.json?.id]);
  assert.equal(again.headers["idempotency-replayed"], "true");
  const other = await upload("source=once", tarOf({ b: "2" }), key);
  assert.deepEqual([other.status, other.json?.code], [422, "idempotency_key_reused"]);
});

test("the answer is recorded by the very commit that completes the snapshot: no crash separates the two", async () => {
  const first = await upload("source=recorded", undefined, { "idempotency-key": randomUUID() });
  assert.equal(first.status, 201, first.body.toString());
  const together = await env.rows(
    `select 1 from emanet.idempotency_keys k join emanet.audit_records a on a.xmin = k.xmin
     where a.action = 'snapshot.completed' and a.targets::text like $1`,
    [`%${first.json?.id}%`],
  );
  assert.equal(together.length, 1);
});

test("hard links, sparse files and odd members of an archive are warnings or files, as the archive says", async () => {
  const device = member({ name: "dev", type: "3" });
  const answer = await upload("source=odd", Buffer.concat([device, tarOf({ f: "1" })]));
  assert.deepEqual([answer.status, answer.json?.warning_count, answer.json?.file_count], [201, 1, 1]);
});
