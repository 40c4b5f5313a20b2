import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { SeededRandom } from "../testing/random-tree.ts";
import { scaled } from "../testing/scale.ts";
import { hex } from "./bytes.ts";
import { DirectoryBuilder, type NodeSink } from "./tree-builder.ts";
import { type DiffPlace, diffTrees } from "./tree-diff.ts";
import type { EntryStat, Reference, TreeEntry } from "./tree-entry.ts";
import type { NodeSource } from "./tree-reader.ts";

/** A directory in memory: names to files (a version number), links (a string) or directories. */
interface Folder {
  readonly entries: Map<string, number | string | Folder>;
  /** Its mode, so that a directory can change without its entries. */
  mode: number;
}

/** Keeps nodes in memory and counts how many are read. */
class Nodes implements NodeSink, NodeSource {
  readonly nodeKey = Buffer.alloc(32, 5);
  readonly #byId = new Map<string, { ordinal: number; bytes: Uint8Array }>();
  reads = 0;

  get size(): number {
    return this.#byId.size;
  }

  putNode(id: Uint8Array, bytes: Uint8Array): number {
    const known = this.#byId.get(hex(id));
    if (known !== undefined) return known.ordinal;
    const ordinal = this.#byId.size + 1;
    this.#byId.set(hex(id), { ordinal, bytes: Uint8Array.from(bytes) });
    return ordinal;
  }

  async node({ id }: Reference): Promise<Uint8Array> {
    this.reads++;
    return this.#byId.get(hex(id))?.bytes ?? assert.fail("no such node");
  }
}

const stat = (name: string, mode = 0o644): EntryStat => ({
  name: Buffer.from(name),
  mode,
  uid: 0,
  gid: 0,
  mtimeSeconds: 1_700_000_000,
  mtimeNanos: 0,
  attributes: [],
});

const hashOf = (version: number) => Buffer.alloc(32, `v${version};`);

async function entryOf(nodes: Nodes, name: string, content: number | string | Folder): Promise<TreeEntry> {
  if (typeof content === "string") return { type: "link", ...stat(name), target: Buffer.from(content) };
  if (typeof content === "object") {
    const root = await store(nodes, content);
    return { type: "directory", ...stat(name, content.mode), root, size: 0, files: 0 };
  }
  return { type: "file", ...stat(name), size: 1, hash: hashOf(content), content: { kind: "empty" } };
}

async function store(nodes: Nodes, { entries }: Folder): Promise<Reference> {
  const builder = new DirectoryBuilder(nodes);
  const names = [...entries.keys()].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  for (const name of names) await builder.add(await entryOf(nodes, name, entries.get(name) ?? 0));
  return builder.finish();
}

/** What differs, found by comparing everything with everything. */
function expectedChanges(before: Folder, after: Folder, path = ""): string[] {
  const changes: string[] = [];
  for (const name of new Set([...before.entries.keys(), ...after.entries.keys()])) {
    const [old, now] = [before.entries.get(name), after.entries.get(name)];
    const child = path === "" ? name : `${path}/${name}`;
    if (old !== undefined && now !== undefined && typeof old === typeof now) {
      if (typeof old === "object" && typeof now === "object") {
        if (old.mode !== now.mode) changes.push(`changed ${child}`);
        changes.push(...expectedChanges(old, now, child));
      } else if (old !== now) changes.push(`changed ${child}`);
      continue;
    }
    if (old !== undefined) changes.push(`removed ${child}`);
    if (typeof old === "object") changes.push(...expectedChanges(old, emptyFolder(), child));
    if (now !== undefined) changes.push(`added ${child}`);
    if (typeof now === "object") changes.push(...expectedChanges(emptyFolder(), now, child));
  }
  return changes;
}

const emptyFolder = (): Folder => ({ entries: new Map(), mode: 0o755 });

async function foundChanges(
  nodes: Nodes,
  before: Reference | null,
  after: Reference | null,
  behind?: DiffPlace,
): Promise<string[]> {
  const changes: string[] = [];
  for await (const { kind, path } of diffTrees(nodes, before, after, { behind }))
    changes.push(`${kind} ${Buffer.from(path)}`);
  return changes;
}

