/**
 * Compares two trees: which paths were added, removed or changed. Nodes with equal ids hold equal entries, so they are
 * skipped without being read. The cost follows the changes and not the size of the trees.
 *
 * Both directories are walked in name order. The *next row* of a side is an entry, or a node that was not read yet. `lastName`
 * is the last name that the side has consumed; everything that is still to come has greater names. So the walk often knows
 * that a node of one side cannot hold a name of the other, and does not read the node. Where nodes end depends on names only
 * (tree-builder.ts), so after a changed node both sides soon come to equal nodes again.
 */

import { FormatError, hex, sameBytes } from "./bytes.ts";
import type { EntryStat, FileEntry, Reference, TreeEntry } from "./tree-entry.ts";
import type { NodeSource } from "./tree-reader.ts";
import { directoryRows, maxDepth } from "./tree-reader.ts";

/** A difference. A directory that was added or removed is followed by everything below it. */
export type TreeChange =
  | { readonly kind: "added"; readonly path: Uint8Array; readonly after: TreeEntry }
  | { readonly kind: "removed"; readonly path: Uint8Array; readonly before: TreeEntry }
  | { readonly kind: "changed"; readonly path: Uint8Array; readonly before: TreeEntry; readonly after: TreeEntry };

/** A place in the differences of two trees: behind the change of this kind at the path with these names. */
export interface DiffPlace {
  readonly kind: TreeChange["kind"];
  readonly names: readonly Uint8Array[];
}

interface DiffOptions {
  /** The path of both directories. */
  readonly path?: Uint8Array;
  /** Where to begin. What comes before is not read. */
  readonly behind?: DiffPlace | undefined;
}

/**
 * The differences between two directories, in walk order. Null stands for an empty directory. A file changed if its
 * content or its metadata did; a directory only if its own metadata did.
 */
export async function* diffTrees(
  source: NodeSource,
  before: Reference | null,
  after: Reference | null,
  { path = noBytes, behind }: DiffOptions = {},
): AsyncGenerator<TreeChange> {
  if (before !== null && after !== null && sameBytes(before.id, after.id)) return;
  const [first] = behind?.names ?? [];
  const pairs = entryPairs(source, new Side(source, before, first), new Side(source, after, first));
  for await (const [old, now] of aheadOf(source, pairs)) {
    const name = now === null ? old.name : now.name;
    const child = joinPath(path, name);
    // The entry of the place itself, or one above it, came before.
    const place = behind !== undefined && first !== undefined && sameBytes(name, first) ? below(behind) : undefined;
    if (old !== null && now !== null && old.type === now.type) {
      if (place === undefined && !isEqualEntry(old, now))
        yield { kind: "changed", path: child, before: old, after: now };
      yield* diffTrees(source, rootOf(old), rootOf(now), { path: child, behind: place });
      continue;
    }
    // Of an entry that took the place of another one, what was removed comes first.
    const isInAdded = place !== undefined && (old === null || place.kind === "added");
    if (old !== null && !isInAdded) {
      if (place === undefined) yield { kind: "removed", path: child, before: old };
      yield* diffTrees(source, rootOf(old), null, { path: child, behind: place });
    }
    if (now !== null) {
      if (!isInAdded) yield { kind: "added", path: child, after: now };
      yield* diffTrees(source, null, rootOf(now), { path: child, behind: isInAdded ? place : undefined });
    }
  }
}

function below({ kind, names }: DiffPlace): DiffPlace {
  return { kind, names: names.slice(1) };
}

const noBytes = new Uint8Array(0);

type EntryPair = readonly [TreeEntry, null] | readonly [TreeEntry, TreeEntry] | readonly [null, TreeEntry];

/** Pairs that are looked at before the first of them is compared. A page of differences needs fewer. */
const pairsAhead = 256;

