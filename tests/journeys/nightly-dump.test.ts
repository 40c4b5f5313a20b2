/** A folder with a dump is backed up every night as one tar archive. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { SeededRandom } from "../../packages/engine/src/testing/random-tree.ts";
import { endMark, member, snapshotTest } from "../../packages/server/src/snapshots/testing.ts";
import { scaled } from "../../packages/server/src/testing/scale.ts";
import { dump, pageBytes } from "../engine/testing/dump.ts";

/** 512 MB in the long form, 16 MB else. */
const pages = scaled(2048, 65_536);
const changedShare = 0.017;

test("the next night stores at most 2.5 % of a renamed dump of which 1.7 % of the pages changed", async () => {
  const env = await snapshotTest({ after });
  const bytes = dump(new SeededRandom(41), pages);
  const night = (name: string) =>
    // A file of another length before it, so that the dump begins at another place of the archive.
    Buffer.concat([member({ name: "a.txt" }, name), member({ name: `${name}.bak` }, bytes), endMark]);
  const first = await env.upload("source=logo", night("LOGODB_20261115"));
  assert.equal(first.status, 201, first.body.toString());
  const random = new SeededRandom(7);
  for (let page = 0; page < pages; page += Math.floor(1 / changedShare))
    random.bytes(pageBytes - 96).copy(bytes, page * pageBytes + 96);
  const second = await env.upload("source=logo", night("LOGODB_20261116_ikinci"));
  const share = Number(second.json?.stored_bytes) / bytes.length;
  assert.ok(share <= 0.025, `${(share * 100).toFixed(2)} % of ${bytes.length} bytes`);
  const file = await env.get(`/v1/snapshots/${second.json?.id}/files/LOGODB_20261116_ikinci.bak`);
  assert.ok(file.body.equals(bytes));
});
