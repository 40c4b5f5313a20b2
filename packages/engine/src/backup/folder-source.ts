/**
 * A folder, or several paths, as a source. Names are bytes; a directory of a million names is held as one packed list
 * and sorted there, so that memory is a few dozen bytes per name of the largest directory, and nothing per file else.
 *
 * Several paths appear under a root made of their absolute paths; one path is the root itself.
 */

import type { BigIntStats } from "node:fs";
import { lstatSync, opendirSync, readlinkSync } from "node:fs";
import path from "node:path";
import { release } from "../bytes.ts";
import type { EntryFacts } from "../trees/entry.ts";
import type { BackupSource, SourceEvent } from "./source.ts";
import { sightOf } from "./source.ts";

/** Entries read from the system at a time. */
const readAhead = 512;

/** Files looked at before other work gets a turn. */
const yieldEvery = 256;

const slash = Buffer.from("/");
const empty = Buffer.alloc(0);

/** One folder as a source: the snapshot's root is the folder. A single file becomes a root with one entry. */
export function folderSource(root: string | Uint8Array): BackupSource {
  const at = typeof root === "string" ? Buffer.from(path.resolve(root)) : Buffer.from(root);
  return { walk: () => walkRoot(at) };
}

/** Several paths as one source: the snapshot's root holds their absolute paths. */
export function pathsSource(paths: readonly string[]): BackupSource {
  const [only] = paths;
  if (paths.length === 1 && only !== undefined && lstatSync(only).isDirectory()) return folderSource(only);
  return { walk: () => walkPaths(paths.map((each) => path.resolve(each))) };
}

async function* walkRoot(at: Buffer): AsyncGenerator<SourceEvent> {
  const stat = lstatSync(at, { bigint: true });
  if (!stat.isDirectory()) throw new Error("not a directory");
  yield { type: "enter", path: empty, facts: factsOf(empty, stat) };
  yield* walkDirectory(at, empty);
  yield { type: "leave" };
}

interface Branch {
  readonly below: Map<string, Branch>;
  whole: boolean;
}

async function* walkPaths(paths: readonly string[]): AsyncGenerator<SourceEvent> {
  const root: Branch = { below: new Map(), whole: false };
  for (const each of paths) {
    let branch = root;
    for (const part of each.split(path.sep).filter((name) => name !== "")) {
      const next = branch.below.get(part) ?? { below: new Map(), whole: false };
      branch.below.set(part, next);
      branch = next;
    }
    branch.whole = true;
  }
  yield { type: "enter", path: empty, facts: factsOf(empty, lstatSync("/", { bigint: true })) };
  yield* walkBranch(root, empty, empty);
  yield { type: "leave" };
}

async function* walkBranch(branch: Branch, at: Buffer, inside: Buffer): AsyncGenerator<SourceEvent> {
  const names = [...branch.below.keys()].map((name) => Buffer.from(name)).sort(Buffer.compare);
  for (const name of names) {
    const next = branch.below.get(name.toString());
    if (next === undefined) continue;
    const full = Buffer.concat([at, slash, name]);
    const relative = inside.length === 0 ? name : Buffer.concat([inside, slash, name]);
    if (next.whole) yield* walkEntry(full, relative, name);
    else {
      yield { type: "enter", path: relative, facts: factsOf(name, lstatSync(full, { bigint: true })) };
      yield* walkBranch(next, full, relative);
      yield { type: "leave" };
    }
  }
}

async function* walkDirectory(at: Buffer, inside: Buffer): AsyncGenerator<SourceEvent> {
  let names: PackedNames;
  try {
    names = readNames(at);
  } catch (error) {
    yield { type: "warning", path: inside, code: codeOf(error) };
    return;
  }
  for (let i = 0; i < names.count; i++) {
    if (i % yieldEvery === yieldEvery - 1) await new Promise((resolve) => setImmediate(resolve));
    const name = names.name(i);
    const full = Buffer.concat([at, slash, name]);
    const relative = inside.length === 0 ? Buffer.from(name) : Buffer.concat([inside, slash, name]);
    const event = look(full, relative, name);
    if (event === "directory") yield* walkEntry(full, relative, name);
    else yield event;
  }
}

async function* walkEntry(full: Buffer, relative: Buffer, name: Buffer): AsyncGenerator<SourceEvent> {
  const event = look(full, relative, name);
  if (event !== "directory") {
    yield event;
    return;
  }
  yield { type: "enter", path: relative, facts: factsOf(name, lstatSync(full, { bigint: true })) };
  yield* walkDirectory(full, relative);
  yield { type: "leave" };
}