/** The same pairs. The directories of several that follow each other are announced together, so that their nodes are not waited for one by one. */
async function* aheadOf(source: NodeSource, pairs: AsyncIterable<EntryPair>): AsyncGenerator<EntryPair> {
  let batch: EntryPair[] = [];
  for await (const pair of pairs) {
    batch.push(pair);
    if (batch.length < pairsAhead) continue;
    await source.openAhead?.(batch.flatMap(differentRoots));
    yield* batch;
    batch = [];
  }
  await source.openAhead?.(batch.flatMap(differentRoots));
  yield* batch;
}

/** The roots that are read when the pair is compared. */
function differentRoots([old, now]: EntryPair): readonly Reference[] {
  const [before, after] = [old === null ? null : rootOf(old), now === null ? null : rootOf(now)];
  if (before !== null && after !== null && sameBytes(before.id, after.id)) return [];
  return [before, after].filter((root) => root !== null);
}

/** The entries of both sides by name, without those in nodes that both sides have. */
async function* entryPairs(source: NodeSource, old: Side, now: Side): AsyncGenerator<EntryPair> {
  for (;;) {
    const [a, b] = [old.next, now.next];
    if (a === null && b === null) return;
    if (a?.kind === "node" || b?.kind === "node") {
      const step = stepOverNodes(old, now);
      if (step === "skip") {
        old.advance();
        now.advance();
        continue;
      }
      if (step !== "take") {
        for (const side of step) await side.expand();
        if (step.length === 2) await source.openAhead?.(nodesOfOne(old, now));
        continue;
      }
    }
    yield takeSmaller(old, now);
  }
}

/**
 * At least one next row is a node. `skip`: both are the same node. `take`: the entry on one side cannot be in the node of
 * the other. Otherwise returns the sides whose nodes must be read.
 */
function stepOverNodes(old: Side, now: Side): "skip" | "take" | readonly Side[] {
  const [a, b] = [old.next, now.next];
  if (a?.kind === "node" && b?.kind === "node") {
    if (sameBytes(a.node.reference.id, b.node.reference.id)) return "skip";
    if (old.isPast(b.node.lastName)) return [now];
    if (now.isPast(a.node.lastName)) return [old];
    const order = compareLast(a.node.lastName, b.node.lastName);
    return order === 0 ? [old, now] : [order > 0 ? old : now];
  }
  const [withNode, other] = a?.kind === "node" ? [old, now] : [now, old];
  if (other.next?.kind === "entry" && withNode.isPast(other.next.entry.name)) return "take";
  return [withNode];
}

/** Takes the entry with the smaller name, or both if the names are equal. A node counts as greater than any entry. */
function takeSmaller(old: Side, now: Side): EntryPair {
  const a = old.next?.kind === "entry" ? old.next.entry : null;
  const b = now.next?.kind === "entry" ? now.next.entry : null;
  const order = a === null ? 1 : b === null ? -1 : Buffer.compare(a.name, b.name);
  if (order <= 0) old.advance();
  if (order >= 0) now.advance();
  if (a !== null && b !== null && order === 0) return [a, b];
  if (a !== null && order < 0) return [a, null];
  if (b === null) throw new Error("neither side has an entry");
  return [null, b];
}

/** A null is the end of the directory: greater than any name. */
function compareLast(a: Uint8Array | null, b: Uint8Array | null): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  return Buffer.compare(a, b);
}

/** A node that was not read. The last name in the root is not known: null. */
interface UnreadNode {
  readonly reference: Reference;
  readonly lastName: Uint8Array | null;
  readonly depth: number;
}

type NextRow =
  | { readonly kind: "entry"; readonly entry: TreeEntry }
  | { readonly kind: "node"; readonly node: UnreadNode };

/** One directory while it is walked. */
class Side {
  readonly #source: NodeSource;
  /** What is still to come, the last element first. */
  readonly #rest: NextRow[] = [];
  /** Smaller names are left out. */
  readonly #from: Uint8Array;
  #lastName: Uint8Array | null = null;

