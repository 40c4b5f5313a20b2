/** `diff`: what changed from one snapshot to another. */

import type { TreeChange } from "@emanet/engine/read";
import { diffTrees } from "@emanet/engine/read";
import { type ExitCode, exitCodes } from "../failure.ts";
import { pathData, safeText } from "../output/safe-text.ts";
import type { Place } from "../places/place.ts";
import { rootOf } from "../tree/walk.ts";
import type { Command, Run } from "./command.ts";
import { findSnapshot, servicePlaceOf } from "./options.ts";

interface Change {
  readonly kind: "added" | "removed" | "changed" | (string & {});
  readonly data: object;
  readonly path: string | Uint8Array;
  readonly isDirectory: boolean;
}

export const diff: Command = async (run) => {
  const words = [run.line.word(0, "two snapshots"), run.line.word(1, "two snapshots")] as const;
  const repo = run.line.text("repo");
  if (repo !== null) {
    const { readPlace } = await import("../places/local-place.ts");
    const place = await readPlace(run, repo);
    return show(run, localChanges(run, place, words)).finally(() => place.close());
  }
  const place = await servicePlaceOf(run);
  const changes = async function* (): AsyncGenerator<Change> {
    const source = run.line.text("source");
    const [from, to] = [await findSnapshot(place, words[0], source), await findSnapshot(place, words[1], source)];
    for await (const change of place.connection.client.snapshots.diff.all({ id: to.id, from: from.id })) {
      const { change: kind, path, ...rest } = change;
      yield { kind, data: { path, ...rest }, path, isDirectory: (change.after ?? change.before)?.type === "directory" };
    }
  };
  return show(run, changes()).finally(() => place.close());
};

async function show(run: Run, changes: AsyncIterable<Change>): Promise<ExitCode> {
  const letters: Readonly<Record<string, string>> = { added: "+", removed: "-", changed: "M" };
  let count = 0;
  for await (const { kind, data, path, isDirectory } of changes) {
    count++;
    run.data({ type: "change", change: kind, ...data });
    run.say(`${letters[kind] ?? "?"} ${safeText(path)}${isDirectory ? "/" : ""}`);
  }
  if (count === 0) run.say(run.texts.noDifference);
  return exitCodes.done;
}

async function* localChanges(run: Run, place: Place, words: readonly [string, string]): AsyncGenerator<Change> {
  const source = run.line.text("source");
  const [before, after] = await Promise.all(
    words.map(async (word) => place.open(await findSnapshot(place, word, source))),
  );
  if (before === undefined || after === undefined) return;
  const [from, to] = [await rootOf(before), await rootOf(after)];
  for await (const change of diffTrees(after.reader, from.root, to.root)) {
    const { kind, path } = change;
    yield {
      kind,
      path,
      data: { ...pathData(path), kind: entryOf(change).type },
      isDirectory: entryOf(change).type === "directory",
    };
  }
}

function entryOf(change: TreeChange) {
  return change.kind === "removed" ? change.before : change.after;
}
