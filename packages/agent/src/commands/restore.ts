/** `restore`: a snapshot, or files and folders of it, into a folder. */

import { lstatSync, readdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import path from "node:path";
import type { OverwriteMode, RestoreOptions, RestoreResult } from "@emanet/engine/restore";
import { overwriteModes, RestoreWorkerPool, restoreSnapshot } from "@emanet/engine/restore";
import { stopHeapGrowth } from "@emanet/engine-cli";
import type { CommandLine } from "../command-line/parse.ts";
import { CommandFailure, type ExitCode, exitCodes, usage } from "../failure.ts";
import { filterOf } from "../filter/file-filter.ts";
import { bytesText, durationText, numberText } from "../output/numbers.ts";
import { ProgressBar } from "../output/progress-bar.ts";
import { pathData, safeText } from "../output/safe-text.ts";
import type { OpenSnapshot } from "../places/place.ts";
import { joinPath, splitPath } from "../tree/walk.ts";
import type { Command, Run } from "./command.ts";
import { findSnapshot, placeOf, progressOutput, threadsOf } from "./options.ts";

/** The path of the snapshot's root. */
const wholeTree = Buffer.alloc(0);

export const restore: Command = async (run) => {
  const { line } = run;
  const startedAt = run.now();
  const wanted = line.word(0, "a snapshot");
  const target = line.text("target");
  if (target === null) throw usage("restore needs --target DIR");
  const mode = modeOf(line, path.resolve(target));
  const place = await placeOf(run);
  try {
    const paths = line.words.slice(1).map((each) => joinPath(splitPath(each)));
    const info = await findSnapshot(place, wanted, line.text("source"));
    // Parts are mostly one or two files and need little memory.
    if (paths.length === 0) stopHeapGrowth();
    const pool = new RestoreWorkerPool(threadsOf(line, availableParallelism()));
    try {
      // The threads start while the service answers.
      if (paths.length === 0 && !line.has("dry-run")) pool.startThreadsFor(info.sizeBytes ?? 0);
      const snapshot = await place.open(info, {
        paths: paths.length === 0 ? [wholeTree] : paths,
        withContent: !line.has("dry-run"),
      });
      const result = await write(run, snapshot, { target: path.resolve(target), paths, pool }, mode);
      if (result.damagedFrames.length > 0) await place.reportDamaged(result.damagedFrames);
      return summary(run, snapshot, result, path.resolve(target), run.now() - startedAt);
    } finally {
      await pool.close();
    }
  } finally {
    await place.close();
  }
};

/** How files are overwritten; undefined for a new folder. */
function modeOf(line: CommandLine, target: string): OverwriteMode | undefined {
  const word = line.text("overwrite");
  const mode = overwriteModes.find((each) => each === word);
  if (word !== null && mode === undefined) throw usage(`--overwrite is one of ${overwriteModes.join(", ")}`);
  if (line.has("delete") && mode === undefined) throw usage("--delete needs --overwrite");
  if (line.has("delete") && mode === "never") throw usage("--delete and --overwrite never contradict each other");
  if (mode !== undefined) return mode;
  if (line.has("dry-run")) return "if-changed";
  const stat = lstatSync(target, { throwIfNoEntry: false });
  const names = stat?.isDirectory() === true ? readdirSync(target) : [];
  if ((stat !== undefined && !stat.isDirectory()) || names.some((name) => !name.startsWith(".emanet-restore-")))
    if (!names.some((name) => name.startsWith(".emanet-restore-")))
      throw new CommandFailure("the target is not an empty folder", {
        advice: "Name another one, or say with --overwrite which files may be replaced.",
      });
  return undefined;
}

/** What is restored, where to, and by which threads. */
interface Wanted {
  readonly target: string;
  readonly paths: readonly Buffer[];
  readonly pool: RestoreWorkerPool;
}

async function write(
  run: Run,
  { info, port, root }: OpenSnapshot,
  { target, paths, pool }: Wanted,
  overwrite: OverwriteMode | undefined,
): Promise<RestoreResult> {
  const { line, texts, environment, now } = run;
  const progress = new ProgressBar(progressOutput(run), { now, language: environment.language, texts });
  if (paths.length === 0) progress.setTotal({ files: info.fileCount ?? 0, bytes: info.sizeBytes ?? 0 });
  const isTrial = line.has("dry-run");
  const options: RestoreOptions = {
    port,
    snapshot: {
      id: info.id.replaceAll("-", ""),
      size: info.sizeBytes ?? 0,
      rootOrdinal: root.ordinal,
      rootId: root.id,
    },
    target,
    pool,
    hashAll: line.has("full"),
    owners: line.has("owners"),
    paths: paths.length === 0 ? undefined : paths,
    keeps: filterOf(line)?.keeps,
    overwrite,
    isTrial,
    deletesOthers: line.has("delete"),
    onEntry: isTrial ? (file, action) => tell(run, target, file, action) : undefined,
    onProgress: ({ files, bytes }) => progress.report({ files, bytes, newBytes: null }),
    signal: run.signal,
  };
  try {
    return await restoreSnapshot(options);
  } finally {
    progress.end();
  }
}

/** A path of the target, as it is in the snapshot. */
function inside(target: string, file: Uint8Array): Uint8Array {
  return file.subarray(Buffer.byteLength(target) + 1);
}

function tell(run: Run, target: string, file: Uint8Array, action: "restore" | "keep" | "delete"): void {
  const letters = { restore: "+", keep: "=", delete: "-" } as const;
  const relative = inside(target, file);
  run.data({ type: "entry", action, ...pathData(relative) });
  run.say(`${letters[action]} ${safeText(relative)}`);
}

function summary(run: Run, { info }: OpenSnapshot, result: RestoreResult, target: string, ms: number): ExitCode {
  const { texts, environment, line } = run;
  const { language } = environment;
  const number = (count: number) => numberText(count, language);
  const isTrial = line.has("dry-run");
  run.data({
    type: "summary",
    snapshot_id: info.id,
    target,
    dry_run: isTrial,
    files: result.files,
    bytes: result.bytes,
    kept_files: result.skippedFiles,
    reused_bytes: result.reusedBytes,
    deleted: result.deleted,
    failures: result.failures.map((each) => ({
      ...pathData(inside(target, each.path)),
      reason: each.reason,
      kind: each.kind,
    })),
    seconds: ms / 1000,
  });
  const isWhole = result.failures.length === 0;
  if (line.has("quiet") && isWhole) return exitCodes.done;
  const [files, bytes] = [
    number(result.files - result.skippedFiles),
    bytesText(result.bytes - result.skippedBytes, language),
  ];
  run.say(isTrial ? texts.wouldRestore(files, bytes) : texts.restored(files, bytes, durationText(ms, language)));
  if (result.skippedFiles > 0) run.say(texts.kept(number(result.skippedFiles)));
  if (result.deleted > 0) run.say((isTrial ? texts.wouldDelete : texts.deleted)(number(result.deleted)));
  for (const each of result.failures) run.say(texts.notRestored(safeText(inside(target, each.path)), each.reason));
  if (isWhole) return exitCodes.done;
  return result.files === 0 ? exitCodes.failed : exitCodes.incomplete;
}
