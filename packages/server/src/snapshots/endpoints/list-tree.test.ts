import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { extendedHeader } from "../../archives/testing.ts";
import { endMark, member, snapshotTest } from "../testing.ts";

const env = await snapshotTest({ after });
const names = Array.from({ length: 250 }, (_, i) => `f${String(i).padStart(4, "0")}`);
const longName = "n".repeat(300);
const made = await env.upload(
  "source=tree",
  Buffer.concat([
    ...names.map((name) => member({ name: `many/${name}`, mode: 0o640 }, name)),
    member({ name: Buffer.concat([Buffer.from("odd/a"), Buffer.from([0x98])]), mtime: 1_700_000_000 }, "x"),
    member({ name: "odd/link", type: "2", linkName: "../many" }),
    ...["1", "2", "3"].flatMap((end) => [
      extendedHeader({ path: `long/${longName}${end}` }),
      member({ name: "s" }, end),
    ]),
    member({ name: "long/z" }, "z"),
    ...["1", "2"].map((end) => member({ name: Buffer.concat([Buffer.from([0xff]), Buffer.from(`d/${end}`)]) }, end)),
    endMark,
  ]),
);
const tree = `/v1/snapshots/${made.json?.id}/tree`;

interface Page {
  readonly data: readonly Readonly<Record<string, unknown>>[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

async function page(query: string): Promise<Page> {
  const answer = await env.get(`${tree}?${query}`);
  assert.equal(answer.status, 200, answer.body.toString());
  return answer.json as unknown as Page;
}

/** All names of a directory, page by page. */
async function walked(path: string, limit: number): Promise<unknown[]> {
  const found: unknown[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const one = await page(`path=${path}&limit=${limit}${cursor === "" ? "" : `&cursor=${cursor}`}`);
    assert.ok(one.data.length <= limit);
    found.push(...one.data.map(({ name }) => name));
    cursor = one.next_cursor;
  }
  return found;
}

test("the root and a directory are listed in byte order, with what a backup keeps", async () => {
  const { data } = await page("");
  assert.deepEqual(
    data.map(({ name, type, size_bytes }) => [name, type, size_bytes]),
    [
      ["long", "directory", 4],
      ["many", "directory", 1250],
      ["odd", "directory", 1],
      ["\ufffdd", "directory", 2],
    ],
  );
  const [odd, link] = (await page("path=odd")).data;
  assert.deepEqual(
    [odd?.name, odd?.name_base64, odd?.path_base64, odd?.mtime, odd?.mode],
    ["a\ufffd", "YZg=", "b2RkL2GY", "2023-11-14T22:13:20Z", "0644"],
  );
  assert.deepEqual([link?.type, link?.link_target, link?.hash, link?.size_bytes], ["link", "../many", null, null]);
});

test("pages of any size give every entry once", async () => {
  for (const limit of [1000, 100, 7]) assert.deepEqual(await walked("many", limit), names, `${limit}`);
  assert.equal((await page("path=many")).data.length, 100);
});

test("names that are longer than a cursor are not lost between pages", async () => {
  assert.deepEqual(await walked("long", 1), [`${longName}1`, `${longName}2`, `${longName}3`, "z"]);
});

test("404: a file, a missing path, a missing snapshot; 400: a cursor of another directory", async () => {
  for (const path of ["many/f0001", "yok", "many/f0001/x", "/many", "many/"])
    assert.equal((await env.get(`${tree}?path=${path}`)).status, 404, path);
  assert.equal((await env.get(`/v1/snapshots/${randomUUID()}/tree`)).status, 404);
  const { next_cursor: cursor } = await page("path=many&limit=5");
  assert.equal((await env.get(`${tree}?path=long&cursor=${cursor}`)).json?.code, "invalid_cursor");
  assert.equal((await env.get(`${tree}?limit=1001`)).status, 422);
  const { next_cursor: odd } = await page("path=%FFd&limit=1");
  assert.equal((await env.get(`${tree}?path=%FEd&cursor=${odd}`)).json?.code, "invalid_cursor", "the same text");
  assert.equal((await env.get(`${tree}?path=%FFd&cursor=${odd}`)).status, 200);
});
