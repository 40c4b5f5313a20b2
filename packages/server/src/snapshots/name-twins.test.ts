import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import type { BackupSource, SourceEvent } from "@emanet/engine";
import { zip } from "../archives/testing/made-zips.ts";
import { fileTest } from "../files/testing.ts";
import { listIn } from "../testing/lists.ts";
import type { Sent } from "../testing/running.ts";
import { withTwinWarnings } from "./name-twins.ts";
import { endMark, member, type SnapshotJson, snapshotTest } from "./testing.ts";

const env = await snapshotTest({ after });
const files = fileTest(env);

const composed = "é.txt".normalize("NFC");
const decomposed = "é.txt".normalize("NFD");

/** Each name of a tree, and whether it has a twin before it. */
const twins: readonly (readonly [path: string | Buffer, isTwin: boolean])[] = [
  ["A", false],
  ["a", true],
  [decomposed, false],
  [composed, true],
  ["d/I", false],
  ["d/i", true],
  ["d/İ", false],
  ["d/ı", true],
  ["d/straße", true],
  ["d/STRASSE", false],
  ["D/I", false],
  // Capital letters of what is in no normal form, and capital letters that leave it.
  ["g/\u03b1\u0345\u0301", false],
  ["g/\u1fb4", true],
  ["g/\u0390", false],
  ["g/\u03aa\u0301", true],
  // Other directories, another name, bytes that are no text, and a name behind the byte order mark.
  ["e/A", false],
  ["e/b", false],
  ["e/\ufeffb", false],
  [Buffer.from("e/B\xff", "latin1"), false],
  [Buffer.from("e/b\xff", "latin1"), false],
];

const paths = twins.map(([path]) => Buffer.from(path));
/** The directories `D` and `d` are twins too. */
const expected = [...twins.flatMap(([path, isTwin]) => (isTwin ? [String(path)] : [])), "d"].toSorted();

const encoded = (path: Buffer) => path.toString("hex").replaceAll(/../g, "%$&").replaceAll("%2f", "/");

async function warningsOf(id: unknown): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const page = await env.get(`/v1/snapshots/${id}/warnings?limit=100`);
  assert.equal(page.status, 200, page.body.toString());
  return listIn<Record<string, unknown>>(page, "data");
}

/** The twins have a warning, and everything is in the snapshot, with its own content. */
async function checkTwins(snapshot: SnapshotJson): Promise<void> {
  const warnings = await warningsOf(snapshot.id);
  assert.deepEqual(new Set(warnings.map(({ code }) => code)), new Set(["name_twin"]));
  assert.deepEqual(warnings.map(({ path }) => path).toSorted(), expected);
  assert.deepEqual([snapshot.warning_count, snapshot.file_count], [expected.length, paths.length]);
  for (const [at, path] of paths.entries()) {
    const answer = await env.get(`/v1/snapshots/${snapshot.id}/files/${encoded(path)}`);
    assert.deepEqual([answer.status, answer.body.toString()], [200, `content ${at}`], path.toString());
  }
}

const made = (answer: Sent): SnapshotJson => {
  assert.equal(answer.status, 201, answer.body.toString());
  return answer.json as SnapshotJson;
};

const zipType = { "content-type": "application/zip" };

describe("names that Windows and macOS take for one are kept, each after the first with a warning", () => {
  test("in a tar", async () => {
    const members = paths.map((name, at) => member({ name }, `content ${at}`));
    await checkTwins(made(await env.upload("source=tar", Buffer.concat([...members, endMark]))));
  });

  test("in a zip", async () => {
    const archive = zip(paths.map((name, at) => ({ name, content: `content ${at}` })));
    await checkTwins(made(await env.upload("source=zip", archive, zipType)));
  });

  test("file by file", async () => {
    const id = await files.create("files");
    for (const [at, path] of paths.entries())
      assert.equal((await files.put(id, encoded(path), `content ${at}`)).status, 201);
    const answer = await files.complete(id);
    assert.equal(answer.status, 200, answer.body.toString());
    await checkTwins(answer.json as SnapshotJson);
  });
});

test("a link and a directory are twins as files are; a directory that is named and implied is none of itself", async () => {
  const archive = Buffer.concat([
    ...[member({ name: "x/f" }, "1"), member({ name: "x/", type: "5" }), member({ name: "x/", type: "5" })],
    ...[member({ name: "X" }, "2"), member({ name: "y", type: "2", linkName: "x" }), member({ name: "Y" }, "3")],
    endMark,
  ]);
  const { id, warning_count: count } = made(await env.upload("source=kinds", archive));
  assert.deepEqual(await warningsOf(id), [
    { path: "x", code: "name_twin" },
    { path: "y", code: "name_twin" },
  ]);
  assert.equal(count, 2);
});

test("a snapshot of one file and one without twins have no warning", async () => {
  const one = made(await env.upload("source=one&path=a/A/a", "1", { "content-type": "application/octet-stream" }));
  const other = await env.completed("other", { "a/A": "1", "b/a": "2", "b/c": "3" });
  assert.deepEqual([one.warning_count, other.warning_count], [0, 0]);
  assert.deepEqual(await warningsOf(other.id), []);
});

/** The twins that are found in a tree: names of files, and `>` and `<` around those of a directory. */
async function found(maxNames: number, ...steps: readonly string[]): Promise<readonly string[]> {
  const stat = { mode: 0, uid: 0, gid: 0, mtimeSeconds: 0, mtimeNanos: 0, attributes: [] };
  const source: BackupSource = {
    async *walk(): AsyncGenerator<SourceEvent> {
      for (const step of steps) {
        const path = Buffer.from(step.replace(">", ""));
        if (step === "<") yield { type: "leave" };
        else if (step.startsWith(">")) yield { type: "enter", path, stat: { ...stat, name: path } };
        else yield { type: "link", path, stat: { ...stat, name: path }, target: path };
      }
    },
  };
  const twinsFound: string[] = [];
  for await (const event of withTwinWarnings(source, maxNames).walk())
    if (event.type === "warning") twinsFound.push(Buffer.from(event.path).toString());
  return twinsFound;
}

test("names over the limit are compared with those before it, and are forgotten with their directory", async () => {
  assert.deepEqual(await found(3, ">", "A", "B", "C", "D", "a", "c", "d", "<"), ["a", "c"]);
  assert.deepEqual(await found(3, ">", ">x", "A", "B", "a", "<", ">y", "A", "a", "b", "<", "<"), ["a", "a"]);
});
