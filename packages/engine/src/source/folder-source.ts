/**
 * A folder, or several paths, as a source. The walk goes depth first, the names of every directory in byte order.
 *
 * `folderSource`: the snapshot's root is the folder. `pathsSource`: the snapshot's root holds the absolute paths.
 *
 * The walk makes synchronous calls: a stat takes two microseconds that way and ten with a promise. It is one loop with
 * a stack of open directories (`levels`), because every nested generator would cost time for every event.
 */

import { lstatSync } from "node:fs";
import path from "node:path";
import { DirectoryNames, noNames } from "./directory-names.ts";
import { WalkQuickStats } from "./quick-stats.ts";
import type { BackupSource, QuickStats, SourceEvent } from "./source.ts";
import type { WalkFilter } from "./walk-filter.ts";
import { enterEvent, WalkPath } from "./walk-path.ts";

/** Events between two pauses for other work. */
const eventsPerTurn = 256;

const empty = Buffer.alloc(0);

type WalkEvent = SourceEvent | QuickStats;

/** One folder as a source. */
export function folderSource(root: string | Uint8Array, filter: WalkFilter | null = null): BackupSource {
  const resolved = typeof root === "string" ? Buffer.from(path.resolve(root)) : Buffer.from(root);
  return sourceOf((isQuick) => walkRoot(resolved, isQuick, filter));
}

/** Several paths as one source. A single path to a directory is the same as `folderSource`. */
export function pathsSource(paths: readonly string[], filter: WalkFilter | null = null): BackupSource {
  const [only] = paths;
  if (paths.length === 1 && only !== undefined && lstatSync(only).isDirectory()) return folderSource(only, filter);
  const resolved = paths.map((each) => path.resolve(each));
  return sourceOf((isQuick) => walkPaths(resolved, isQuick, filter));
}

function sourceOf(walk: (isQuick: boolean) => Generator<WalkEvent>): BackupSource {
  return {
    walk: async function* () {
      let count = 0;
      for (const event of walk(false)) {
        if (++count % eventsPerTurn === 0) await new Promise((resolve) => setImmediate(resolve));
        if (event.type !== "quick-stats") yield event;
      }
    },
    quickWalk: () => walk(true),
  };
}

function walkRoot(root: Buffer, isQuick: boolean, filter: WalkFilter | null): Generator<WalkEvent> {
  const stat = lstatSync(root, { bigint: true });
  if (!stat.isDirectory()) throw new Error("not a directory");
  return walkDirectory(new WalkPath(root, filter), isQuick, enterEvent(empty, empty, stat));
}

/** The given paths as a tree: `isWhole` marks the end of one of them. */
interface Branch {
  readonly below: Map<string, Branch>;
  isWhole: boolean;
}

function* walkPaths(paths: readonly string[], isQuick: boolean, filter: WalkFilter | null): Generator<WalkEvent> {
  const root: Branch = { below: new Map(), isWhole: false };
  for (const each of paths) {
    let branch = root;
    for (const part of each.split(path.sep).filter((name) => name !== "")) {
      const next = branch.below.get(part) ?? { below: new Map(), isWhole: false };
      branch.below.set(part, next);
      branch = next;
    }
    branch.isWhole = true;
  }
  yield enterEvent(empty, empty, lstatSync("/", { bigint: true }));
  yield* walkBranch(root, new WalkPath(empty, filter), isQuick);
  yield { type: "leave" };
}

function* walkBranch(branch: Branch, at: WalkPath, isQuick: boolean): Generator<WalkEvent> {
  const names = [...branch.below.keys()].map((name) => Buffer.from(name)).sort(Buffer.compare);
  const directoryLength = at.length;
  for (const name of names) {
    const next = branch.below.get(name.toString());
    if (next === undefined) continue;
    at.set(directoryLength, name.toString("latin1"));
    const event = at.stat();
    if (event.type === "enter" && next.isWhole) {
      at.beginTree();
      yield* walkDirectory(at, isQuick, event);
      continue;
    }
    yield event;
    if (event.type !== "enter") continue;
    yield* walkBranch(next, at, isQuick);
    yield { type: "leave" };
  }
}

/** A directory that the walk is in. */
interface Level {
  readonly names: DirectoryNames;
  readonly pathLength: number;
}

/** The directory at the path and everything below it. `enter` is its own event. */
function* walkDirectory(at: WalkPath, isQuick: boolean, enter: SourceEvent): Generator<WalkEvent> {
  const quickStats = isQuick ? new WalkQuickStats(at) : null;
  const levels: Level[] = [yield* open(at, enter)];
  for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
    const { names, pathLength } = level;
    if (!names.hasMore()) {
      levels.pop();
      yield { type: "leave" };
      continue;
    }
    if (quickStats !== null) {
      quickStats.take(names, pathLength);
      if (quickStats.count > 0) yield quickStats;
      if (names.isListUsedUp) continue;
    }
    at.set(pathLength, names.take());
    const event = at.stat();
    if (event.type === "enter") levels.push(yield* open(at, event));
    else yield event;
  }
}

/** Enters the directory at the path. One that cannot be read is entered without names. */
function* open(at: WalkPath, enter: SourceEvent): Generator<WalkEvent, Level> {
  yield enter;
  const pathLength = at.length;
  const names = at.readNames();
  if (names instanceof DirectoryNames) return { names, pathLength };
  yield names;
  return { names: noNames(), pathLength };
}
