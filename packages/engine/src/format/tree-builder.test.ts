import assert from "node:assert/strict";
import { test } from "node:test";
import { ByteWriter, hex } from "./bytes.ts";
import { sha256 } from "./hash.ts";
import type { NodeSink } from "./tree-builder.ts";
import { DirectoryBuilder } from "./tree-builder.ts";
import type { FileEntry, Reference, TreeEntry } from "./tree-entry.ts";
import { writeEntry } from "./tree-entry.ts";
import { entriesOf, findEntry } from "./tree-reader.ts";

/** Keeps nodes by their id, as a vault does. */
class NodeMap implements NodeSink {
  readonly nodeKey = Buffer.alloc(32, 5);
  readonly nodes = new Map<string, { readonly ordinal: number; readonly bytes: Buffer }>();

  putNode(id: Uint8Array, bytes: Uint8Array): number {
    const known = this.nodes.get(hex(id)) ?? { ordinal: this.nodes.size + 1, bytes: Buffer.from(bytes) };
    this.nodes.set(hex(id), known);
    return known.ordinal;
  }

  async node({ id }: Reference): Promise<Uint8Array> {
    return this.nodes.get(hex(id))?.bytes ?? assert.fail("no such node");
  }

  get size(): number {
    return this.nodes.values().reduce((sum, { bytes }) => sum + bytes.length, 0);
  }
}

function file(name: string | Uint8Array, version = 0): FileEntry {
  const hash = sha256(Buffer.from(`${Buffer.from(name).toString("latin1")} ${version}`));
  return {
    ...{ type: "file", name: Buffer.from(name), mode: 0o100644, uid: 1000, gid: 1000, attributes: [] },
    ...{ mtimeSeconds: 1_700_000_000 + version, mtimeNanos: 0, size: 6000, hash },
    content: { kind: "part", segment: { ordinal: 7, id: hash }, first: 0, count: 1 },
  };
}

async function build(sink: NodeMap, entries: readonly TreeEntry[]): Promise<Reference> {
  const builder = new DirectoryBuilder(sink);
  for (const entry of entries) await builder.add(entry);
  return builder.finish();
}

const numbered = (count: number) =>
  Array.from({ length: count }, (_, i) => `irsaliye-${String(i).padStart(6, "0")}.txt`);

/** The levels of nodes above and including the leaves. */
async function depthOf(sink: NodeMap, root: Reference, name: Uint8Array): Promise<number> {
  let read = 0;
  const node = (reference: Reference) => {
    read++;
    return sink.node(reference);
  };
  await findEntry({ node }, root, name);
  return read;
}

test("a changed file stores at most 5 KB of nodes in a folder of 250 files, and at most 12 KB in one of 20 000", async () => {
  for (const [count, limit, changes] of [
    [250, 5_000, 20],
    [20_000, 12_000, 4],
  ] as const) {
    const names = numbered(count);
    const sink = new NodeMap();
    await build(
      sink,
      names.map((name) => file(name)),
    );
    const before = sink.size;
    for (let i = 0; i < changes; i++) {
      const changed = Math.floor((i * count) / changes);
      await build(
        sink,
        names.map((name, at) => file(name, at === changed ? 1 : 0)),
      );
    }
    const perChange = (sink.size - before) / changes;
    assert.ok(perChange <= limit, `${perChange} bytes per changed file of ${count}`);
  }
});

test("a file that is added to or removed from a folder changes a few nodes", async () => {
  const names = numbered(5000);
  const sink = new NodeMap();
  await build(
    sink,
    names.map((name) => file(name)),
  );
  for (const changed of [
    names.filter((_, i) => i !== 2500),
    [...names.slice(0, 1234), `${names[1233]}.copy`, ...names.slice(1234)],
  ]) {
    const before = sink.nodes.size;
    await build(
      sink,
      changed.map((name) => file(name)),
    );
    assert.ok(sink.nodes.size - before <= 12, `${sink.nodes.size - before} nodes of ${before}`);
  }
});

test("names of any length give a tree that is read back in order, with each entry found by its name", async () => {
  for (const length of [1, 200, 1000, 5000, 40_000]) {
    const names = Array.from({ length: 200 }, (_, i) => {
      const name = Buffer.alloc(length + 4, "n");
      name.writeUInt32BE(i, length);
      return name;
    });
    const sink = new NodeMap();
    const root = await build(
      sink,
      names.map((name) => file(name)),
    );
    const read = await Array.fromAsync(entriesOf(sink, root));
    assert.deepEqual(
      read.map(({ name }) => hex(name)),
      names.map((name) => hex(name)),
    );
    for (const name of names) assert.deepEqual((await findEntry(sink, root, name))?.name, name);
    // Each level has at most a fourth of the nodes of the level below.
    const depth = await depthOf(sink, root, names[0] ?? assert.fail());
    assert.ok(depth <= 6, `${depth} levels`);
  }
});

test("an entry that readers refuse is not written", () => {
  for (const wrong of [{ linkGroup: Buffer.alloc(16) }, { sha256: Buffer.alloc(31) }])
    assert.throws(() => writeEntry(new ByteWriter(), { ...file("a"), ...wrong }), /wrong length/);
});

test("entries behind a name are read without the nodes before it", async () => {
  const sink = new NodeMap();
  const names = numbered(5000);
  const root = await build(
    sink,
    names.map((name) => file(name)),
  );
  let read = 0;
  const node = (reference: Reference) => {
    read++;
    return sink.node(reference);
  };
  const behind = async (name: string) =>
    (await Array.fromAsync(entriesOf({ node }, root, Buffer.from(name)))).map((entry) => entry.name.toString());
  assert.deepEqual(await behind(names[4989] ?? ""), names.slice(4990));
  assert.ok(read <= 5, `${read} nodes were read`);
  assert.deepEqual(await behind("irsaliye-004989.txt-"), names.slice(4990), "a name that no entry has");
  assert.deepEqual(await behind(""), names);
  assert.deepEqual(await behind("z"), []);
});
