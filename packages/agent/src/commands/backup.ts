/** `backup`: what the words of the command line mean, and the summary at the end. */

import { accessSync, constants, lstatSync, realpathSync, statSync } from "node:fs";
import { availableParallelism } from "node:os";
import path from "node:path";
import type { BackupSource } from "@emanet/engine/backup";
import { pathsSource } from "@emanet/engine/backup";
import { newerVersion } from "../api/release.ts";
import type { Destination, SnapshotWishes, Trigger } from "../backup/destination.ts";
import { triggers } from "../backup/destination.ts";
import type { BackupOutcome } from "../backup/run-backup.ts";
import { backUp } from "../backup/run-backup.ts";
import type { CommandLine } from "../command-line/parse.ts";
import { CommandFailure, type ExitCode, exitCodes, systemCode, usage } from "../failure.ts";
import { filterOf } from "../filter/file-filter.ts";
import { bytesText, durationText, numberText } from "../output/numbers.ts";
import { ProgressBar } from "../output/progress-bar.ts";
import { pathData, safeText } from "../output/safe-text.ts";
import { profilePatterns } from "../taxpayers/profiles.ts";
import type { Command, Run } from "./command.ts";
import { maxKilobytes, progressOutput, threadsOf } from "./options.ts";

/** Warnings that a person reads; --json has all. */
const shownWarnings = 10;

export const backup: Command = async (run) => {
  const { line } = run;
  const startedAt = run.now();
  const input = line.text("stdin");
  if (input === null && line.words.length === 0) throw usage("backup needs at least one path, or --stdin NAME");
  if (input !== null && line.words.length > 0) throw usage("--stdin takes the place of paths");
  const wishes = wishesOf(line);
  if (line.has("per-taxpayer")) return (await import("./backup-taxpayers.ts")).backupTaxpayers(run, wishes);
  const destination = await destinationOf(run);
  const progress = new ProgressBar(progressOutput(run), {
    now: run.now,
    language: run.environment.language,
    texts: run.texts,
  });
  const spooled = input === null ? null : await spoolStdin(run, input);
  try {
    const outcome = await backUp(run, {
      destination,
      wishes,
      source: spooled?.source ?? filesSource(line),
      paths: input === null ? line.words.map((each) => path.resolve(each)) : ["-"],
      threads: threadsOf(line, availableParallelism()),
      readsAll: line.has("force"),
      progress,
    });
    progress.end();
    const newest = newerVersion(run, destination.folder);
    return summary(run, wishes.source, { ...outcome, newest }, run.now() - startedAt);
  } finally {
    progress.end();
    spooled?.remove();
    await destination.close();
  }
};

async function destinationOf(run: Run): Promise<Destination> {
  const { line } = run;
  const repo = line.text("repo");
  if (repo !== null) {
    const { localPlace } = await import("../places/local-place.ts");
    const { localDestination } = await import("../backup/local-destination.ts");
    return localDestination(run, await localPlace(run, repo));
  }
  const { connect } = await import("../api/connection.ts");
  const { throttle } = await import("../api/throttle.ts");
  const { serviceDestination } = await import("../backup/service-destination.ts");
  const limit = line.number("limit-upload", 1, maxKilobytes);
  return serviceDestination(run, connect(run, "writing", limit === null ? null : throttle(limit * 1000, run)));
}

function wishesOf(line: CommandLine): SnapshotWishes {
  const trigger = line.text("trigger") ?? "manual";
  if (!isTrigger(trigger)) throw usage(`--trigger is one of ${triggers.join(", ")}`);
  const [vaultId = null, more] = line.list("vault");
  if (more !== undefined) throw usage("a backup goes to one vault");
  return {
    source: line.text("source") ?? line.text("stdin") ?? path.resolve(line.words[0] ?? ""),
    label: line.text("label"),
    vaultId,
    taxpayerId: line.text("taxpayer"),
    trigger,
    reference: line.text("reference"),
  };
}

function isTrigger(word: string): word is Trigger {
  return (triggers as readonly string[]).includes(word);
}

