/**
 * `find`: files by a part of their name, or by a pattern. On the service the search over all snapshots answers; in one snapshot, and
 * in a local repository, trees are walked.
 */

import type { FoundFile } from "@emanet/client/source";
import { waitForProjection } from "../api/projection.ts";
import { type ExitCode, exitCodes, usage } from "../failure.ts";
import { patternOf } from "../filter/pattern.ts";
import { bytesText, timeText } from "../output/numbers.ts";
import { safeText } from "../output/safe-text.ts";
import type { Place } from "../places/place.ts";
import type { ServicePlace } from "../places/service-place.ts";
import { entryData, entryLine } from "../tree/entry-text.ts";
import { rootOf, walk } from "../tree/walk.ts";
import type { Command, Run } from "./command.ts";
import { findSnapshot, placeOf, servicePlaceOf } from "./options.ts";

/** The largest page of the API. */
const pageSize = 100;

export const find: Command = async (run) => {
  const wanted = run.line.word(0, "a name");
  const isOneSnapshot = run.line.text("snapshot") !== null;
  if (run.line.text("repo") !== null || isOneSnapshot) {
    const place = await placeOf(run);
    return walkTrees(run, place, wanted).finally(() => place.close());
  }
  const place = await servicePlaceOf(run);
  return search(run, place, wanted).finally(() => place.close());
};

/** Whether a name or a path is meant. Without wildcards a part of the name is enough, and case makes no difference. */
export function nameMatcher(wanted: string): (path: string) => boolean {
  if (/[*?[]/.test(wanted)) {
    const { matches } = patternOf(wanted);
    return (path) => matches(path, true);
  }
  const part = folded(wanted);
  return (path) => folded(wanted.includes("/") ? path : path.slice(path.lastIndexOf("/") + 1)).includes(part);
}

/** Without case, accents and the dots of Turkish letters, as the search of the service has it. */
function folded(text: string): string {
  return text
    .normalize("NFD")
    .replaceAll(/\p{M}/gu, "")
    .toLowerCase()
    .replaceAll("ı", "i")
    .normalize("NFD")
    .replaceAll(/\p{M}/gu, "");
}

async function walkTrees(run: Run, place: Place, wanted: string): Promise<ExitCode> {
  const { line, environment } = run;
  const matches = nameMatcher(wanted);
  const only = line.text("snapshot");
  const source = line.text("source");
  const snapshots =
    only === null ? place.snapshots({ source: source ?? undefined }) : [await findSnapshot(place, only, source)];
  const seen = new Set<string>();
  for await (const info of snapshots) {
    const snapshot = await place.open(info);
    const root = { path: Buffer.alloc(0), entry: await rootOf(snapshot) };
    for await (const { path, entry } of walk(snapshot, root, true)) {
      if (!matches(path.toString("utf8"))) continue;
      // The newest version of a path is enough.
      const key = `${info.source}\n${path.toString("latin1")}`;
      if (seen.has(key)) continue;
      seen.add(key);
      run.data({ type: "found", snapshot_id: info.id, source: info.source, ...entryData(path, entry) });
      run.say(`${info.id}  ${entryLine(path, entry, environment.language)}`);
    }
  }
  if (seen.size === 0) run.say(run.texts.nothingFound);
  return exitCodes.done;
}

async function search(run: Run, { connection }: ServicePlace, wanted: string): Promise<ExitCode> {
  const { files } = connection.client;
  const matches = nameMatcher(wanted);
  const query = wanted
    .replaceAll(/[*?]+|\[[^\]]*\]/g, " ")
    .replaceAll("**", " ")
    .trim();
  if (query === "") throw usage("find needs at least one letter of the name");
  const [vault] = run.line.list("vault");
  const within = vault === undefined ? {} : { vault_id: vault };
  await waitForProjection(run, () => files.search({ query, limit: 1, ...within }));
  const source = run.line.text("source");
  let count = 0;
  for await (const found of files.search.all({ query, limit: pageSize, ...within })) {
    if (source !== null && found.source.name !== source) continue;
    if (/[*?[]/.test(wanted) && !matches(found.path)) continue;
    count++;
    print(run, found);
  }
  if (count === 0) run.say(run.texts.nothingFound);
  return exitCodes.done;
}

function print(run: Run, found: FoundFile): void {
  const { language } = run.environment;
  run.data({ ...found, type: "found", kind: found.type, snapshot_id: found.last_snapshot.id });
  const size = found.size_bytes === null ? "" : bytesText(found.size_bytes, language);
  const at = timeText(Date.parse(found.mtime), language);
  run.say(
    `${found.last_snapshot.id}  ${size.padStart(9)}  ${at}  ${safeText(found.source.name)}: ${safeText(found.path)}`,
  );
}
