import assert from "node:assert/strict";
import { after, test } from "node:test";
import { listIn } from "../../testing/lists.ts";
import { endMark, member, snapshotTest } from "../testing.ts";

const env = await snapshotTest({ after });

test("every warning is listed once, page by page, with the bytes of its path", async () => {
  const devices = Array.from({ length: 120 }, (_, i) =>
    member({ name: `dev/${String(i).padStart(3, "0")}`, type: "3" }),
  );
  const odd = member({ name: Buffer.from([0x66, 0x98]), type: "6" });
  const made = await env.upload("source=a", Buffer.concat([...devices, odd, endMark]));
  assert.equal(made.json?.warning_count, 121);
  const found: Record<string, unknown>[] = [];
  for (let cursor: unknown = ""; cursor !== null; ) {
    const query = `limit=50${cursor === "" ? "" : `&cursor=${cursor}`}`;
    const page = await env.get(`/v1/snapshots/${made.json?.id}/warnings?${query}`);
    assert.equal(page.status, 200, page.body.toString());
    found.push(...listIn<Record<string, unknown>>(page, "data"));
    cursor = page.json?.next_cursor;
  }
  assert.equal(new Set(found.map(({ path }) => path)).size, 121);
  assert.deepEqual(found[0], { path: "dev/000", code: "special_file" });
  assert.deepEqual(found.at(-1), { path: "f\ufffd", path_base64: "Zpg=", code: "special_file" });
});

test("a snapshot without warnings has an empty list; 409 before it is completed", async () => {
  const { id } = await env.completed("b", { f: "1" });
  assert.deepEqual((await env.get(`/v1/snapshots/${id}/warnings`)).json?.data, []);
  const open = await env.send("POST", "/v1/snapshots", { source: "c" });
  assert.equal((await env.get(`/v1/snapshots/${open.json?.id}/warnings`)).json?.code, "state_conflict");
});
