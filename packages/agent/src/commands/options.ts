/** Options that several verbs have: threads, progress, the place that is read, a snapshot by its id or the start of one. */

import { newerVersion } from "../api/release.ts";
import type { CommandLine } from "../command-line/parse.ts";
import { CommandFailure, usage } from "../failure.ts";
import type { ProgressOutput } from "../output/progress-bar.ts";
import type { Place, SnapshotInfo } from "../places/place.ts";
import type { Run } from "./command.ts";

/** More threads would only wait for each other. */
const maxThreads = 64;

/** Ten gigabytes per second: more than any line has. */
export const maxKilobytes = 10_000_000;

export function threadsOf(line: CommandLine, cores: number): number {
  return line.number("threads", 0, maxThreads) ?? cores;
}

export function progressOutput({ line, terminalColumns, out, err }: Run): ProgressOutput {
  const columns = () => terminalColumns() ?? 0;
  if (line.has("quiet")) return { kind: "none", columns, write: () => {} };
  if (line.has("json")) return { kind: "json", columns, write: out };
  return { kind: terminalColumns() === null ? "none" : "terminal", columns, write: err };
}

/** Tells people that a newer version of the agent is there; returns it for programs. */
export function sayNewerVersion(run: Run, folder: string): string | null {
  const newest = newerVersion(run, folder);
  if (newest !== null) run.say(run.texts.newerVersion(newest, run.version));
  return newest;
}

/** The place that the command line names. Reading verbs need the right to read. */
export async function placeOf(run: Run): Promise<Place> {
  const repo = run.line.text("repo");
  if (repo !== null) return (await import("../places/local-place.ts")).readPlace(run, repo);
  return servicePlaceOf(run);
}

export async function servicePlaceOf(run: Run) {
  const [{ servicePlace }, { connect }] = await Promise.all([
    import("../places/service-place.ts"),
    import("../api/connection.ts"),
  ]);
  const limit = run.line.number("limit-download", 1, maxKilobytes);
  const [vaultId = null, another] = run.line.list("vault");
  if (another !== undefined) throw usage("--vault names one vault");
  const { throttle } = await import("../api/throttle.ts");
  return servicePlace(run, connect(run, "reading"), {
    vaultId,
    throttle: limit === null ? null : throttle(limit * 1000, run),
  });
}

/** A snapshot by its id, the start of its id, or `latest`. */
export async function findSnapshot(place: Place, wanted: string, source: string | null): Promise<SnapshotInfo> {
  const exact = wanted === "latest" ? null : await place.get(wanted);
  if (exact !== null) return exact;
  const found: SnapshotInfo[] = [];
  for await (const info of place.snapshots({ source: source ?? undefined, newest: wanted === "latest" })) {
    if (wanted === "latest") return info;
    if (isPrefix(info.id, wanted)) found.push(info);
    if (found.length > 1) throw usage(`${wanted} is the start of several ids`);
  }
  const [only] = found;
  if (only !== undefined) return only;
  if (wanted === "latest")
    throw new CommandFailure(source === null ? "there is no snapshot" : `there is no snapshot of ${source}`, {
      advice: source === null ? null : "Where several vaults have a source of this name, --vault says which is meant.",
    });
  throw new CommandFailure(`there is no snapshot ${wanted}`);
}

/** Hyphens of an id may be left out. */
function isPrefix(id: string, start: string): boolean {
  return id.startsWith(start) || id.replaceAll("-", "").startsWith(start.replaceAll("-", ""));
}
