/**
 * A folder, or several paths, as a source. Names are bytes, walked in byte order; a directory's names are held
 * compressed (`sorted-names.ts`), and nothing is held per file else.
 *
 * Several paths appear under a root made of their absolute paths; one path is the root itself.
 */

import type { BigIntStats } from "node:fs";
import { lstatSync, opendirSync, readlinkSync } from "node:fs";
import path from "node:path";
import type { EntryFacts } from "../trees/entry.ts";
import { SortedNames } from "./sorted-names.ts";
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
      const event = look(full, relative, name);
      yield event;
      if (event.type !== "enter") continue;
      yield* walkBranch(next, full, relative);
      yield { type: "leave" };
    }
  }
}

async function* walkDirectory(at: Buffer, inside: Buffer): AsyncGenerator<SourceEvent> {
  let names: SortedNames;
  try {
    names = readNames(at);
  } catch (error) {
    yield { type: "warning", path: inside, code: codeOf(error) };
    return;
  }
  let count = 0;
  for (const view of names.inOrder()) {
    if (++count % yieldEvery === 0) await new Promise((resolve) => setImmediate(resolve));
    const name = Buffer.from(view);
    const full = Buffer.concat([at, slash, name]);
    const relative = inside.length === 0 ? name : Buffer.concat([inside, slash, name]);
    const event = look(full, relative, name);
    yield event;
    if (event.type === "enter") yield* walkBelow(full, relative);
  }
}

async function* walkEntry(full: Buffer, relative: Buffer, name: Buffer): AsyncGenerator<SourceEvent> {
  const event = look(full, relative, name);
  yield event;
  if (event.type === "enter") yield* walkBelow(full, relative);
}

async function* walkBelow(full: Buffer, relative: Buffer): AsyncGenerator<SourceEvent> {
  yield* walkDirectory(full, relative);
  yield { type: "leave" };
}

/** What is at a path: looked at once, so that what vanishes later is a warning wherever it happens. */
function look(full: Buffer, relative: Buffer, name: Buffer): SourceEvent {
  const again = () => {
    const event = look(full, relative, name);
    return event.type === "file" ? event : null;
  };
  try {
    const stat = lstatSync(full, { bigint: true });
    const facts = factsOf(name, stat);
    if (stat.isDirectory()) return { type: "enter", path: relative, facts };
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
    name,
    mode: Number(stat.mode) & 0o7777,
    uid: Number(stat.uid),
    gid: Number(stat.gid),
    mtimeSeconds: before ? seconds - 1 : seconds,
    mtimeNanos: before ? nanos + 1_000_000_000 : nanos,
    attributes: [],
  };
}

/** All names of a directory. */
function readNames(at: Buffer): SortedNames {
  // The types say string; with this encoding names are buffers.
  const directory = opendirSync(at as unknown as string, {
    encoding: "buffer" as BufferEncoding,
    bufferSize: readAhead,
  });
  const names = new SortedNames();
  try {
    for (let entry = directory.readSync(); entry !== null; entry = directory.readSync())
      names.add(entry.name as unknown as Buffer);
  } finally {
    directory.closeSync();
  }
  return names;
}

function codeOf(error: unknown): string {
  if (error instanceof Error && "code" in error && typeof error.code === "string") return error.code;
  return error instanceof Error ? error.message : String(error);
}
