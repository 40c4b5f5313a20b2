import assert from "node:assert/strict";
import { after, test } from "node:test";
import { codeOf } from "../../agents/testing.ts";
import { snapshotTest } from "../../snapshots/testing.ts";
import { fileTest, nothingLeft } from "../testing.ts";

const env = await snapshotTest({ after });
const files = fileTest(env);

test("201 with the same URL; HEAD has the offset, and before it is 404", async () => {
  const id = await files.create("a");
  assert.equal((await files.head(id, "d/%98")).status, 404);
  const begun = await files.begin(id, "d/%98", 100);
  assert.deepEqual([begun.status, begun.headers["tus-resumable"]], [201, "1.0.0"]);
  assert.equal(begun.headers.location, `/v1/snapshots/${id}/files/d/%98`);
  const head = await files.head(id, "d/%98");
  assert.deepEqual(
    [head.status, head.headers["upload-offset"], head.headers["upload-length"], head.headers["cache-control"]],
    [200, "0", "100", "no-store"],
  );
  assert.equal((await env.get(`/v1/snapshots/${id}`)).json?.status, "queued", "no byte has come");
});

test("an empty file is whole at once", async () => {
  const id = await files.create("empty");
  assert.equal((await files.begin(id, "a", 0)).status, 201);
  const head = await files.head(id, "a");
  assert.deepEqual([head.headers["upload-offset"], head.headers["upload-length"]], ["0", "0"]);
  assert.equal((await files.complete(id)).json?.file_count, 1);
});

test("begun again, a file starts at 0; sent whole, it takes the place of the parts", async () => {
  const id = await files.create("again");
  await files.begin(id, "a", 10);
  assert.equal((await files.patch(id, "a", 0, "12345")).status, 204);
  await files.begin(id, "a", 3);
  assert.equal((await files.head(id, "a")).headers["upload-offset"], "0");
  assert.equal((await files.put(id, "a", "whole")).status, 201);
  assert.equal((await files.head(id, "a")).headers["upload-offset"], "5");
  assert.equal(codeOf(await files.patch(id, "a", 0, "123")), "404 not_found");
  assert.equal((await files.complete(id)).status, 200);
  assert.equal(await files.read(id, "a"), "whole");
});

test("nothing is left of the parts that a file came in before it was begun again or sent whole", async () => {
  const id = await files.create("parts");
  /** A stripe that is stored of the file: as many bytes as a test does not send. */
  const storeStripe = () =>
    env.rows(
      `insert into emanet.snapshot_file_parts (snapshot_id, account_id, content_id, part, content)
       select snapshot_id, account_id, content_id, 0, '\\x00' from emanet.file_uploads where snapshot_id = $1`,
      [id],
    );
  const stripes = async () =>
    (await env.rows("select from emanet.snapshot_file_parts where snapshot_id = $1 and content = '\\x00'", [id]))
      .length;
  await files.begin(id, "a", 100_000_000);
  await storeStripe();
  assert.equal(await stripes(), 1);
  await files.begin(id, "a", 10);
  assert.equal(await stripes(), 0);
  await storeStripe();
  await files.put(id, "a", "whole");
  assert.equal(await stripes(), 0);
});

test("409: the snapshot is not completed while a file has not come to its end; canceled, nothing is left", async () => {
  const id = await files.create("unfinished");
  await files.begin(id, "a", 10);
  await files.patch(id, "a", 0, "12345");
  const answer = await files.complete(id);
  assert.deepEqual([codeOf(answer), answer.json?.reason], ["409 state_conflict", "unfinished_file"]);
  await env.send("POST", `/v1/snapshots/${id}/cancel`);
  await files.settle();
  assert.deepEqual(await files.left(id), nothingLeft);
});

test("400, 409, 412, 422: what is no beginning of a file", async () => {
  const id = await files.create("wrong");
  await files.put(id, "d/a");
  assert.equal(codeOf(await files.begin(id, "d", 5)), "409 state_conflict");
  assert.equal(codeOf(await files.begin(id, "d/a/b", 5)), "409 state_conflict");
  assert.equal(codeOf(await files.begin(id, "%2E%2E/a", 5)), "422 validation_failed");
  assert.equal(codeOf(await files.begin(id, "a", 2 ** 41)), "400 invalid_header");
  assert.equal(codeOf(await files.begin(id, "a", 5, { "tus-resumable": "0.2.2" })), "412 precondition_failed");
  const { service, auth: headers } = env;
  const target = `/v1/snapshots/${id}/files/a`;
  assert.equal(codeOf(await service.send("POST", target, { headers })), "400 invalid_header");
  const { id: done } = await files.completed("done", { a: "1" });
  assert.equal(codeOf(await files.begin(done, "b", 5)), "409 state_conflict");
  const other = await env.as({ as: "client", kind: "api" });
  const call = { headers: { ...other, "upload-length": "5" } };
  assert.equal(codeOf(await service.send("POST", target, call)), "404 not_found");
});

test("a client that only writes asks for its own offsets, and for nothing else", async () => {
  const writer = await env.as({ as: "client", kind: "api", scopes: ["snapshots:write"] });
  const made = await env.service.send("POST", "/v1/snapshots", { json: { source: "writer" }, headers: writer });
  const target = `/v1/snapshots/${made.json?.id}/files/a`;
  await env.service.send("POST", target, { headers: { ...writer, "upload-length": "5" } });
  const head = await env.service.send("HEAD", target, { headers: writer });
  assert.deepEqual([head.status, head.headers["upload-offset"]], [200, "0"]);
  assert.equal((await env.service.send("GET", target, { headers: writer })).status, 403);
  const { id } = await files.completed("readable", { a: "1" });
  const read = `/v1/snapshots/${id}/files/a`;
  assert.equal((await env.service.send("HEAD", read, { headers: writer })).status, 404);
  assert.equal((await env.service.send("HEAD", read, { headers: env.auth })).status, 200);
  const open = await files.create("others");
  await files.begin(open, "a", 5);
  assert.equal((await env.service.send("HEAD", `/v1/snapshots/${open}/files/a`, { headers: writer })).status, 404);
});