function filesSource(line: CommandLine): BackupSource {
  const refused = line.words.map(refusal);
  // What may not be read beside others is a warning of the snapshot. Alone it would be an empty snapshot.
  const found =
    refused.find((each) => each?.code !== "EACCES" && each !== null) ?? (refused.includes(null) ? null : refused[0]);
  if (found) throw new CommandFailure(`cannot read ${found.code}: ${found.word}`, { cause: found.cause });
  const words = line.words.length === 1 ? line.words.map(followed) : line.words;
  const keeps = filterOf(line, rootOf(line.words), profilePatterns(line.text("profile")))?.keeps;
  const [excludesCaches, oneFileSystem] = [line.has("exclude-caches"), line.has("one-file-system")];
  const filter =
    keeps === undefined && !excludesCaches && !oneFileSystem ? null : { keeps, excludesCaches, oneFileSystem };
  return pathsSource(words, filter);
}

/** Why a path cannot be backed up; null if it can. */
function refusal(word: string): { readonly word: string; readonly code: string; readonly cause: unknown } | null {
  try {
    // A link is backed up without what it leads to.
    if (!lstatSync(word).isSymbolicLink()) accessSync(word, constants.R_OK);
    return null;
  } catch (cause) {
    return { word, code: systemCode(cause) ?? "", cause };
  }
}

/** The folder that a link leads to: who names a link to a folder means what is in it. */
function followed(word: string): string {
  const isLink = lstatSync(path.resolve(word)).isSymbolicLink();
  return isLink && isFolder(word) ? realpathSync(word) : word;
}

function isFolder(word: string): boolean {
  return statSync(word, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** The path that is the root of the snapshot, of one folder. With several paths, or one file, it is that of the file system. */
function rootOf([first = "", ...others]: readonly string[]): string | null {
  return others.length === 0 && isFolder(first) ? path.resolve(first) : null;
}

async function spoolStdin(run: Run, name: string) {
  const { spoolInput } = await import("../backup/stdin-source.ts");
  const folder = path.join(run.environment.cacheFolder, "spool");
  return spoolInput(run.stdin, { folder, name, now: run.now(), signal: run.signal });
}

function summary(
  run: Run,
  source: string,
  outcome: BackupOutcome & { readonly newest: string | null },
  ms: number,
): ExitCode {
  const { snapshot, warnings, unchanged, cacheError, healed, id, newest } = outcome;
  const isWhole = snapshot.warnings === 0;
  const { files, size, storedBytes } = snapshot;
  run.data({
    type: "summary",
    snapshot_id: id,
    source,
    file_count: files,
    size_bytes: size,
    unchanged_files: unchanged,
    new_bytes: storedBytes,
    warning_count: snapshot.warnings,
    warnings: warnings.map(({ path: file, code }) => ({ ...pathData(file), code })),
    seconds: ms / 1000,
    healed_frames: healed,
    cache_error: cacheError?.message ?? null,
    newest_version: newest,
  });
  if (run.line.has("quiet") && isWhole) return exitCodes.done;
  const { texts } = run;
  const { language } = run.environment;
  const bytes = (count: number) => bytesText(count, language);
  const number = (count: number) => numberText(count, language);
  run.say(texts.backedUp(safeText(source), durationText(ms, language)));
  run.say(texts.summaryRead(number(files), bytes(size)));
  run.say(texts.summaryUnchanged(number(unchanged)));
  run.say(texts.summarySent(bytes(storedBytes)));
  if (size > 0) run.say(texts.summarySaved(shareText(1 - Math.min(1, storedBytes / size), language)));
  run.say(texts.summarySnapshot(id));
  if (cacheError !== null) run.say(texts.cacheFailed(safeText(cacheError.message)));
  if (newest !== null) run.say(texts.newerVersion(newest, run.version));
  if (isWhole) return exitCodes.done;
  run.say(texts.summaryWarnings(number(snapshot.warnings)));
  for (const { path: file, code } of warnings.slice(0, shownWarnings))
    run.say(texts.notComplete(safeText(file), texts.reason(code)));
  if (snapshot.warnings > shownWarnings) run.say(texts.moreWarnings(number(snapshot.warnings - shownWarnings)));
  return exitCodes.incomplete;
}

function shareText(share: number, language: "tr" | "en"): string {
  const percent = numberText(share * 100, language, share > 0.99 && share < 1 ? 1 : 0);
  return language === "tr" ? `%${percent}` : `${percent} %`;
}
