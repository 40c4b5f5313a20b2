/**
 * `check`: reads back and compares with the hashes. A local repository is verified as a whole; of the service, one snapshot is
 * read, opened and hashed on this machine, so that the result does not depend on the service.
 */

import { availableParallelism } from "node:os";
import { DamageError, FileReader } from "@emanet/engine/read";
import { RestoreWorkerPool } from "@emanet/engine/restore";
import { type ExitCode, exitCodes } from "../failure.ts";
import { bytesText, numberText } from "../output/numbers.ts";
import { ProgressBar } from "../output/progress-bar.ts";
import { pathData, safeText } from "../output/safe-text.ts";
import type { OpenSnapshot } from "../places/place.ts";
import { rootOf, walk } from "../tree/walk.ts";
import type { Command, Run } from "./command.ts";
import { findSnapshot, progressOutput, servicePlaceOf, threadsOf } from "./options.ts";
import { runEngineCommand } from "./upkeep.ts";

export const check: Command = async (run) => {
  const { line } = run;
  if (line.text("repo") !== null) return runEngineCommand(run, "verify");
  const place = await servicePlaceOf(run);
  try {
    return await readBack(
      run,
      await place.open(await findSnapshot(place, line.words[0] ?? "latest", line.text("source"))),
    );
  } finally {
    await place.close();
  }
};

async function readBack(run: Run, snapshot: OpenSnapshot): Promise<ExitCode> {
  const { line, texts, environment, now, signal } = run;
  const pool = new RestoreWorkerPool(threadsOf(line, availableParallelism()));
  const progress = new ProgressBar(progressOutput(run), { now, language: environment.language, texts });
  progress.setTotal({ files: snapshot.info.fileCount ?? 0, bytes: snapshot.info.sizeBytes ?? 0 });
  const reader = new FileReader({ port: snapshot.port, pool, hashesAll: true });
  let [files, bytes, damaged] = [0, 0, 0];
  try {
    pool.startThreadsFor(snapshot.info.sizeBytes ?? 0);
    const root = { path: Buffer.alloc(0), entry: await rootOf(snapshot) };
    for await (const { path, entry } of walk(snapshot, root, true)) {
      if (entry.type !== "file") continue;
      try {
        for await (const chunk of reader.read(entry, undefined, signal)) {
          bytes += chunk.length;
          progress.report({ files, bytes, newBytes: null });
        }
        files++;
      } catch (error) {
        if (!(error instanceof DamageError)) throw error;
        damaged++;
        progress.end();
        run.data({ type: "damaged", ...pathData(path), reason: error.message });
        run.say(texts.damaged(safeText(path), error.message));
      }
    }
  } finally {
    progress.end();
    await pool.close();
  }
  run.data({ type: "summary", snapshot_id: snapshot.info.id, files, bytes, damaged });
  if (damaged > 0) return exitCodes.incomplete;
  run.say(texts.checked(numberText(files, environment.language), bytesText(bytes, environment.language)));
  return exitCodes.done;
}