  constructor(source: NodeSource, root: Reference | null, from: Uint8Array = noBytes) {
    this.#source = source;
    this.#from = from;
    if (root !== null) this.#rest.push({ kind: "node", node: { reference: root, lastName: null, depth: 0 } });
  }

  get next(): NextRow | null {
    return this.#rest.at(-1) ?? null;
  }

  /** The nodes that are still to come and were not read, by their id. */
  nodes(): ReadonlyMap<string, Reference> {
    const found = new Map<string, Reference>();
    for (const row of this.#rest) if (row.kind === "node") found.set(hex(row.node.reference.id), row.node.reference);
    return found;
  }

  /** Whether everything that is still to come has greater names. */
  isPast(name: Uint8Array | null): boolean {
    return name !== null && this.#lastName !== null && Buffer.compare(name, this.#lastName) <= 0;
  }

  /** Consumes the next row. */
  advance(): void {
    const row = this.#rest.pop();
    if (row === undefined) return;
    const last = row.kind === "entry" ? row.entry.name : row.node.lastName;
    if (last === null) return;
    if (this.isPast(last)) throw new FormatError("a directory's names are out of order");
    this.#lastName = last;
  }

  /** Replaces the next row, which is a node, by the rows of that node. */
  async expand(): Promise<void> {
    const next = this.#rest.pop();
    if (next?.kind !== "node") throw new Error("the next row is not a node");
    const { reference, depth } = next.node;
    if (depth > maxDepth) throw new FormatError("a tree is too deep");
    const rows = [...directoryRows(await this.#source.node(reference))];
    for (const row of rows.toReversed()) {
      const last = row.kind === "entry" ? row.entry.name : row.lastName;
      if (last !== null && Buffer.compare(last, this.#from) < 0) continue;
      if (row.kind === "entry") this.#rest.push(row);
      else this.#rest.push({ kind: "node", node: { ...row, depth: depth + 1 } });
    }
  }
}

/** Nodes that are still to come on one side and not on the other. */
function nodesOfOne(old: Side, now: Side): readonly Reference[] {
  const [before, after] = [old.nodes(), now.nodes()];
  return [
    ...[...before].filter(([id]) => !after.has(id)).map(([, reference]) => reference),
    ...[...after].filter(([id]) => !before.has(id)).map(([, reference]) => reference),
  ];
}

function rootOf(entry: TreeEntry): Reference | null {
  return entry.type === "directory" ? entry.root : null;
}

/** Whether two entries of one type and name are equal. Where their content is stored is no difference. */
function isEqualEntry(a: TreeEntry, b: TreeEntry): boolean {
  if (!isEqualStat(a, b)) return false;
  if (a.type === "file" && b.type === "file") return isEqualFile(a, b);
  return a.type !== "link" || (b.type === "link" && sameBytes(a.target, b.target));
}

function isEqualStat(a: EntryStat, b: EntryStat): boolean {
  const [ofA, ofB] = [a.attributes, b.attributes];
  return (
    a.mode === b.mode &&
    a.uid === b.uid &&
    a.gid === b.gid &&
    a.mtimeSeconds === b.mtimeSeconds &&
    a.mtimeNanos === b.mtimeNanos &&
    ofA.length === ofB.length &&
    ofA.every(([name, value], i) => sameBytes(name, ofB[i]?.[0] ?? noBytes) && sameBytes(value, ofB[i]?.[1] ?? noBytes))
  );
}

function isEqualFile(a: FileEntry, b: FileEntry): boolean {
  return a.size === b.size && sameBytes(a.hash, b.hash) && sameBytes(a.linkGroup ?? noBytes, b.linkGroup ?? noBytes);
}

function joinPath(path: Uint8Array, name: Uint8Array): Uint8Array {
  return path.length === 0 ? name : Buffer.concat([path, slash, name]);
}

const slash = Buffer.from("/");