/** The place behind a change as {@link foundChanges} names it. */
function placeBehind(change: string): DiffPlace {
  const [kind = "", path = ""] = change.split(" ");
  return { kind: kind as DiffPlace["kind"], names: path.split("/").map((name) => Buffer.from(name)) };
}

function randomFolder(random: SeededRandom, depth: number, most: number): Folder {
  const folder = emptyFolder();
  for (let i = random.below(most); i > 0; i--) folder.entries.set(randomName(random), randomContent(random, depth));
  return folder;
}

const randomName = (random: SeededRandom) => `${random.below(9_000)}-${"x".repeat(random.below(60))}`;

function randomContent(random: SeededRandom, depth: number): number | string | Folder {
  const kind = random.below(100);
  if (kind < 2 && depth > 0) return randomFolder(random, depth - 1, 60);
  return kind < 8 ? `target ${random.below(3)}` : random.below(1_000);
}

/** A copy with some names removed, changed and added. Some edits are next to each other, so whole nodes come and go. */
function edited(random: SeededRandom, { entries, mode }: Folder, percent: number): Folder {
  const copy: Folder = { entries: new Map(), mode: random.chance(5) ? 0o700 : mode };
  const [from, to] = [random.below(9_000), random.below(9_000)];
  for (const [name, content] of entries) {
    const inRange = Number.parseInt(name, 10) >= from && Number.parseInt(name, 10) < to;
    if (random.chance(inRange ? 3 * percent : percent)) {
      if (random.chance(50)) copy.entries.set(name, randomContent(random, 1));
    } else copy.entries.set(name, typeof content === "object" ? edited(random, content, percent) : content);
  }
  for (let i = random.below(percent + 1); i > 0; i--) copy.entries.set(randomName(random), randomContent(random, 1));
  return copy;
}

