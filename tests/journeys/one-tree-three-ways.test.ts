/**
 * One tree is sent file by file, one request after the other, then as a zip and as a tar. All three are the same snapshot.
 * `npm run test:heavy` sends 10 000 files.
 */

import assert from "node:assert/strict";
import { createCipheriv, createHash } from "node:crypto";
import { after, test } from "node:test";
import { tarEnd, tarHeaderOf, tarPaddingOf, type ZipMember, zipOf } from "../../packages/server/src/archives/index.ts";
import { receive, seenIn, testSpool } from "../../packages/server/src/archives/testing.ts";
import { fileTest } from "../../packages/server/src/files/testing.ts";
import { snapshotTest } from "../../packages/server/src/snapshots/testing.ts";
import { scaled } from "../../packages/server/src/testing/scale.ts";

const count = scaled(200, 10_000);

/** Whole seconds, which every kind of archive keeps. */
const firstMtime = 1_700_000_000;
const modes = [0o644, 0o600, 0o755, 0o640] as const;
const folders = ["2026/01/satış", "2026/01/alış", "2026/12/derin/daha derin/en derin", "İşletme %20"] as const;

interface TreeFile {
  readonly path: string;
  readonly content: Buffer;
  readonly mode: number;
  readonly mtimeSeconds: number;
}

/** About 6 KB of lines and of bytes that do not compress; one of a hundred is large, one is empty, one repeats the one before. */
function contentOf(index: number): Buffer {
  if (index % 100 === 7) return Buffer.alloc(0);
  const seed = index % 100 === 8 ? index - 2 : index;
  const size = index % 100 === 9 ? 300_000 : 3_000 + ((seed * 37) % 5_000);
  const key = Buffer.alloc(16);
  key.writeUInt32LE(seed);
  const noise = createCipheriv("aes-128-ctr", key, Buffer.alloc(16)).update(Buffer.alloc(size >> 1));
  return Buffer.concat([Buffer.from(`120.01.${seed};satış;${seed * 7}\n`.repeat(size)).subarray(0, size >> 1), noise]);
}

const tree: readonly TreeFile[] = Array.from({ length: count }, (_, index) => ({
  path: `${folders[index % folders.length]}/fatura-${String(index).padStart(6, "0")}.xml`,
  content: contentOf(index),
  mode: modes[index % modes.length] ?? 0o644,
  mtimeSeconds: firstMtime + index * 61,
}));

const memberOf = ({ path, content, mode, mtimeSeconds }: TreeFile): ZipMember & { type: "file" } => ({
  ...{ type: "file", path: Buffer.from(path), size: content.length, mode, mtimeSeconds, mtimeNanos: 0, uid: 0, gid: 0 },
});

function tarOfTree(): Buffer {
  const members = tree.flatMap((file) => [
    tarHeaderOf({ ...memberOf(file), target: null }),
    file.content,
    tarPaddingOf(file.content.length),
  ]);
  return Buffer.concat([...members, tarEnd]);
}

async function zipOfTree(): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  const source = {
    async *contents() {
      for (const file of tree) yield { member: memberOf(file), bytes: [file.content] };
    },
    async *members() {
      for (const file of tree) yield memberOf(file);
    },
    comment: () => "",
  };
  for await (const piece of zipOf(source)) pieces.push(piece);
  return Buffer.concat(pieces);
}

const env = await snapshotTest({ after });
const files = fileTest(env);
const { spool } = await testSpool(after);
const urlOf = (path: string) => path.split("/").map(encodeURIComponent).join("/");

/** Strictly one after the other: the next file begins when the one before is answered. */
async function sendOneByOne(): Promise<string> {
  const id = await files.create("files");
  for (const { path, content, mode, mtimeSeconds } of tree) {
    const answer = await files.put(id, urlOf(path), content, {
      "x-emanet-mtime": new Date(mtimeSeconds * 1000).toISOString(),
      "x-emanet-mode": mode.toString(8).padStart(4, "0"),
    });
    assert.equal(answer.status, 201, `${path}: ${answer.body}`);
  }
  return id;
}

async function completed(id: string) {
  for (;;) {
    const answer = await files.complete(id);
    if (answer.status !== 202) return answer;
  }
}

test(`${count} files one by one, a zip and a tar of them are the same snapshot, and the others store nothing`, async () => {
  const id = await sendOneByOne();
  const one = await completed(id);
  assert.equal(one.status, 200, one.body.toString());
  const asZip = await env.upload("source=zip", await zipOfTree(), { "content-type": "application/zip" });
  const asTar = await env.upload("source=tar", tarOfTree());
  const bytes = tree.reduce((sum, { content }) => sum + content.length, 0);
  for (const answer of [one, asZip, asTar]) {
    const { file_count: found, size_bytes: size, root_hash: hash, warning_count: warnings } = answer.json ?? {};
    assert.deepEqual([found, size, hash, warnings], [count, bytes, one.json?.root_hash, 0], answer.body.toString());
  }
  assert.ok(Number(one.json?.stored_bytes) > bytes / 2);
  assert.deepEqual([asZip.json?.stored_bytes, asTar.json?.stored_bytes], [0, 0]);

  const ids = [one, asZip, asTar].map((answer) => String(answer.json?.id));
  const archives = await Promise.all(ids.map((each) => env.get(`/v1/snapshots/${each}/archive`)));
  const [first = assert.fail(), ...others] = archives;
  for (const other of others) assert.ok(other.body.equals(first.body), "the archives differ");
  const received = await receive(spool, first.body);
  const seen = await seenIn(received);
  await received.remove();
  for (const { path, content, mode, mtimeSeconds } of tree)
    assert.deepEqual(seen[Buffer.from(path).toString("latin1")], {
      ...{ type: "file", mode: mode.toString(8), uid: 0, gid: 0, mtime: `${mtimeSeconds}.000000000` },
      ...{ size: content.length, sha256: createHash("sha256").update(content).digest("hex").slice(0, 16) },
    });
  for (const [at, { path, content }] of tree.filter((_, index) => index % 10 === 9).entries()) {
    const answer = await env.get(`/v1/snapshots/${ids[at % 3]}/files/${urlOf(path)}`);
    assert.ok(answer.body.equals(content), `${path}: ${answer.status}`);
  }
});
