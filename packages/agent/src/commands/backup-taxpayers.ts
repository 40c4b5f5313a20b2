/** `backup --per-taxpayer`: finds the folders of taxpayers, backs each of them up, and says how it went for all. */

import { availableParallelism } from "node:os";
import path from "node:path";
import { pathsSource } from "@emanet/engine/backup";
import { connect } from "../api/connection.ts";
import { newerVersion } from "../api/release.ts";
import { throttle } from "../api/throttle.ts";
import type { SnapshotWishes } from "../backup/destination.ts";
import type { TaxpayerOutcome } from "../backup/per-taxpayer.ts";
import { backUpTaxpayers } from "../backup/per-taxpayer.ts";
import { explain } from "../explain.ts";
import { CommandFailure, type ExitCode, exitCodes, usage } from "../failure.ts";
import { filterOf } from "../filter/file-filter.ts";
import { bytesText, durationText, numberText } from "../output/numbers.ts";
import { ProgressBar } from "../output/progress-bar.ts";
import { pathData, safeText } from "../output/safe-text.ts";
import { findTaxpayerFolders, keepsFolders } from "../taxpayers/folders.ts";
import { profilePatterns } from "../taxpayers/profiles.ts";
import type { Run } from "./command.ts";
import { maxKilobytes, progressOutput, threadsOf } from "./options.ts";

export async function backupTaxpayers(run: Run, wishes: SnapshotWishes): Promise<ExitCode> {
  const { line, texts, environment, now } = run;
  const startedAt = now();
  const [root, another] = line.words;
  if (root === undefined || another !== undefined)
    throw usage("--per-taxpayer takes one folder, the one above those of the taxpayers");
  if (line.text("repo") !== null) throw usage("--per-taxpayer works on the service only");
  const taxpayers = findTaxpayerFolders(path.resolve(root));
  if (taxpayers.length === 0) throw new CommandFailure(`no folder with a tax number in its name below ${root}`);
  const limit = line.number("limit-upload", 1, maxKilobytes);
  const connection = connect(run, "writing", limit === null ? null : throttle(limit * 1000, run));
  const progress = new ProgressBar(progressOutput(run), { now, language: environment.language, texts });
  const filter = filterOf(line, path.resolve(root), profilePatterns(line.text("profile")));
  const outcomes: TaxpayerOutcome[] = [];
  try {
    await backUpTaxpayers(run, {
      connection,
      wishes,
      jobs: taxpayers.map(({ taxId, folders }) => {
        const own = keepsFolders(folders);
        const keeps = (file: string, isDirectory: boolean) =>
          own(file, isDirectory) && filter?.keeps(file, isDirectory) !== false;
        const more = { excludesCaches: line.has("exclude-caches"), oneFileSystem: line.has("one-file-system") };
        return { taxId, source: pathsSource([root], { keeps, ...more }) };
      }),
      threads: threadsOf(line, availableParallelism()),
      readsAll: line.has("force"),
      progress,
      onOutcome: (outcome) => {
        outcomes.push(outcome);
        run.data(outcomeData(run, outcome));
      },
    });
  } finally {
    progress.end();
    connection.close();
  }
  return summary(run, outcomes, newerVersion(run, connection.folder), now() - startedAt);
}

function outcomeData(run: Run, { taxId, snapshotId, result, error }: TaxpayerOutcome): object {
  if (result === null) return { type: "taxpayer", tax_id: taxId, ok: false, message: explain(error, run).message };
  const { snapshot, warnings, unchanged } = result;
  return {
    ...{ type: "taxpayer", tax_id: taxId, ok: true, snapshot_id: snapshotId, file_count: snapshot.files },
    ...{ size_bytes: snapshot.size, unchanged_files: unchanged, new_bytes: snapshot.storedBytes },
    warnings: warnings.map(({ path: file, code }) => ({ ...pathData(file), code })),
  };
}

function summary(run: Run, outcomes: readonly TaxpayerOutcome[], newest: string | null, ms: number): ExitCode {
  const { texts, environment, line } = run;
  const { language } = environment;
  const done = outcomes.flatMap(({ result }) => (result === null ? [] : [result]));
  const failed = outcomes.filter(({ result }) => result === null);
  const sum = (of: (result: (typeof done)[number]) => number) => done.reduce((total, each) => total + of(each), 0);
  const [files, bytes, sent] = [
    sum((each) => each.snapshot.files),
    sum((each) => each.snapshot.size),
    sum((each) => each.snapshot.storedBytes),
  ];
  const warnings = sum((each) => each.snapshot.warnings);
  run.data({
    ...{ type: "summary", taxpayers: outcomes.length, failed: failed.length, file_count: files, size_bytes: bytes },
    ...{ new_bytes: sent, warning_count: warnings, seconds: ms / 1000, newest_version: newest },
  });
  const isWhole = failed.length === 0 && warnings === 0;
  if (line.has("quiet") && isWhole) return exitCodes.done;
  const number = (count: number) => numberText(count, language);
  run.say(texts.taxpayersBackedUp(number(done.length), number(outcomes.length), durationText(ms, language)));
  run.say(texts.summaryRead(number(files), bytesText(bytes, language)));
  run.say(texts.summarySent(bytesText(sent, language)));
  if (newest !== null) run.say(texts.newerVersion(newest, run.version));
  for (const { taxId, error } of failed) run.say(texts.taxpayerFailed(taxId, explain(error, run).message));
  for (const { snapshot, warnings: each } of done)
    for (const { path: file, code } of each)
      run.say(texts.notComplete(safeText(file), texts.reason(code)) + (snapshot.warnings > each.length ? " …" : ""));
  if (isWhole) return exitCodes.done;
  return done.length === 0 ? exitCodes.failed : exitCodes.incomplete;
}