describe("the difference of two trees", () => {
  for (let seed = 1; seed <= 24; seed++)
    test(`is what a comparison of all entries finds (seed ${seed})`, async () => {
      const random = new SeededRandom(seed);
      const nodes = new Nodes();
      const before = randomFolder(random, 2, random.pick([3, 300, 3_000]));
      const after = edited(random, before, random.pick([0, 1, 10, 30]));
      const [old, now] = [await store(nodes, before), await store(nodes, after)];
      assert.deepEqual((await foundChanges(nodes, old, now)).sort(), expectedChanges(before, after).sort());
      assert.deepEqual(await foundChanges(nodes, now, now), []);
      const all = expectedChanges(emptyFolder(), after).sort();
      assert.deepEqual((await foundChanges(nodes, null, now)).sort(), all);
    });

  test("changes are named in the order of their paths, and a directory comes before what is in it", async () => {
    const nodes = new Nodes();
    const inner: Folder = { entries: new Map([["b", 1]]), mode: 0o755 };
    const before = await store(nodes, { entries: new Map<string, number | Folder>([["z", 1]]), mode: 0o755 });
    const after: Folder = { entries: new Map<string, number | Folder>([["c", 1]]), mode: 0o755 };
    after.entries.set("a", inner);
    const changes = await foundChanges(nodes, before, await store(nodes, after));
    assert.deepEqual(changes, ["added a", "added a/b", "added c", "removed z"]);
  });

  test("from behind any change, the changes that follow are found", async () => {
    for (let seed = 1; seed <= 12; seed++) {
      const random = new SeededRandom(seed);
      const nodes = new Nodes();
      const before = randomFolder(random, 2, random.pick([30, 900]));
      before.entries.set("e", randomFolder(random, 1, 5)).set("f", 1);
      const after = edited(random, before, 20);
      after.entries.set("e", 1).set("f", randomFolder(random, 1, 5));
      const [old, now] = [await store(nodes, before), await store(nodes, after)];
      const all = await foundChanges(nodes, old, now);
      for (let at = 0; at < all.length; at += 1 + random.below(all.length > 100 ? 20 : 2)) {
        const change = all[at] ?? "";
        assert.deepEqual(await foundChanges(nodes, old, now, placeBehind(change)), all.slice(at + 1), change);
      }
    }
  });

  test("behind a change near the end, what comes before is not read", async () => {
    const nodes = new Nodes();
    const folder = emptyFolder();
    for (let i = 0; i < 20_000; i++) folder.entries.set(`invoice-${String(i).padStart(7, "0")}.xml`, i);
    const root = await store(nodes, folder);
    nodes.reads = 0;
    const rest = await foundChanges(nodes, null, root, placeBehind("added invoice-0019989.xml"));
    assert.equal(rest.length, 10);
    assert.ok(nodes.reads < 10, `${nodes.reads}`);
  });

  test("nodes are announced together before they are read, and no others", async () => {
    const nodes = new Nodes();
    const folders = (changed: number): Folder => {
      const folder = (at: number): Folder => ({
        entries: new Map(Array.from({ length: 40 }, (_, file) => [`f${file}`, at + (at % 5 === 0 ? changed : 0)])),
        mode: 0o755,
      });
      return { entries: new Map(Array.from({ length: 200 }, (_, at) => [`d${at}`, folder(at)])), mode: 0o755 };
    };
    const [before, after] = [await store(nodes, folders(0)), await store(nodes, folders(1000))];
    const announced = new Set<string>();
    let calls = 0;
    const unread = new Set<string>();
    const late: string[] = [];
    const source: NodeSource = {
      async node(reference) {
        if (!announced.has(hex(reference.id))) late.push(hex(reference.id));
        unread.delete(hex(reference.id));
        return nodes.node(reference);
      },
      async openAhead(references) {
        if (references.length > 0) calls++;
        for (const { id } of references) {
          announced.add(hex(id));
          unread.add(hex(id));
        }
      },
    };
    let changes = 0;
    for await (const _ of diffTrees(source, before, after)) changes++;
    assert.equal(changes, 40 * 40);
    assert.deepEqual([...unread], [], "what is announced is read");
    assert.deepEqual(late, [hex(before.id), hex(after.id)], "the two roots alone are not announced");
    // Of eighty folders and the nodes above them.
    assert.ok(announced.size > 80 && calls <= 10, `${calls} calls for ${announced.size} nodes`);
  });

  test("where a file's content is stored is no difference", async () => {
    const nodes = new Nodes();
    const entry = { type: "file", ...stat("a"), size: 1, hash: hashOf(1) } as const;
    const roots: Reference[] = [];
    for (const ordinal of [7, 8]) {
      const builder = new DirectoryBuilder(nodes);
      const segment = { ordinal, id: Buffer.alloc(32, 1) };
      await builder.add({ ...entry, content: { kind: "part", segment, first: 0, count: 1 } });
      roots.push(await builder.finish());
    }
    const [before = null, after = null] = roots;
    assert.notDeepEqual(before, after);
    assert.deepEqual(await foundChanges(nodes, before, after), []);
  });

  const large = scaled(50_000, 1_000_000);

  test(`a change per 10 000 files reads at most 1 % of the nodes (${large} files)`, async () => {
    const nodes = new Nodes();
    const folder = emptyFolder();
    for (let i = 0; i < large; i++) folder.entries.set(`invoice-${String(i).padStart(7, "0")}.xml`, i);
    const before = await store(nodes, folder);
    const inTree = nodes.size;
    const random = new SeededRandom(11);
    const changed = new Set<string>();
    while (changed.size < large / 10_000) changed.add(`invoice-${String(random.below(large)).padStart(7, "0")}.xml`);
    for (const name of changed) folder.entries.set(name, -1);
    const after = await store(nodes, folder);
    nodes.reads = 0;
    assert.deepEqual(
      await foundChanges(nodes, before, after),
      [...changed].sort().map((name) => `changed ${name}`),
    );
    assert.ok(nodes.reads <= (2 * inTree) / 100, `${nodes.reads} of ${2 * inTree} nodes were read`);
  });
});
