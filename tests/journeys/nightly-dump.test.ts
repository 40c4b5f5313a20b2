/** A folder with a dump is backed up every night as one tar archive. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { groupPages, PageGenerator, sqlServer } from "../../bench/ofis/content/pages.ts";
import { SeededRandom } from "../../bench/ofis/seeded-random.ts";
import { endMark, member, snapshotTest } from "../../packages/server/src/snapshots/testing.ts";
import { scaled } from "../../packages/server/src/testing/scale.ts";

const { pageBytes, headerBytes } = sqlServer;

/** 512 MB in the long form, 16 MB else. */
const pages = scaled(2048, 65_536);

/** Every 58th page: 1.72 %. Changed pages that are far from each other are the worst case. */
const changedEvery = 58;

/** Pages of an accounting program, or pages that nothing compresses behind their headers. */
const kinds = scaled(0, 1) === 1 ? (["rows", "incompressible"] as const) : (["incompressible"] as const);

/** Writes a page with new content. */
function pageWriter(kind: (typeof kinds)[number]): (page: Buffer, number: number, random: SeededRandom) => void {
  const generator = new PageGenerator(sqlServer, new SeededRandom(41, "tables"));
  if (kind === "rows") return (page, number, random) => generator.fill(page, number, random);
  return (page, number, random) => {
    sqlServer.header(page, number, Math.trunc(number / groupPages) % 8);
    random.bytes(pageBytes - headerBytes).copy(page, headerBytes);
  };
}

for (const kind of kinds)
  test(`the next night stores at most 2.5 % of a renamed dump of which 1.7 % of the pages were replaced (${kind})`, async () => {
    const env = await snapshotTest({ after });
    const write = pageWriter(kind);
    const bytes = Buffer.alloc(pages * pageBytes);
    const pageAt = (number: number) => bytes.subarray(number * pageBytes, (number + 1) * pageBytes);
    const random = new SeededRandom(41, "pages");
    for (let number = 0; number < pages; number++) write(pageAt(number), number, random);
    // A file before it grows, so that the dump begins at another place of the archive, at no multiple of the page size.
    const night = (name: string, grown: number) =>
      Buffer.concat([member({ name: "a.txt" }, "x".repeat(grown)), member({ name }, bytes), endMark]);
    const first = await env.upload("source=logo", night("LOGODB_20261115.bak", 100));
    assert.equal(first.status, 201, first.body.toString());
    const fresh = new SeededRandom(7, "fresh");
    for (let number = 1; number < pages; number += changedEvery) write(pageAt(number), number, fresh);
    const second = await env.upload("source=logo", night("LOGODB_20261116.bak", 5_000));
    assert.equal(second.status, 201, second.body.toString());
    const share = Number(second.json?.stored_bytes) / bytes.length;
    assert.ok(share <= 0.025, `${(share * 100).toFixed(2)} % of ${bytes.length} bytes`);
    const file = await env.get(`/v1/snapshots/${second.json?.id}/files/LOGODB_20261116.bak`);
    assert.ok(file.body.equals(bytes));
  });