function look(full: Buffer, relative: Buffer, name: Buffer): SourceEvent | "directory" {
  const again = () => {
    const event = look(full, relative, name);
    return event !== "directory" && event.type === "file" ? event : null;
  };
  try {
    const stat = lstatSync(full, { bigint: true });
    if (stat.isDirectory()) return "directory";
    const facts = factsOf(name, stat);
    if (stat.isSymbolicLink()) return { type: "link", path: relative, facts, target: readlinkSync(full, "buffer") };
    if (!stat.isFile()) return { type: "warning", path: relative, code: "special_file" };
    const marks = { inode: stat.ino, ctimeNs: stat.ctimeNs };
    const content = { path: full, offset: 0, seen: sightOf(stat) };
    return { type: "file", path: relative, facts, size: Number(stat.size), marks, content, again };
  } catch (error) {
    return { type: "warning", path: relative, code: codeOf(error) };
  }
}

function factsOf(name: Uint8Array, stat: BigIntStats): EntryFacts {
  const seconds = Number(stat.mtimeNs / 1_000_000_000n);
  const nanos = Number(stat.mtimeNs % 1_000_000_000n);
  const before = nanos < 0;
  return {
    name: Buffer.from(name),
    mode: Number(stat.mode) & 0o7777,
    uid: Number(stat.uid),
    gid: Number(stat.gid),
    mtimeSeconds: before ? seconds - 1 : seconds,
    mtimeNanos: before ? nanos + 1_000_000_000 : nanos,
    attributes: [],
  };
}

interface PackedNames {
  readonly count: number;
  name(index: number): Buffer;
}

/** All names of a directory in byte order: their bytes in one buffer, their order in one array. */
function readNames(at: Buffer): PackedNames {
  // The types say string; with this encoding names are buffers.
  const directory = opendirSync(at as unknown as string, {
    encoding: "buffer" as BufferEncoding,
    bufferSize: readAhead,
  });
  let bytes: Buffer = Buffer.allocUnsafeSlow(4096);
  let used = 0;
  let offsets = new Uint32Array(128);
  let count = 0;
  try {
    for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) {
      const name = entry.name as unknown as Buffer;
      if (used + name.length > bytes.length) bytes = grown(bytes, name.length);
      if (count + 1 >= offsets.length) {
        const longer = new Uint32Array(offsets.length * 2);
        longer.set(offsets);
        offsets.buffer.transfer(0);
        offsets = longer;
      }
      bytes.set(name, used);
      offsets[count++] = used;
      used += name.length;
      offsets[count] = used;
    }
  } finally {
    directory.closeSync();
  }
  const slice = (index: number) => bytes.subarray(offsets[index] ?? 0, offsets[index + 1] ?? 0);
  const compare = (a: number, b: number) =>
    bytes.compare(bytes, offsets[b] ?? 0, offsets[b + 1] ?? 0, offsets[a] ?? 0, offsets[a + 1] ?? 0);
  const order = sortedOrder(count, compare);
  return { count, name: (index) => slice(order[index] ?? 0) };
}

/** 0 … count - 1 in the order of `compare`: a merge sort in two typed arrays, since the built-in one copies to the heap. */
function sortedOrder(count: number, compare: (a: number, b: number) => number): Uint32Array {
  let from = new Uint32Array(count);
  let to = new Uint32Array(count);
  for (let i = 0; i < count; i++) from[i] = i;
  for (let width = 1; width < count; width *= 2) {
    for (let start = 0; start < count; start += 2 * width) {
      const middle = Math.min(start + width, count);
      const end = Math.min(start + 2 * width, count);
      for (let at = start, left = start, right = middle; at < end; at++) {
        const takeLeft = right >= end || (left < middle && compare(from[left] ?? 0, from[right] ?? 0) <= 0);
        to[at] = (takeLeft ? from[left++] : from[right++]) ?? 0;
      }
    }
    [from, to] = [to, from];
  }
  to.buffer.transfer(0);
  return from;
}

/** The same bytes with more room; the old memory is given back at once. */
function grown(bytes: Buffer, atLeast: number): Buffer {
  const longer = Buffer.allocUnsafeSlow(bytes.length + Math.max(bytes.length >> 1, atLeast));
  longer.set(bytes);
  release(bytes);
  return longer;
}

function codeOf(error: unknown): string {
  if (error instanceof Error && "code" in error && typeof error.code === "string") return error.code;
  return error instanceof Error ? error.message : String(error);
}
