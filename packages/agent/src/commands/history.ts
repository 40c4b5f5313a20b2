/** `history`: the versions of a file, the newest first. */

import type { EmanetClient, FileVersion } from "@emanet/client/source";
import { waitForProjection } from "../api/projection.ts";
import { CommandFailure, type ExitCode, exitCodes } from "../failure.ts";
import { bytesText, timeText } from "../output/numbers.ts";
import type { Place, SnapshotInfo } from "../places/place.ts";
import { mtimeOf } from "../tree/entry-text.ts";
import { entryAt, joinPath, splitPath } from "../tree/walk.ts";
import type { Command, Run } from "./command.ts";
import { servicePlaceOf } from "./options.ts";

interface Version {
  readonly kind: string;
  readonly size: number | null;
  readonly mtime: number;
  readonly hash: string | null;
  readonly first: { readonly id: string; readonly at: number };
  readonly last: { readonly id: string; readonly at: number };
}

export const history: Command = async (run) => {
  const file = joinPath(splitPath(run.line.word(0, "a file")));
  const repo = run.line.text("repo");
  if (repo !== null) {
    const { readPlace } = await import("../places/local-place.ts");
    const place = await readPlace(run, repo);
    return show(run, localVersions(place, run.line.text("source"), file)).finally(() => place.close());
  }
  const place = await servicePlaceOf(run);
  const name = run.line.text("source") ?? (await onlySource(place.connection.client));
  const source = await place.sourceId(name);
  const { files } = place.connection.client;
  // Its bytes as the API wants them: percent-encoded where they are no letters.
  const query = { source, path: file.toString("utf8") };
  const versions = async function* () {
    await waitForProjection(run, () => files.listHistory({ ...query, limit: 1 }));
    for await (const version of files.listHistory.all(query)) yield versionOf(version);
  };
  return show(run, versions()).finally(() => place.close());
};

async function onlySource({ sources }: EmanetClient): Promise<string> {
  const { data } = await sources.list({ limit: 2 });
  const [only, another] = data;
  if (only !== undefined && another === undefined) return only.id;
  throw new CommandFailure("name the source with --source", { exitCode: exitCodes.usage });
}

async function show(run: Run, versions: AsyncIterable<Version>): Promise<ExitCode> {
  const { language } = run.environment;
  let count = 0;
  for await (const { kind, size, mtime, hash, first, last } of versions) {
    count++;
    const time = (at: number) => new Date(at).toISOString();
    run.data({
      ...{ type: "version", kind, size_bytes: size, mtime: time(mtime), hash },
      first_snapshot: { id: first.id, created_at: time(first.at) },
      last_snapshot: { id: last.id, created_at: time(last.at) },
    });
    const bytes = size === null ? "" : bytesText(size, language);
    run.say(
      `${last.id}  ${bytes.padStart(9)}  ${timeText(mtime, language)}  ${timeText(first.at, language)} … ${timeText(last.at, language)}`,
    );
  }
  if (count === 0) run.say(run.texts.nothingFound);
  return exitCodes.done;
}

function versionOf({ type, size_bytes, mtime, hash, first_snapshot, last_snapshot }: FileVersion): Version {
  const place = ({ id, created_at }: FileVersion["first_snapshot"]) => ({ id, at: Date.parse(created_at) });
  const [first, last] = [place(first_snapshot), place(last_snapshot)];
  return { kind: type, size: size_bytes, mtime: Date.parse(mtime), hash, first, last };
}

/** Consecutive snapshots with the same content and time are one version. */
async function* localVersions(place: Place, source: string | null, file: Buffer): AsyncGenerator<Version> {
  const open: Version[] = [];
  for await (const info of place.snapshots({ source: source ?? undefined })) {
    const now = await versionIn(place, info, file);
    const [before] = open;
    if (now !== null && before !== undefined && isSame(now, before)) {
      open[0] = { ...before, first: now.first };
      continue;
    }
    yield* open.splice(0);
    if (now !== null) open.push(now);
  }
  yield* open;
}

function isSame(a: Version, b: Version): boolean {
  return a.kind === b.kind && a.hash === b.hash && a.mtime === b.mtime && a.size === b.size;
}

async function versionIn(place: Place, info: SnapshotInfo, file: Buffer): Promise<Version | null> {
  const found = await entryAt(await place.open(info), file);
  if (found === null) return null;
  const { entry } = found;
  const [size, hash] =
    entry.type === "file" ? [entry.size, Buffer.from(entry.hash).toString("hex")] : ([null, null] as const);
  const at = { id: info.id, at: info.createdAt };
  return { kind: entry.type, size, hash, mtime: mtimeOf(entry), first: at, last: at };
}
